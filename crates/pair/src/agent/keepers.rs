//! Reports for whoever keeps the pair. A keeper may be killed; the next one gets all reports from the beginning, and
//! replaces one that is still there.

use std::collections::VecDeque;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use anyhow::Result;
use serde_json::json;

use super::threads::lock;

/// Reports that are stored for the next keeper; the oldest go first.
const MOST_STORED: usize = 4096;
/// Longest wait for a keeper to read a report; one that reads nothing is disconnected.
const UNREAD_TIMEOUT: Duration = Duration::from_secs(1);

static KEEPERS: OnceLock<Mutex<Keepers>> = OnceLock::new();

/// What was reported, and who reads it now.
#[derive(Default)]
struct Keepers {
    reports: VecDeque<String>,
    keeper: Option<UnixStream>,
}

impl Keepers {
    fn tell(&mut self, line: &str) {
        let Some(keeper) = &mut self.keeper else { return };
        if keeper.write_all(line.as_bytes()).is_err() {
            let _ = keeper.shutdown(Shutdown::Both);
            self.keeper = None;
        }
    }

    fn store(&mut self, line: String) {
        if self.reports.len() == MOST_STORED {
            self.reports.pop_front();
        }
        self.reports.push_back(line);
    }

    fn replace(&mut self, keeper: UnixStream) {
        self.tell(&format!("{}\n", json!({ "event": "replaced" })));
        if let Some(before) = self.keeper.replace(keeper) {
            let _ = before.shutdown(Shutdown::Both);
        }
        let stored: String = self.reports.iter().map(String::as_str).collect();
        self.tell(&stored);
    }
}

/// Hands a report to the keeper, and stores it for later ones unless the next of its kind replaces it. False where the
/// agent has no control socket.
pub fn deliver(line: &str, is_stored: bool) -> bool {
    let Some(keepers) = KEEPERS.get() else { return false };
    let (mut keepers, line) = (lock(keepers), format!("{line}\n"));
    keepers.tell(&line);
    if is_stored {
        keepers.store(line);
    }
    true
}

/// Has the keeper read all reports from the beginning, and later ones, in place of the one before.
pub fn replace_keeper(keeper: UnixStream) -> Result<()> {
    keeper.set_write_timeout(Some(UNREAD_TIMEOUT))?;
    lock(KEEPERS.get_or_init(Mutex::default)).replace(keeper);
    Ok(())
}

/// Stores reports for keepers from now on.
pub fn expect_keepers() {
    KEEPERS.get_or_init(Mutex::default);
}
