//! The other side: it joins, says how far it is, and is lost.

use anyhow::Result;
use serde_json::json;

use super::Agent;
use crate::agent::channel::{Channel, Message};
use crate::agent::link::Ends;
use crate::agent::replication::Base;
use crate::agent::report::report;
use crate::agent::threads::lock;
use crate::machine::{Input, Phase};

impl Agent {
    /// A side is there that is to become the secondary. Its end ends nobody but itself.
    pub(super) fn join(&mut self, channel: Channel) {
        if let Err(error) = self.begin_with(channel) {
            report(&json!({ "event": "refused", "why": format!("the side that joined is gone: {error:#}") }));
            self.wait_for_nobody();
        }
    }

    fn begin_with(&mut self, channel: Channel) -> Result<()> {
        let Base { position, frames, is_snapshot } = self.log.base();
        channel.control.send(&Message::Base { position, frames, is_snapshot })?;
        report(&json!({ "event": "joined", "by": channel.peer }));
        self.attach(channel)
    }

    /// Continues over a channel.
    pub(super) fn attach(&mut self, channel: Channel) -> Result<()> {
        let ends = Ends {
            role: self.side.role,
            position: self.log.base().position,
            memory: self.memory.clone(),
            disk: self.guest.disk(),
            inputs: self.guest.inputs(),
            metrics: self.metrics.clone(),
        };
        self.peer.attach(channel, ends)
    }

    /// The channel broke.
    pub(super) fn lost(&mut self, why: &str) {
        if self.side.is_alone() && !self.peer.is_linked() {
            return;
        }
        if self.side.phase != Phase::Deciding {
            report(&json!({ "event": "lost", "why": why }));
        }
        if self.side.is_alone() {
            self.peer.detach();
            return self.record_for_nobody();
        }
        self.happened(Input::ChannelLost);
    }

    /// Whoever is about to follow is not to any more.
    pub(super) fn wait_for_nobody(&mut self) {
        self.peer.wait_for_nobody();
        self.record_for_nobody();
    }

    /// After a silence in which the other side may have taken over, this one asks the store first: what was
    /// acknowledged before that silence must not release anything.
    pub(super) fn hear(&mut self, message: &Message) {
        if self.peer.heard().elapsed() > self.options.patience() && self.is_succeeded() {
            return self.happened(Input::ChannelLost);
        }
        self.peer.is_heard();
        self.happened(Input::Heard);
        match *message {
            Message::Acknowledged { received, executed, taken } if self.side.is_alone() => {
                self.log.acknowledged(received, executed, taken);
                if self.log.is_nearly_replayed() {
                    self.happened(Input::PeerReplays);
                }
            }
            Message::Acknowledged { received, executed, taken } if self.side.phase == Phase::Protected => {
                self.log.acknowledged(received, executed, taken);
                if let Some(number) = self.exits.acknowledge(received) {
                    self.peer.say(&Message::Left { number });
                }
            }
            Message::HasRead { number } => self.guest.with_shared_disk(|disk| disk.has_read(number)),
            Message::Sent { number, hash } => {
                let differs = self.takeover.shadow.expect(number, hash);
                self.compared(differs);
            }
            Message::Left { number } => self.takeover.shadow.left(number),
            Message::Welcome { position } => self.log.expect_welcome(position),
            Message::Follows => report(&json!({ "event": "protected", "generation": self.side.generation })),
            Message::Probe { at_ns } => self.peer.say(&Message::Echo { at_ns }),
            Message::Echo { at_ns } => {
                let took_ns = self.clock.now_ns().saturating_sub(at_ns);
                lock(&self.metrics).round_trip_ns = Some(took_ns);
            }
            Message::Ended | Message::Dismissed => self.happened(Input::PeerEnded),
            Message::Leaving => self.happened(Input::ChannelLost),
            _ => {}
        }
    }

    /// Whether another side has the next generation already, or the store does not answer.
    fn is_succeeded(&self) -> bool {
        !matches!(self.store.is_own(self.side.generation + 1), Ok(None | Some(true)))
    }

    /// Acknowledges what is here, and becomes the secondary once all is that precedes what the primary lets out without us.
    pub(super) fn acknowledge(&mut self) {
        let (received, executed) = self.log.measure();
        self.peer.say(&Message::Acknowledged { received, executed, taken: self.peer.taken() });
        if self.log.is_complete() {
            self.happened(Input::Welcomed);
            self.peer.say(&Message::Follows);
            report(&json!({ "event": "follows", "generation": self.side.generation }));
        }
    }

    /// The frame, if any, in which our machine's output differs from the primary's.
    pub(super) fn compared(&mut self, differs: Option<u64>) {
        if let Some(number) = differs {
            self.differs(&json!({ "event": "diverged", "frame": number }));
        }
    }
}
