//! The other side: the channel to it, and when it was heard last.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use serde_json::json;

use super::channel::{accept, Channel, Identity, Message};
use super::event::Event;
use super::link::{Ends, Link};
use super::report::report;
use super::threads::spawn;

/// The other side, as this one knows it.
pub struct Peer {
    sender: Sender<Event>,
    link: Option<Link>,
    /// Channels that there were.
    links: u64,
    /// How often a secondary was waited for; who comes for an earlier time comes too late.
    waited: Arc<AtomicU64>,
    heard: Instant,
}

impl Peer {
    /// There was none yet; what comes from it goes to `sender`.
    pub fn new(sender: Sender<Event>) -> Peer {
        Peer { sender, link: None, links: 0, waited: Arc::default(), heard: Instant::now() }
    }

    /// Whether there is a channel to it.
    pub fn is_linked(&self) -> bool {
        self.link.is_some()
    }

    /// Whether there is one, and of this number.
    pub fn is_linked_by(&self, number: u64) -> bool {
        self.link.as_ref().is_some_and(|link| link.number == number)
    }

    /// Whether this is the number of the latest channel that there was.
    pub fn was_latest(&self, number: u64) -> bool {
        number == self.links
    }

    /// Whether a secondary that was waited for by this number is waited for still.
    pub fn awaits(&self, number: u64) -> bool {
        number == self.waited.load(Ordering::Acquire) && self.link.is_none()
    }

    /// Waits for a secondary, on a thread of its own.
    pub fn wait_for(&self, listener: TcpListener, identity: Identity) -> Result<()> {
        let number = self.waited.fetch_add(1, Ordering::AcqRel) + 1;
        let (sender, waited) = (self.sender.clone(), self.waited.clone());
        let is_waited_for = move || waited.load(Ordering::Acquire) == number;
        spawn("listener", move || match accept(&listener, &identity, is_waited_for) {
            Ok(channel) => drop(sender.send(Event::Joined(number, Box::new(channel)))),
            Err(error) => report(&json!({ "event": "refused", "why": format!("{error:#}") })),
        })
    }

    /// Whoever is about to follow is not to any more.
    pub fn wait_for_nobody(&mut self) {
        self.waited.fetch_add(1, Ordering::AcqRel);
        self.detach();
    }

    /// Continues over a channel between these ends, which this numbers.
    pub fn attach(&mut self, channel: Channel, ends: Ends) -> Result<()> {
        self.links += 1;
        self.link = Some(Link::new(channel, self.links, ends, self.sender.clone())?);
        self.heard = Instant::now();
        Ok(())
    }

    /// Ends the channel, if there is one.
    pub fn detach(&mut self) {
        if let Some(link) = self.link.take() {
            link.end();
        }
    }

    /// Sends it a message, if there is a channel.
    pub fn say(&self, message: &Message) {
        if let Some(link) = &self.link {
            link.say(message);
        }
    }

    /// Takes no log from it beyond this length, but for the rest of an event.
    pub fn stall(&self, length: u64) {
        if let Some(link) = &self.link {
            link.stall(length);
        }
    }

    /// Bytes that the log's connection has brought.
    pub fn taken(&self) -> u64 {
        self.link.as_ref().map_or(0, Link::taken)
    }

    /// It said something just now.
    pub fn is_heard(&mut self) {
        self.heard = Instant::now();
    }

    /// When it was heard last.
    pub fn heard(&self) -> Instant {
        self.heard
    }
}
