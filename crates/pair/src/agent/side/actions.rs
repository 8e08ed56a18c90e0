//! What the state machine decides, done: outputs released, the store asked, the machine sent live or ended.

use std::time::Duration;

use anyhow::Result;
use serde_json::{json, Value};

use super::Agent;
use crate::agent::channel::Message;
use crate::agent::disk::SharedDisk;
use crate::agent::report::report;
use crate::machine::{Action, Input, Role};
use crate::ring::State;
use crate::store::Claim;

/// What came to a primary so shortly before it was heard last may not have come to its log: it is given to the machine
/// that goes live, unless the log brings it.
const UNDER_WAY: Duration = Duration::from_millis(100);

impl Agent {
    pub(super) fn happened(&mut self, input: Input) {
        for action in self.side.take(input, self.clock.now_ns()) {
            self.act(action);
        }
    }

    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Claim(generation) => self.claim(generation),
            Action::ReleaseAll if self.takeover.is_under_way() => {} // once it is live
            Action::Welcome => {
                self.exits.begin_anew();
                self.log.is_followed();
                self.guest.with_shared_disk(SharedDisk::is_followed);
                self.peer.say(&Message::Welcome { position: self.log.recorded() });
            }
            Action::ReleaseAll => {
                self.record_for_nobody();
                self.exits.release_all();
                report(&json!({ "event": "alone", "generation": self.side.generation }));
            }
            Action::GoLive => self.takeover.begin(),
            Action::Kill => self.guest.kill(),
            Action::Leave => self.peer.say(&Message::Leaving),
        }
    }

    /// Asks the store. A secondary ends the channel first: it acknowledges nothing any more. A primary asks while the
    /// channel is still open: this thread lets nothing out meanwhile, and a secondary that sees the channel end before
    /// the primary has asked would ask too, and could win although it takes no log.
    pub(super) fn claim(&mut self, generation: u64) {
        let silent_ms = self.peer.heard().elapsed().as_secs_f64() * 1e3;
        if self.side.role == Role::Secondary {
            self.peer.detach();
            if self.guest.differs() {
                return self.differs(&json!({ "event": "diverged", "why": "its disk found so meanwhile" }));
            }
        } else if self.memory.state() == State::Ended {
            // The secondary may have replayed the end of the machine and gone before ours was seen to.
            self.peer.say(&Message::Ended);
            return self.happened(Input::MachineEnded);
        }
        let claim = self.store.claim(generation);
        self.peer.detach();
        let (input, word) = match &claim {
            Claim::Won => (Input::ClaimWon, "won".to_owned()),
            Claim::Lost { owner } => (Input::ClaimLost, format!("lost to {owner}")),
            Claim::Unavailable(error) => (Input::StoreUnavailable, format!("the store does not answer: {error}")),
        };
        report(&json!({ "event": "claim", "generation": generation, "came": word, "silent_ms": silent_ms }));
        self.happened(input);
    }

    /// Whether the machine that was told to go live has; then it serves.
    pub(super) fn look_whether_live(&mut self) -> Result<()> {
        let Some(begun) = self.takeover.completed()? else { return Ok(()) };
        self.guest.with_shared_disk(SharedDisk::serve);
        let (frames, next) = self.takeover.shadow.take();
        self.exits.take_over(self.options.mac, &frames, next);
        let heard = self.peer.heard();
        self.guest.serve_frames(heard.checked_sub(UNDER_WAY).unwrap_or(heard));
        let after_ms = begun.elapsed().as_secs_f64() * 1e3;
        let repeated = frames.len();
        report(&json!({
            "event": "live",
            "generation": self.side.generation,
            "after_ms": after_ms,
            "repeated_frames": repeated,
            "next_frame": next,
        }));
        Ok(())
    }

    /// A machine that was told to go live and is no copy must not serve.
    pub(super) fn give_up_going_live(&mut self) {
        if self.takeover.is_under_way() {
            self.end_machine();
        }
    }

    /// Our machine is to be gone, and the other side to know of it.
    pub(super) fn end_machine(&mut self) {
        self.guest.kill();
        self.happened(Input::MachineDied);
    }

    pub(super) fn differs(&mut self, told: &Value) {
        report(told);
        self.happened(Input::Diverged);
    }

    pub(super) fn stop(&mut self) {
        self.peer.say(&Message::Ended);
        self.guest.kill();
        self.happened(Input::MachineEnded);
    }

    pub(super) fn record_for_nobody(&mut self) {
        self.log.stop_recording();
        self.guest.with_shared_disk(SharedDisk::forget);
        self.log.skip();
    }
}
