//! What runs beside each machine of a pair: it moves the log, holds outputs until they may leave, watches the other side
//! and decides with the store who goes on.
//!
//! Threads that wait for something - the log, the channel, the machine's frames, the network, the laboratory's words -
//! hand what they got to one thread that decides (`side`).

mod channel;
mod disk;
mod inputs;
mod link;
mod marks;
mod mover;
mod network;
pub(crate) mod places;
mod progress;
pub(crate) mod report;
pub(crate) mod sealed;
mod shadow;
mod shared;
mod side;
mod transmission;

use std::fs::{self, File};
use std::io::{self, BufRead};
use std::net::SocketAddr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use clap::Args;
use rustix::event::{PollFd, PollFlags};
use serde::Deserialize;

use crate::ring::{Shared, State};
use crate::store::Store;
use crate::witness::Witness;
use channel::{Channel, Message};
use disk::{Decider, Disk};
use network::{each_frame, next_frame, read_mac};
use report::report;
use sealed::Papers;
use shared::{Reads, SharedDisk};
use side::{Agent, Devices};

/// How an agent is started.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Its name, unlike the other agent's
    #[arg(long)]
    pub name: String,
    /// File of the memory that it shares with QEMU, which it makes; the same path is QEMU's `rrfile` and in its
    /// environment as LOADSTONE_PAIR_MEMORY
    #[arg(long)]
    pub memory: PathBuf,
    /// Folder on storage that both sides share, where the generations are
    #[arg(long, required_unless_present = "witness")]
    pub store: Option<PathBuf>,
    /// Address of the witness that has the generations instead, of sides on hosts of their own
    #[arg(long, conflicts_with_all = ["store", "shared"], requires = "certificate")]
    pub witness: Option<SocketAddr>,
    /// Socket at which QEMU takes frames for the machine (`-netdev dgram,local.path=`)
    #[arg(long)]
    pub inlet: PathBuf,
    /// Socket, which the agent makes, to which QEMU gives the machine's frames (`filter-redirector`)
    #[arg(long)]
    pub outlet: PathBuf,
    /// The tap that is the machine's network
    #[arg(long)]
    pub tap: String,
    /// File of the network namespace that the tap is in, where that is not the agent's own (ip-netns(8))
    #[arg(long)]
    pub tap_in: Option<PathBuf>,
    /// The machine's address on it
    #[arg(long, value_parser = read_mac)]
    pub mac: [u8; 6],
    /// The machine's disk, a file of this side's own
    #[arg(long, requires = "disk_socket")]
    pub disk: Option<PathBuf>,
    /// The disk is the other side's too, on storage that both reach: only the side that serves touches it
    #[arg(long, requires = "disk")]
    pub shared: bool,
    /// How the machine that replays gets what was read from a disk that both share
    #[arg(long, value_enum, default_value_t, requires = "shared")]
    pub reads: Reads,
    /// Socket, which the agent makes, at which QEMU reaches it as a network block device
    #[arg(long)]
    pub disk_socket: Option<PathBuf>,
    /// Follow the agent at this address: be the secondary
    #[arg(long)]
    pub follow: Option<SocketAddr>,
    /// Wait for a secondary at this address; a free port where it has none
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    #[command(flatten)]
    pub papers: Papers,
    /// Silence after which the other side is suspected, in milliseconds
    #[arg(long, default_value_t = 500)]
    pub patience_ms: u64,
}

impl Options {
    /// Where it asks who may go on alone.
    fn generations(&self) -> Result<Store> {
        match (&self.store, self.witness) {
            (_, Some(address)) => {
                let seals = self.papers.read()?.context("a witness answers those alone that have papers")?;
                Ok(Store::at(Arc::new(Witness { address, seals }), &self.name))
            }
            (Some(folder), None) => Ok(Store::new(folder, &self.name)),
            (None, None) => bail!("neither --store nor --witness was given"),
        }
    }
}

/// What the laboratory says, a JSON object a line.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Order {
    /// QEMU runs, as this process
    Machine { pid: i32 },
    /// Keep frames from the machine, which is about to be saved, and its log from here on; say when it is saved
    Hold,
    /// It was saved, or could not be: give it frames again
    Resume { is_saved: bool },
    /// Copy the disk, which no other side shares, to a new file, and say when that is done; what is written meanwhile is noted
    Copy { to: PathBuf },
    /// The machine stands still: copy what was written since, once nothing is under way, and say whether it came to that
    CopyRest { to: PathBuf },
    /// Wait for a secondary, and say where
    Protect,
    /// Go on without the secondary
    Unprotect,
    /// Take no log but so much more, up to the end of an event: for trials
    Stall { after: u64 },
    /// Break the channel, as a cut line would: for trials
    Cut,
    /// End the machine and leave
    Stop,
}

