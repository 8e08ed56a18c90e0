//! What the disk asks the thread that decides.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;

use super::disk::Decider;
use super::event::Event;
use super::report::report;
use crate::ring::{Shared, State};

/// Asks the thread that decides.
pub struct Asker {
    pub sender: Sender<Event>,
    /// Whether the machine differs from the primary's: who decides may be about to have it go live.
    pub differs: Arc<AtomicBool>,
    pub memory: Arc<Shared>,
    pub path: PathBuf,
}

impl Asker {
    /// Waits for the answer to an event; whether it came.
    fn asked(&self, event: impl FnOnce(Sender<()>) -> Event) -> bool {
        let (answer, answered) = channel();
        self.sender.send(event(answer)).is_ok() && answered.recv().is_ok()
    }
}

impl Decider for Asker {
    fn failed(&self, error: &io::Error) {
        let why = format!("{}: {error}", self.path.display());
        self.asked(|answer| Event::DiskFailed(why, answer));
    }

    fn may_write(&self) -> bool {
        // The events before it were published before it was sent, under the same lock.
        self.asked(|answer| Event::Write(self.memory.sent_at(), answer))
    }

    fn waits(&self, error: &io::Error) {
        report(&serde_json::json!({ "event": "disk_waits", "why": format!("the store does not answer: {error}") }));
    }

    fn is_fenced(&self) {
        let _ = self.sender.send(Event::Fenced);
    }

    fn diverged(&self, why: String) {
        self.differs.store(true, Ordering::Release);
        let _ = self.sender.send(Event::Diverged(why));
    }

    fn has_read(&self, number: u64) {
        let _ = self.sender.send(Event::HasRead(number));
    }

    fn is_live(&self) -> bool {
        self.memory.state() == State::Live
    }
}
