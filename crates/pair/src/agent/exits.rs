//! What our machine sends: held until it may leave, then let out to the network, or to who waits with a write.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::clock::Clock;
use super::network::{announcement, put, Tap};
use super::report::Metrics;
use super::threads::lock;
use crate::commit::{Held, Output, Outputs};

/// Outputs of our machine on their way out.
pub struct Exits {
    outputs: Outputs,
    tap: Tap,
    metrics: Arc<Mutex<Metrics>>,
    clock: Clock,
}

impl Exits {
    /// Nothing was sent yet.
    pub fn new(tap: Tap, metrics: Arc<Mutex<Metrics>>, clock: Clock) -> Exits {
        Exits { outputs: Outputs::default(), tap, metrics, clock }
    }

    /// Holds a frame that came when the log was `position` bytes long; returns its number.
    pub fn hold(&mut self, position: u64, frame: Vec<u8>) -> u64 {
        self.outputs.hold(position, self.clock.now_ns(), frame)
    }

    /// Holds a write to the disk that both sides share, which is done once `word` is given.
    pub fn hold_write(&mut self, position: u64, word: Sender<()>) {
        self.outputs.hold_write(position, self.clock.now_ns(), word);
    }

    /// Lets out what may leave once the secondary holds the log up to `position`; the number of frames that have left by
    /// then, none where nothing more did.
    pub fn acknowledge(&mut self, position: u64) -> Option<u64> {
        let held: Vec<Held> = self.outputs.acknowledge(position).collect();
        if held.is_empty() {
            return None;
        }
        self.release(held);
        Some(self.outputs.left())
    }

    /// Lets out all that is held.
    pub fn release_all(&mut self) {
        let held: Vec<Held> = self.outputs.release_all().collect();
        self.release(held);
    }

    /// Lets out all where nobody follows: there is no delay to report.
    pub fn release_unheld(&mut self) {
        let held: Vec<Held> = self.outputs.release_all().collect();
        held.into_iter().for_each(|held| self.let_out(held.output));
    }

    /// A new secondary follows, whose log begins anew.
    pub fn begin_anew(&mut self) {
        self.outputs.begin_anew();
    }

    /// Our machine, with this address, serves from here on: it announces itself, and sends these frames again. The number
    /// of its next frame is `next`.
    pub fn take_over(&mut self, mac: [u8; 6], frames: &[Vec<u8>], next: u64) {
        put(&self.tap, &announcement(mac));
        frames.iter().for_each(|frame| put(&self.tap, frame));
        self.outputs.continue_from(next);
    }

    /// How many frames the machine has sent.
    pub fn sent(&self) -> u64 {
        self.outputs.sent()
    }

    /// How many outputs wait.
    pub fn waiting(&self) -> usize {
        self.outputs.waiting()
    }

    /// How many frames were lost for want of room to hold them.
    pub fn lost(&self) -> u64 {
        self.outputs.lost()
    }

    /// For how long the first of them has waited; none where none waits.
    pub fn waiting_for(&self) -> Option<Duration> {
        self.outputs.waiting_since().map(|since| Duration::from_nanos(self.clock.now_ns() - since))
    }

    fn release(&self, held: Vec<Held>) {
        let now_ns = self.clock.now_ns();
        let mut metrics = lock(&self.metrics);
        for Held { at_ns, output, .. } in held {
            metrics.left(matches!(output, Output::Write(_)), now_ns.saturating_sub(at_ns));
            self.let_out(output);
        }
    }

    fn let_out(&self, output: Output) {
        match output {
            Output::Frame(_, frame) => put(&self.tap, &frame),
            Output::Write(word) => drop(word.send(())),
        }
    }
}
