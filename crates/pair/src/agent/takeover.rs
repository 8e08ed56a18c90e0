//! Going live: the machine that replayed continues by itself, and serves in place of the primary's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{ensure, Result};

use super::shadow::Shadow;
use crate::ring::{Command, Shared, State};

/// Longest time for a machine to go live.
const LIVE: Duration = Duration::from_secs(60);

/// What a secondary needs to take over, and since when it does.
pub struct Takeover {
    memory: Arc<Shared>,
    /// What its machine would have sent.
    pub shadow: Shadow,
    begun: Option<Instant>,
    /// Whether all that the machine sent as it replayed has come: until then the shadow lacks frames.
    has_all: bool,
}

impl Takeover {
    /// Has not begun.
    pub fn new(memory: Arc<Shared>) -> Takeover {
        Takeover { memory, shadow: Shadow::default(), begun: None, has_all: false }
    }

    /// Whether the machine was told to go live and has not yet.
    pub fn is_under_way(&self) -> bool {
        self.begun.is_some()
    }

    /// Tells the machine to go live.
    pub fn begin(&mut self) {
        self.begun = Some(Instant::now());
        self.memory.set_read(false);
        self.memory.tell(Command::GoLive);
    }

    /// The machine has gone live, and all that it sent before has come.
    pub fn has_all(&mut self) {
        self.has_all = true;
    }

    /// When it began, once the machine has gone live and what it sent before has come; none before, nor again. An error
    /// where it takes too long.
    pub fn completed(&mut self) -> Result<Option<Instant>> {
        let Some(begun) = self.begun else { return Ok(None) };
        if self.memory.state() != State::Live || !self.has_all {
            ensure!(begun.elapsed() <= LIVE, "the machine did not go live within {} s", LIVE.as_secs());
            return Ok(None);
        }
        Ok(self.begun.take())
    }
}
