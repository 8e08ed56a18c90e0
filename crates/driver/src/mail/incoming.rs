//! Mail on its way to a user. Its senders note what a server may have accepted, and what it has acknowledged; the
//! recipient holds its mailbox against both. Shared by the threads of a driver.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Messages sent to one user so far.
#[derive(Debug, Default)]
pub struct IncomingMail {
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    counts: Arrivals,
    /// Length and digest of every message that was sent.
    texts: HashSet<(u64, u64)>,
}

/// How many messages must have arrived, and how many may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    pub acknowledged: u64,
    pub started: u64,
}

impl IncomingMail {
    /// Notes a message whose content is about to be sent; until it is acknowledged or refused it is in doubt.
    pub fn start(&self, bytes: u64, digest: u64) {
        let mut noted = self.noted();
        noted.counts.started += 1;
        noted.texts.insert((bytes, digest));
    }

    /// Notes that the server acknowledged a message that was started.
    pub fn acknowledge(&self) {
        self.noted().counts.acknowledged += 1;
    }

    /// Notes that the server refused a message that was started.
    pub fn refuse(&self) {
        let mut noted = self.noted();
        noted.counts.started = noted.counts.started.saturating_sub(1);
    }

    pub fn arrivals(&self) -> Arrivals {
        self.noted().counts
    }

    /// Whether such a message was sent.
    pub fn has_sent(&self, bytes: u64, digest: u64) -> bool {
        self.noted().texts.contains(&(bytes, digest))
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
