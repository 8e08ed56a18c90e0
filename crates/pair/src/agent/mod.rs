//! What runs beside each machine of a pair: it moves the log, holds outputs until they may leave, watches the other side
//! and decides with the store who goes on.
//!
//! Threads that wait for something - the log, the channel, the machine's frames, the network, the laboratory's words -
//! hand what they got to one thread that decides (`side`).

pub(crate) mod admission;
mod asker;
mod channel;
mod clock;
mod disk;
pub(crate) mod event;
mod exits;
mod guest;
mod inputs;
mod keepers;
pub(crate) mod lease;
mod link;
mod marks;
mod monitor;
mod mover;
mod network;
mod options;
mod peer;
pub(crate) mod places;
mod progress;
mod pulse;
mod replication;
pub(crate) mod report;
pub(crate) mod sealed;
mod shadow;
mod side;
mod slowing;
mod sources;
mod takeover;
mod threads;
mod transmission;

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::Arc;

use anyhow::{Context, Result};

use crate::ring::Shared;
use asker::Asker;
use disk::{Backing, Disk, SharedDisk};
use network::each_frame;
pub use options::Options;
use side::{Agent, Devices};
use sources::{orders, outputs};
use threads::spawn;

/// Runs an agent until its machine is gone, or it is told to stop.
pub fn run(options: &Options) -> Result<()> {
    let memory = Arc::new(Shared::create(&options.memory).with_context(|| options.memory.display().to_string())?);
    let sockets =
        [Some(&options.memory), Some(&options.outlet), options.disk_socket.as_ref(), options.control.as_ref()];
    let _removed = Removed(sockets.into_iter().flatten().cloned().collect());
    let tap = Arc::new(match &options.tap_in {
        Some(namespace) => network::tap_in(namespace, &options.tap)?,
        None => network::tap(&options.tap)?,
    });
    let outlet = UnixListener::bind(&options.outlet).with_context(|| options.outlet.display().to_string())?;
    let (sender, events) = channel();
    match (&options.control, sender.clone()) {
        (Some(path), sender) => admission::admit(path, sender)?,
        (None, sender) => spawn("orders", move || orders(&sender))?,
    }
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
    report::flush_reports();
    ended
}

/// The machine's disk, served to it; none where it has none.
fn disk_of(options: &Options, asker: Asker) -> Result<Option<Arc<Disk>>> {
    let (Some(path), Some(socket)) = (&options.disk, &options.disk_socket) else { return Ok(None) };
    let backing = match options.shared {
        true => {
            let disk = SharedDisk::new(options.generations()?, options.reads, options.follow.is_some());
            Backing::Shared(Box::new(disk.context("the store")?))
        }
        false => Backing::Replica,
    };
    let disk = Arc::new(Disk::open(path, backing).with_context(|| path.display().to_string())?);
    let listener = UnixListener::bind(socket).with_context(|| socket.display().to_string())?;
    let served = disk.clone();
    spawn("disk", move || drop(served.serve(&listener, &asker)))?; // ends with the machine
    Ok(Some(disk))
}

/// Files that are gone when this is.
struct Removed(Vec<PathBuf>);

impl Drop for Removed {
    fn drop(&mut self) {
        self.0.iter().for_each(|path| drop(fs::remove_file(path)));
    }
}
