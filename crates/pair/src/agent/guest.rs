//! Our machine: its process, its disk, the frames that it is given.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::{kill_process, Pid, Signal};
use serde_json::json;

use super::disk::{Disk, SharedDisk};
use super::inputs::Inputs;
use super::report::report;
use super::threads::spawn;
use crate::ring::{Shared, State};

/// Between two looks whether a machine has ended.
const LOOK: Duration = Duration::from_micros(500);
/// Longest time from a machine's last word to its end.
const GOING: Duration = Duration::from_millis(200);

/// Our machine.
pub struct Guest {
    memory: Arc<Shared>,
    disk: Option<Arc<Disk>>,
    /// Whether its disk found that it differs from the primary's.
    differs: Arc<AtomicBool>,
    inputs: Arc<Inputs>,
    process: Option<Pid>,
    /// Since when frames are kept from it.
    held: Instant,
    /// Whether they are.
    is_held: bool,
}

impl Guest {
    /// A machine whose process is not known yet.
    pub fn new(memory: Arc<Shared>, disk: Option<Arc<Disk>>, differs: Arc<AtomicBool>, inputs: Arc<Inputs>) -> Guest {
        Guest { memory, disk, differs, inputs, process: None, held: Instant::now(), is_held: false }
    }

    /// QEMU runs, as this process.
    pub fn runs_as(&mut self, process: i32) {
        self.process = Pid::from_raw(process);
    }

    /// Its disk; none where it has none.
    pub fn disk(&self) -> Option<Arc<Disk>> {
        self.disk.clone()
    }

    /// Where frames from the network go.
    pub fn inputs(&self) -> Arc<Inputs> {
        self.inputs.clone()
    }

    /// Keeps frames from it, which is about to be saved.
    pub fn hold_frames(&mut self) {
        (self.held, self.is_held) = (Instant::now(), true);
        self.inputs.hold();
    }

    /// Gives it frames again, those first that were kept from it.
    pub fn resume_frames(&mut self) {
        self.is_held = false;
        self.serve_frames(self.held);
    }

    /// Whether it is about to be saved, or is being saved.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Gives it frames from here on, those first that came since `from`.
    pub fn serve_frames(&self, from: Instant) {
        self.inputs.serve(from);
    }

    /// Whether its disk found that it differs from the primary's.
    pub fn differs(&self) -> bool {
        self.differs.load(Ordering::Acquire)
    }

    /// Whether the machine, which is gone, ended by itself: it may close its line before its log.
    pub fn has_ended(&self) -> bool {
        let until = Instant::now() + GOING;
        while self.memory.state() != State::Ended && self.process.is_some_and(is_running) && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        self.memory.state() == State::Ended
    }

    /// Ends it at once.
    pub fn kill(&self) {
        if let Some(process) = self.process {
            let _ = kill_process(process, Signal::KILL);
        }
    }

    /// Copies its disk, on a thread of its own.
    pub fn copy_disk(&self, to: &Path) -> Result<()> {
        let (Some(disk), to) = (self.disk.clone(), to.to_owned()) else { return Ok(()) };
        spawn("copier", move || {
            let why = disk.copy(&to).err().map(|error| format!("{}: {error}", to.display()));
            report(&json!({ "event": "copied", "why": why }));
        })
    }

    /// Copies what was written since, on a thread of its own: a request in progress may wait for the thread that decides.
    pub fn copy_rest(&self, to: &Path) -> Result<()> {
        let (Some(disk), to) = (self.disk.clone(), to.to_owned()) else { return Ok(()) };
        spawn("copier", move || {
            let (is_at_rest, why) = match disk.copy_rest(&to) {
                Ok(is_at_rest) => (is_at_rest, None),
                Err(error) => (false, Some(format!("{}: {error}", to.display()))),
            };
            report(&json!({ "event": "rest_copied", "is_at_rest": is_at_rest, "why": why }));
        })
    }

    /// The copy of its disk is complete, or wanted no more.
    pub fn forget_copy(&self) {
        if let Some(disk) = &self.disk {
            disk.forget_written();
        }
    }

    /// Has the disk that both sides share do something, where there is one.
    pub fn with_shared_disk(&self, change: impl FnMut(&SharedDisk)) {
        self.shared_disk().into_iter().for_each(change);
    }

    /// The disk that both sides share; none where each has its own.
    pub fn shared_disk(&self) -> Option<&SharedDisk> {
        self.disk.as_ref().and_then(|disk| disk.shared())
    }
}

/// Whether a process is there, and not one that nobody has looked after since it ended (proc(5)).
fn is_running(pid: Pid) -> bool {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let state = |told: String| told.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    std::fs::read_to_string(path).ok().and_then(state).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}