/// What a thread that waits hands on.
enum Event {
    Order(Order),
    /// Nobody gives orders any more.
    Orphaned,
    /// The machine sent a frame when its log was so long.
    Frame(Vec<u8>, u64),
    /// It is being saved, and all that it sent before has come.
    Saved,
    /// The machine's frames have ended: it is gone.
    Silent,
    /// The disk cannot do what the machine asked; it is told so once this was answered.
    DiskFailed(String, Sender<()>),
    /// The machine writes to the disk that both sides share, when its log was so long; it does once it has the word.
    Write(u64, Sender<()>),
    /// The machine, which replays, has read what the primary's mark of this number told of.
    HasRead(u64),
    /// The machine does not do what the primary's did.
    Diverged(String),
    /// Another side serves the disk.
    Fenced,
    /// A secondary is there, waited for by this number.
    Joined(u64, Box<Channel>),
    /// Came over the channel of this number.
    Said(u64, Message),
    /// The channel of this number broke.
    Lost(u64, String),
}

/// Runs an agent until its machine is gone, or it is told to stop.
pub fn run(options: &Options) -> Result<()> {
    let memory = Arc::new(Shared::create(&options.memory).with_context(|| options.memory.display().to_string())?);
    let sockets = [Some(&options.memory), Some(&options.outlet), options.disk_socket.as_ref()];
    let _removed = Removed(sockets.into_iter().flatten().cloned().collect());
    let tap = Arc::new(match &options.tap_in {
        Some(namespace) => network::tap_in(namespace, &options.tap)?,
        None => network::tap(&options.tap)?,
    });
    let outlet = UnixListener::bind(&options.outlet).with_context(|| options.outlet.display().to_string())?;
    let (sender, events) = channel();
    spawn("orders", {
        let sender = sender.clone();
        move || orders(&sender)
    })?;
    spawn("outlet", {
        let (sender, memory) = (sender.clone(), memory.clone());
        move || outputs(&outlet, &memory, &sender)
    })?;
    let differs = Arc::new(AtomicBool::new(false));
    let path = options.disk.clone().unwrap_or_default();
    let asker = Asker { sender: sender.clone(), differs: differs.clone(), memory: memory.clone(), path };
    let devices = Devices { tap: tap.clone(), disk: disk_of(options, asker)?, differs };
    let mut agent = Agent::new(options, memory, devices, sender)?;
    let inputs = agent.inputs();
    spawn("inputs", move || each_frame(&tap, |frame| inputs.take(frame)))?;
    let ended = agent.run(&events);
    sealed::settle();
    ended
}

/// The machine's disk, served to it; none where it has none.
fn disk_of(options: &Options, asker: Asker) -> Result<Option<Arc<Disk>>> {
    let (Some(path), Some(socket)) = (&options.disk, &options.disk_socket) else { return Ok(None) };
    let shared =
        || SharedDisk::new(options.generations()?, options.reads, options.follow.is_some()).context("the store");
    let shared = options.shared.then(shared).transpose()?;
    let disk = Arc::new(Disk::open(path, shared).with_context(|| path.display().to_string())?);
    let listener = UnixListener::bind(socket).with_context(|| socket.display().to_string())?;
    let served = disk.clone();
    spawn("disk", move || drop(served.serve(&listener, &asker)))?; // ends with the machine
    Ok(Some(disk))
}

/// Asks the thread that decides.
struct Asker {
    sender: Sender<Event>,
    /// Whether the machine differs from the primary's: who decides may be about to have it go live.
    differs: Arc<AtomicBool>,
    memory: Arc<Shared>,
    path: PathBuf,
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

/// Files that are gone when this is.
struct Removed(Vec<PathBuf>);

impl Drop for Removed {
    fn drop(&mut self) {
        self.0.iter().for_each(|path| drop(fs::remove_file(path)));
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
    Ok(())
}

/// A mutex whose holder panicked is still what it was: what it guards is written in single steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands on what the laboratory says.
fn orders(sender: &Sender<Event>) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(order) => drop(sender.send(Event::Order(order))),
            Err(error) => report(&serde_json::json!({ "event": "refused", "line": line, "why": error.to_string() })),
        }
    }
    let _ = sender.send(Event::Orphaned);
}

/// Hands on what the machine sends, until it is gone; where it is being saved, that nothing more is there.
fn outputs(listener: &UnixListener, memory: &Shared, sender: &Sender<Event>) {
    let heard = || -> Result<()> {
        let (mut stream, _): (UnixStream, _) = listener.accept()?;
        loop {
            if !has_more(&stream, LOOK)? {
                if memory.is_saving() {
                    sender.send(Event::Saved)?;
                    memory.go_on();
                }
                continue;
            }
            let frame = next_frame(&mut stream)?;
            // The events before the frame were published before it was sent, under the same lock.
            let position = memory.sent_at();
            sender.send(Event::Frame(frame, position))?;
        }
    };
    drop(heard());
    let _ = sender.send(Event::Silent);
}

/// Whether there is anything to read within a while.
fn has_more(stream: &UnixStream, longest: Duration) -> Result<bool> {
    let longest = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(longest.subsec_nanos()) };
    match rustix::event::poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&longest)) {
        Err(rustix::io::Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// Between two looks of the thread that takes frames at whether the machine is being saved.
const LOOK: Duration = Duration::from_millis(5);

/// A network's file, shared by those who read from it and those who write.
type Tap = Arc<File>;

/// Between two beats.
const BEAT: Duration = Duration::from_millis(10);
