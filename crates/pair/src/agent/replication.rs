//! The log between the two machines, as this side knows it: where it began, how far the other side has come, and whether
//! that side gets on.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::marks::Marks;
use super::progress::{Progress, Reached};
use super::pulse::Pulse;
use super::report::Metrics;
use super::threads::lock;
use crate::lag::{slowed_pct, READY};
use crate::ring::Shared;

/// Where a primary began to record for its secondary.
#[derive(Clone, Copy, Debug, Default)]
pub struct Base {
    /// Length of the log there.
    pub position: u64,
    /// Frames that the machine had sent.
    pub frames: u64,
    pub is_snapshot: bool,
}

/// The log of one side.
pub struct Replication {
    memory: Arc<Shared>,
    metrics: Arc<Mutex<Metrics>>,
    base: Base,
    /// Length of the log that the secondary holds.
    received: u64,
    /// Length of the log that it has replayed.
    executed: u64,
    /// Bytes that its connection has brought it.
    taken: u64,
    /// Since when the secondary follows.
    followed: Instant,
    /// Length of the log from which on our primary holds its outputs for us.
    welcome: Option<u64>,
    /// When the log was how long, for the lag.
    marks: Marks,
    progress: Progress,
    pulse: Pulse,
}

impl Replication {
    /// Nobody follows yet.
    pub fn new(memory: Arc<Shared>, metrics: Arc<Mutex<Metrics>>) -> Replication {
        Replication {
            memory,
            metrics,
            base: Base::default(),
            received: 0,
            executed: 0,
            taken: 0,
            followed: Instant::now(),
            welcome: None,
            marks: Marks::default(),
            progress: Progress::beginning(Instant::now()),
            pulse: Pulse::beginning(Instant::now()),
        }
    }

    /// Where its primary began to record.
    pub fn base(&self) -> Base {
        self.base
    }

    /// Replays from where the primary began to record.
    pub fn replay_from(&mut self, base: Base) {
        self.base = base;
        if base.is_snapshot {
            self.memory.begin_with_snapshot();
        }
    }

    /// Length of the log that our machine has recorded.
    pub fn recorded(&self) -> u64 {
        self.memory.from_qemu().written()
    }

    /// Records for a secondary that is to come.
    pub fn record(&self) {
        self.memory.set_read(true);
    }

    /// The same from here on: what was recorded before is of no use to it.
    pub fn record_from_here(&self) {
        self.memory.from_qemu().skip();
        self.record();
    }

    /// The machine was saved when it had sent so many frames: the log of a secondary begins there.
    pub fn begin_at_snapshot(&mut self, frames: u64) -> Base {
        let position = self.memory.saved_at();
        self.memory.from_qemu().skip_to(position);
        self.base = Base { position, frames, is_snapshot: true };
        self.base
    }

    /// Records for nobody, and slows the machine down no more. What was recorded stays until `skip`.
    pub fn stop_recording(&mut self) {
        self.memory.set_read(false);
        self.memory.slow_by(0);
        self.marks.forget();
    }

    /// Forgets what was recorded and nobody has read.
    pub fn skip(&self) {
        self.memory.from_qemu().skip();
    }

    /// A new secondary follows.
    pub fn is_followed(&mut self) {
        self.followed = Instant::now();
        self.progress = Progress::beginning(Instant::now());
        self.pulse = Pulse::beginning(Instant::now());
    }

    /// The secondary holds and has replayed the log up to these lengths; its connection has brought it `taken` bytes.
    pub fn acknowledged(&mut self, received: u64, executed: u64, taken: u64) {
        (self.received, self.executed, self.taken) = (received, executed, taken);
        let mut metrics = lock(&self.metrics);
        self.marks.replayed(executed, Instant::now()).for_each(|behind| metrics.replayed(behind));
    }

    /// Whether a side that joins has replayed enough to take over soon.
    pub fn is_nearly_replayed(&self) -> bool {
        self.executed > self.base.position && self.marks.lag(Instant::now()) < READY
    }

    /// Whether our machine, which has room for its log and is followed, has recorded nothing for several times
    /// `patience` while this agent ran.
    pub fn has_stopped_growing(&mut self, patience: Duration) -> bool {
        self.pulse.has_stopped(self.recorded(), self.memory.from_qemu().unread(), patience, Instant::now())
    }

    /// Length of the log that the secondary holds.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Lengths of the log that our machine, which replays, holds and has replayed.
    pub fn measure(&mut self) -> (u64, u64) {
        let (received, executed) = (self.memory.to_qemu().written(), self.memory.to_qemu().read());
        (self.received, self.executed) = (self.base.position + received, self.base.position + executed);
        (self.received, self.executed)
    }

    /// Our primary holds its outputs for us from this length of the log on.
    pub fn expect_welcome(&mut self, position: u64) {
        self.welcome = Some(position);
    }

    /// Whether all is here that precedes what the primary lets out without us: one event more, as for every output. True
    /// once for each welcome.
    pub fn is_complete(&mut self) -> bool {
        self.welcome.take_if(|position| self.received > *position).is_some()
    }

    /// Slows our machine down by the lag of its secondary.
    pub fn slow_by_lag(&mut self) {
        let now = Instant::now();
        self.marks.mark(self.recorded(), now);
        self.memory.slow_by(slowed_pct(self.marks.lag(now), now - self.followed));
    }

    /// Why the secondary is to be given up, for which an output has waited so long; none while it gets on.
    pub fn stuck(&mut self, waits: Option<Duration>, patience: Duration) -> Option<&'static str> {
        let (received, executed, taken) = (self.received, self.executed, self.taken);
        let reached = Reached { written: self.recorded(), received, executed, taken, waits };
        self.progress.stuck(reached, patience, Instant::now())
    }

    /// Adds what is known of it to a report.
    pub fn describe(&self, told: &mut Value) {
        // The mean is of what was replayed: it says nothing of a secondary that replays nothing.
        let (mean_ms, now_ms) =
            (told["lag_ms"].as_f64().unwrap_or(0.0), self.marks.lag(Instant::now()).as_secs_f64() * 1e3);
        told["lag_ms"] = mean_ms.max(now_ms).into();
        told["slowed_pct"] = self.memory.slowed_pct().into();
        told["recorded"] = self.recorded().into();
        told["received"] = self.received.into();
        told["executed"] = self.executed.into();
        told["instructions"] = self.memory.instructions().into();
    }
}
