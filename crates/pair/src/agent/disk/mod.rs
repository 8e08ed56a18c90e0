//! The machine's disk: a file that QEMU reaches as a network block device.
//!
//! Where each side has its own, both machines of a pair do the same to disks that were alike, so the files stay alike
//! without a word about them; what the log has is when each request was done. The server is between QEMU and the file so
//! that the agent knows what was written while the file is copied for a new secondary, and when no request is under way:
//! QEMU saves none. A disk that both sides share is touched by the one that serves (`shared`).

mod contract;
mod fence;
mod file;
mod mark;
mod shared;
#[cfg(test)]
mod tests;

use std::io::{self, BufReader, BufWriter, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;

use crate::agent::threads::lock;
use crate::agent::transmission::{self, Request};
pub use contract::Decider;
use file::DiskFile;
pub use mark::Mark;
pub use shared::{Reads, SharedDisk};

/// A disk that nothing was asked of for so long, by a machine that stands still, has nothing under way.
const AT_REST: Duration = Duration::from_millis(10);
/// Longest wait for that.
const PATIENCE: Duration = Duration::from_secs(2);

/// A disk.
pub struct Disk {
    file: DiskFile,
    backing: Backing,
    state: Mutex<Work>,
    /// The connection that requests come over.
    line: OnceLock<UnixStream>,
}

/// Whose the file of a disk is.
pub enum Backing {
    /// This side's alone: the other side has a file like it.
    Replica,
    /// Both sides'.
    Shared(Box<SharedDisk>),
}

/// Whether a request is under way, and since when that is so.
#[derive(Clone, Copy)]
struct Work {
    is_busy: bool,
    since: Instant,
}

impl Disk {
    /// In a file, which must be there. What is written to one that both sides share is on its storage once it is done:
    /// a machine that goes on elsewhere has no memory of what a lost host had yet to write.
    pub fn open(path: &Path, backing: Backing) -> io::Result<Disk> {
        let flags = if matches!(backing, Backing::Shared(_)) { libc::O_DSYNC } else { 0 };
        let state = Mutex::new(Work { is_busy: false, since: Instant::now() });
        Ok(Disk { file: DiskFile::open(path, flags)?, backing, state, line: OnceLock::new() })
    }

    /// What is known of it where both sides share it.
    pub fn shared(&self) -> Option<&SharedDisk> {
        match &self.backing {
            Backing::Shared(shared) => Some(shared),
            Backing::Replica => None,
        }
    }

    /// Does what one machine asks, until that is gone.
    pub fn serve(self: &Arc<Self>, listener: &UnixListener, decider: &impl Decider) -> io::Result<()> {
        let (stream, _) = listener.accept()?;
        let _ = self.line.set(stream.try_clone()?);
        let export: nbd::Export = nbd::Export { size: self.file.length(), send_flush: true, ..nbd::Export::default() };
        nbd::server::handshake::<_, (), _>(&stream, |_| Ok(export))?;
        let mut writer = BufWriter::new(stream.try_clone()?);
        let mut reader = BufReader::new(Line { disk: self.clone(), stream });
        while let Some(request) = transmission::next(&mut reader)? {
            let done = self.answer(&request, decider);
            transmission::answer(&mut writer, &request, &done)?;
            self.work(!reader.buffer().is_empty());
        }
        Ok(())
    }

    fn answer(&self, request: &Request, decider: &impl Decider) -> io::Result<Vec<u8>> {
        if !request.is_for(self.file.length()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let done = match &self.backing {
            Backing::Shared(shared) => shared.answer(&self.file, request, decider),
            Backing::Replica => self.file.perform(request),
        };
        done.inspect_err(|error| decider.failed(error))
    }

    /// Copies all of it while it is written to; `copy_rest` brings what was written meanwhile.
    pub fn copy(&self, to: &Path) -> io::Result<()> {
        self.file.copy(to)
    }

    /// Copies what was written since, once nothing is under way; whether it came to rest. The machine stands still. A
    /// disk that both sides share has no copy: from here on what is done is marked.
    pub fn copy_rest(&self, to: &Path) -> io::Result<bool> {
        if !self.comes_to_rest()? {
            return Ok(false);
        }
        match &self.backing {
            Backing::Shared(shared) => shared.begin_anew(),
            Backing::Replica => self.file.copy_written(to)?,
        }
        Ok(true)
    }

    /// The copy is complete, or wanted no more.
    pub fn forget_written(&self) {
        self.file.forget_written();
    }

    fn comes_to_rest(&self) -> io::Result<bool> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            let unread = self.line.get().map_or(Ok(0), ioctl_fionread)?;
            let Work { is_busy, since } = *lock(&self.state);
            if !is_busy && unread == 0 && since.max(began).elapsed() >= AT_REST {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(false)
    }

    fn work(&self, is_busy: bool) {
        *lock(&self.state) = Work { is_busy, since: Instant::now() };
    }
}

/// What QEMU sends: from the first byte of a request to the end of its answer the disk is busy.
struct Line {
    disk: Arc<Disk>,
    stream: UnixStream,
}

impl Read for Line {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(into)?;
        self.disk.work(true);
        Ok(count)
    }
}
