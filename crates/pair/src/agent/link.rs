//! A channel under way: the threads that read from it and move the log over it.

use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use socket2::Socket;

use super::channel::{Channel, Control, Message};
use super::disk::Disk;
use super::event::Event;
use super::inputs::Inputs;
use super::mover::{self, SecondaryEnd};
use super::report::Metrics;
use super::threads::spawn;
use crate::machine::Role;
use crate::ring::Shared;

/// Longest wait for a machine that replays to take what was received.
const DRAINED: Duration = Duration::from_secs(5);
/// Where the log breaks off, what the other side said last may still be under way on the other connection: its end is
/// waited for.
const LAST_WORDS: Duration = Duration::from_millis(20);
/// Between two looks at whether it has.
const LOOK: Duration = Duration::from_micros(500);

/// The channel as the deciding thread has it.
pub struct Link {
    /// Of all channels that there were: what comes from an earlier one counts no more.
    pub number: u64,
    role: Role,
    control: Control,
    log: Socket,
    /// Ends the thread that moves the log.
    over: Arc<AtomicBool>,
    end: Arc<SecondaryEnd>,
    mover: JoinHandle<()>,
}

/// What a link is between.
pub struct Ends {
    pub role: Role,
    /// Length of the log where it begins.
    pub position: u64,
    pub memory: Arc<Shared>,
    /// The disk that both sides share, where they do.
    pub disk: Option<Arc<Disk>>,
    /// What the network brings this side's machine.
    pub inputs: Arc<Inputs>,
    pub metrics: Arc<Mutex<Metrics>>,
}

impl Link {
    /// Starts the threads that read from the channel, which has this number, and move the log; what they get goes to
    /// `sender`.
    pub fn new(channel: Channel, number: u64, ends: Ends, sender: Sender<Event>) -> Result<Self> {
        let Channel { control, log, .. } = channel;
        let Ends { role, position, memory, disk, inputs, metrics } = ends;
        let over = Arc::new(AtomicBool::new(false));
        let (heard, reader) = (sender.clone(), control.clone());
        spawn("channel", move || {
            let ended = loop {
                match reader.receive() {
                    Ok(message) => drop(heard.send(Event::Said(number, message))),
                    Err(error) => break error,
                }
            };
            let _ = heard.send(Event::Lost(number, format!("{ended:#}")));
        })?;
        let (mut stream, own, writer) = (log.try_clone()?, over.clone(), control.clone());
        let end = Arc::new(SecondaryEnd { last: AtomicU64::new(u64::MAX), taken: AtomicU64::new(0) });
        let own_end = end.clone();
        let mover = std::thread::Builder::new().name("mover".into()).spawn(move || {
            let shared = disk.as_ref().and_then(|disk| disk.shared());
            let moved = match role {
                Role::Primary => mover::send((&memory, shared), &mut stream, position, (&own, &metrics)),
                Role::Secondary => {
                    mover::receive((&memory, shared, &inputs), &mut stream, position, (&own, &writer, &own_end))
                }
            };
            let Err(error) = moved else { return };
            let _ = spawn("last words", move || {
                std::thread::sleep(LAST_WORDS);
                let _ = sender.send(Event::Lost(number, format!("{error:#}")));
            });
        })?;
        Ok(Link { number, role, control, log, over, end, mover })
    }

    /// Sends a message; a channel that is broken says so where it is read.
    pub fn say(&self, message: &Message) {
        let _ = self.control.send(message);
    }

    /// Takes no log beyond this length, but for the rest of an event.
    pub fn stall(&self, length: u64) {
        self.end.last.store(length, Ordering::Release);
    }

    /// Bytes that the log's connection has brought.
    pub fn taken(&self) -> u64 {
        self.end.taken.load(Ordering::Acquire)
    }

    /// Ends the channel. What the secondary has received, it has given to its machine when this returns, as far as that
    /// takes it; what it did not take was not acknowledged either.
    pub fn end(self) {
        let _ = self.log.shutdown(Shutdown::Both);
        let patience = if self.role == Role::Primary { Duration::ZERO } else { DRAINED };
        let until = Instant::now() + patience;
        while !self.mover.is_finished() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        self.over.store(true, Ordering::Release);
        let _ = self.mover.join();
        self.control.close();
    }
}
