//! Programs of a machine: started under a name, watched, stopped. What they write goes to the laboratory line by line.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use anyhow::{ensure, Context, Result};
use rustix::process::{kill_process_group, Pid, Signal};
use serde_json::json;

use super::speaker::Speaker;

/// Time between the request to stop and the kill.
const GRACE: Duration = Duration::from_secs(5);
/// This program, by the name under which it is asked for.
const OURSELVES: &str = "loadstone-server";

/// A running program: its process group, and its standard input, which stays open as long as it is to run.
struct Running {
    group: Pid,
    _input: Option<ChildStdin>,
}

#[derive(Default)]
struct Shared {
    running: Mutex<HashMap<String, Running>>,
    ended: Condvar,
}

/// All programs by name.
pub struct Programs {
    shared: Arc<Shared>,
    speaker: Speaker,
}

impl Programs {
    pub fn new(speaker: Speaker) -> Self {
        Self { shared: Arc::default(), speaker }
    }

    /// Starts a program in a group of its own; returns its process id.
    pub fn start(&self, name: &str, command: &[String]) -> Result<u32> {
        let (program, arguments) = command.split_first().context("the command is empty")?;
        let mut running = self.shared.lock();
        ensure!(!running.contains_key(name), "`{name}` is running already");
        let program = if program == OURSELVES { "/proc/self/exe" } else { program };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .with_context(|| format!("`{program}` cannot be started"))?;
        let group = Pid::from_child(&child);
        running.insert(name.to_owned(), Running { group, _input: child.stdin.take() });
        let process = child.id();
        self.watch(name.to_owned(), child);
        Ok(process)
    }

    /// Stops a program and everything in its group; no error when it has ended by itself.
    pub fn stop(&self, name: &str) -> Result<()> {
        let mut running = self.shared.lock();
        let Some(held) = running.get_mut(name) else { return Ok(()) };
        let group = held.group;
        held._input = None;
        let _ = kill_process_group(group, Signal::TERM);
        let is_there = |running: &mut HashMap<String, Running>| running.contains_key(name);
        let (running, wait) = self
            .shared
            .ended
            .wait_timeout_while(running, GRACE, is_there)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        drop(running);
        if wait.timed_out() {
            let _ = kill_process_group(group, Signal::KILL);
        }
        Ok(())
    }

    /// Stops all.
    pub fn stop_all(&self) {
        let names: Vec<String> = self.shared.lock().keys().cloned().collect();
        for name in names {
            let _ = self.stop(&name);
        }
    }

    fn watch(&self, name: String, mut child: Child) {
        let output = child.stdout.take();
        let errors = child.stderr.take();
        let readers = [self.tell(&name, "line", output), self.tell(&name, "log", errors)];
        let (shared, speaker) = (self.shared.clone(), self.speaker.clone());
        std::thread::spawn(move || {
            let status = child.wait();
            for reader in readers {
                let _ = reader.join(); // its last words come before its end
            }
            let (code, signal) = status.map_or((None, None), |status| (status.code(), status.signal()));
            shared.lock().remove(&name);
            shared.ended.notify_all();
            speaker.say(&json!({ "event": "ended", "name": name, "code": code, "signal": signal }));
        });
    }

    fn tell(
        &self,
        name: &str,
        event: &'static str,
        from: Option<impl Read + Send + 'static>,
    ) -> std::thread::JoinHandle<()> {
        let (name, speaker) = (name.to_owned(), self.speaker.clone());
        std::thread::spawn(move || {
            let Some(from) = from else { return };
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                speaker.say(&json!({ "event": event, "name": name, "line": line }));
            }
        })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
