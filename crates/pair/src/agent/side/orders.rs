//! What the laboratory orders, done.

use anyhow::Result;
use serde_json::json;

use super::Agent;
use crate::agent::channel::{listen, Message};
use crate::agent::disk::SharedDisk;
use crate::agent::event::Order;
use crate::agent::monitor::continue_machine;
use crate::agent::report::report;
use crate::agent::threads::spawn;
use crate::machine::Input;
use crate::ring::Saving;

impl Agent {
    /// Does what an order says, or reports why it cannot.
    pub(super) fn obey(&mut self, order: &Order) {
        if let Err(error) = self.try_to_obey(order) {
            report(&json!({ "event": "refused", "why": format!("{error:#}") }));
        }
    }

    fn try_to_obey(&mut self, order: &Order) -> Result<()> {
        match order {
            Order::Machine { pid } => self.guest.runs_as(*pid),
            Order::Hold => {
                self.guest.hold_frames();
                self.log.record_from_here();
            }
            Order::Save => {
                self.memory.set_saving(Saving::Requested);
                report(&json!({ "event": "saving" }));
            }
            Order::Resume { is_saved } => self.resume(*is_saved),
            Order::Copy { to } => self.guest.copy_disk(to)?,
            Order::CopyRest { to } => self.guest.copy_rest(to)?,
            Order::Give { frame } => self.inputs().take(frame),
            Order::Protect => self.protect()?,
            Order::Unprotect => {
                self.peer.say(&Message::Dismissed);
                self.happened(Input::ChannelLost);
            }
            Order::Stall { after } => self.peer.stall(self.log.received() + after),
            Order::Cut => self.peer.detach(),
            Order::Stop => self.stop(),
        }
        Ok(())
    }

    /// The machine runs again. Where it was not saved, or nobody came for its state, it records for nobody.
    fn resume(&mut self, is_saved: bool) {
        self.guest.resume_frames();
        if is_saved {
            self.guest.forget_copy();
        } else if self.side.is_alone() {
            self.wait_for_nobody();
        }
    }

    /// Nobody keeps the pair: what its keeper had begun would never be completed, and is undone.
    pub(super) fn is_abandoned(&mut self) {
        report(&json!({ "event": "unkept", "lease_s": self.options.lease_s }));
        if !self.side.is_alone() || self.takeover.is_under_way() {
            return;
        }
        if self.guest.is_held() {
            self.guest.forget_copy();
            if let Some(monitor) = self.options.monitor.clone() {
                let _ = spawn("monitor", move || drop(continue_machine(&monitor)));
            }
            self.guest.resume_frames();
        }
        self.wait_for_nobody();
    }

    /// Waits for a secondary.
    fn protect(&mut self) -> Result<()> {
        let identity = self.identity();
        let (listener, address) = listen(self.options.listen, &identity)?;
        self.log.record();
        self.guest.with_shared_disk(SharedDisk::begin);
        report(&json!({ "event": "listening", "address": address.to_string() }));
        self.peer.wait_for(listener, identity)
    }
}
