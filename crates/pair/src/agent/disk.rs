//! The machine's disk: a file of this side's own, which QEMU reaches as a network block device.
//!
//! Both machines of a pair do the same to disks that were alike, so the files stay alike without a word about them; what
//! the log has is when each request was done. The server is between QEMU and the file so that the agent knows what was
//! written while the file is copied for a new secondary, and when no request is under way: QEMU saves none.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;

use super::lock;

/// What is copied at once, and noted as written.
const BLOCK: u64 = 64 << 10;
/// A disk that nothing was asked of for so long, by a machine that stands still, has nothing under way.
const AT_REST: Duration = Duration::from_millis(10);
/// Longest wait for that.
const PATIENCE: Duration = Duration::from_secs(2);

/// A disk.
pub struct Disk {
    file: File,
    length: u64,
    state: Mutex<Work>,
    /// Blocks that were written since a copy began.
    written: Mutex<Option<BTreeSet<u64>>>,
    /// How many copies were begun: an earlier one is given up.
    copies: AtomicU64,
    /// The connection that requests come over.
    line: OnceLock<UnixStream>,
}

/// Whether a request is under way, and since when that is so.
#[derive(Clone, Copy)]
struct Work {
    is_busy: bool,
    since: Instant,
}

impl Disk {
    /// In a file, which must be there.
    pub fn open(path: &Path) -> io::Result<Disk> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let length = file.metadata()?.len();
        let state = Mutex::new(Work { is_busy: false, since: Instant::now() });
        Ok(Disk { file, length, state, written: Mutex::new(None), copies: AtomicU64::new(0), line: OnceLock::new() })
    }

    /// Does what one machine asks, until that is gone. Where the file cannot, the machine is told once `failed` returns.
    pub fn serve(self: &Arc<Self>, listener: &UnixListener, failed: impl Fn(&io::Error)) -> io::Result<()> {
        let (stream, _) = listener.accept()?;
        let _ = self.line.set(stream.try_clone()?);
        let mut line = Line::new(self.clone(), &stream)?;
        let export: nbd::Export = nbd::Export { size: self.length, send_flush: true, ..nbd::Export::default() };
        nbd::server::handshake::<_, (), _>(&mut line, |_| Ok(export))?;
        nbd::server::transmission(&mut line, View { disk: self.clone(), at: 0, failed })
    }

    /// Copies all of it while it is written to; `copy_rest` brings what was written meanwhile.
    pub fn copy(&self, to: &Path) -> io::Result<()> {
        let number = self.copies.fetch_add(1, Ordering::AcqRel) + 1;
        *lock(&self.written) = Some(BTreeSet::new());
        let copy = OpenOptions::new().write(true).create_new(true).open(to)?;
        copy.set_len(self.length)?;
        for block in 0..self.length.div_ceil(BLOCK) {
            if self.copies.load(Ordering::Acquire) != number {
                return Err(io::Error::other("another copy was begun"));
            }
            self.copy_block(block, &copy, true)?;
        }
        Ok(())
    }

    /// Copies what was written since, once nothing is under way; whether it came to rest. The machine stands still.
    pub fn copy_rest(&self, to: &Path) -> io::Result<bool> {
        if !self.comes_to_rest()? {
            return Ok(false);
        }
        let copy = OpenOptions::new().write(true).open(to)?;
        while let Some(block) = self.next_written() {
            self.copy_block(block, &copy, false)?;
            lock(&self.written).as_mut().map(|written| written.remove(&block));
        }
        Ok(true)
    }

    fn next_written(&self) -> Option<u64> {
        lock(&self.written).as_ref()?.first().copied()
    }

    /// The copy is complete, or wanted no more.
    pub fn forget_written(&self) {
        *lock(&self.written) = None;
    }

    fn copy_block(&self, block: u64, copy: &File, is_new: bool) -> io::Result<()> {
        let at = block * BLOCK;
        let mut bytes = vec![0; BLOCK.min(self.length - at) as usize];
        self.file.read_exact_at(&mut bytes, at)?;
        if is_new && bytes.iter().all(|byte| *byte == 0) {
            return Ok(()); // a new file is empty, and takes no space
        }
        copy.write_all_at(&bytes, at)
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

    fn note(&self, at: u64, count: usize) {
        if let Some(written) = lock(&self.written).as_mut() {
            written.extend(at / BLOCK..(at + count as u64).div_ceil(BLOCK));
        }
    }
}

/// The line to QEMU: from the first byte of a request to the end of its answer the disk is busy.
struct Line {
    disk: Arc<Disk>,
    reader: BufReader<UnixStream>,
    writer: BufWriter<UnixStream>,
}

impl Line {
    fn new(disk: Arc<Disk>, stream: &UnixStream) -> io::Result<Line> {
        let (reader, writer) = (BufReader::new(stream.try_clone()?), BufWriter::new(stream.try_clone()?));
        Ok(Line { disk, reader, writer })
    }
}

impl Read for Line {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into)?;
        self.disk.work(true);
        Ok(count)
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.disk.work(!self.reader.buffer().is_empty());
        Ok(())
    }
}

/// The file as the protocol's library takes it: a place, and what is done there.
struct View<F: Fn(&io::Error)> {
    disk: Arc<Disk>,
    at: u64,
    failed: F,
}

impl<F: Fn(&io::Error)> View<F> {
    fn went_on(&mut self, done: io::Result<usize>) -> io::Result<usize> {
        let count = done.inspect_err(|error| (self.failed)(error))?;
        self.at += count as u64;
        Ok(count)
    }
}

impl<F: Fn(&io::Error)> Read for View<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.disk.file.read_at(into, self.at);
        self.went_on(read)
    }
}

impl<F: Fn(&io::Error)> Write for View<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.disk.file.write_at(bytes, self.at);
        // Not before: a copy that begins in between has read what was there, or finds the note.
        self.disk.note(self.at, bytes.len());
        self.went_on(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.disk.file.sync_data().inspect_err(|error| (self.failed)(error))
    }
}

impl<F: Fn(&io::Error)> Seek for View<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Start(at) if at <= self.disk.length => self.at = at,
            _ => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    const LENGTH: usize = 4 * BLOCK as usize + 512;

    /// A disk that is served, and whoever asks it.
    fn served(path: &Path, failures: &Arc<AtomicUsize>) -> (Arc<Disk>, nbd::client::NbdClient<UnixStream>) {
        let socket = path.with_extension("socket");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let disk = Arc::new(Disk::open(path).expect("a file"));
        let (serving, counted) = (disk.clone(), failures.clone());
        std::thread::spawn(move || {
            serving.serve(&listener, |_| {
                counted.fetch_add(1, Ordering::SeqCst);
            })
        });
        let mut stream = UnixStream::connect(&socket).expect("a connection");
        let export = nbd::client::handshake(&mut stream, b"").expect("an export");
        (disk, nbd::client::NbdClient::new(stream, &export))
    }

    fn write(client: &mut nbd::client::NbdClient<UnixStream>, at: u64, bytes: &[u8]) -> io::Result<()> {
        client.seek(SeekFrom::Start(at))?;
        client.write_all(bytes)
    }

    #[test]
    fn what_is_written_is_read_and_a_copy_has_what_was_written_while_it_was_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, copy) = (folder.path().join("disk"), folder.path().join("copy"));
        std::fs::write(&path, vec![0; LENGTH]).expect("written");
        let failures = Arc::new(AtomicUsize::new(0));
        let (disk, mut client) = served(&path, &failures);
        write(&mut client, 100, &[1; 70_000]).expect("written");
        disk.copy(&copy).expect("copied");
        write(&mut client, 3 * BLOCK - 1, &[2, 3]).expect("written");
        write(&mut client, 0, &[0; 200]).expect("written");
        client.flush().expect("on the disk");
        assert!(disk.copy_rest(&copy).expect("copied"));
        assert!(std::fs::read(&path).expect("read") == std::fs::read(&copy).expect("read"));
        write(&mut client, LENGTH as u64 - 4, &[9; 4]).expect("written");
        assert!(disk.copy_rest(&copy).expect("copied"));
        let mut read = [0; 4];
        client.seek(SeekFrom::Start(LENGTH as u64 - 4)).expect("a place");
        client.read_exact(&mut read).expect("read");
        assert_eq!(read, [9; 4]);
        assert!(std::fs::read(&path).expect("read") == std::fs::read(&copy).expect("read"));
        assert_eq!(failures.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn what_a_copy_could_not_take_is_copied_the_next_time_and_an_earlier_copy_is_given_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, copy) = (folder.path().join("disk"), folder.path().join("copy"));
        std::fs::write(&path, vec![0; LENGTH]).expect("written");
        let disk = Arc::new(Disk::open(&path).expect("a file"));
        disk.copy(&copy).expect("copied");
        let mut view = View { disk: disk.clone(), at: 0, failed: |_: &io::Error| {} };
        view.write_all(&[7; 10]).expect("written");
        assert!(disk.copy_rest(&folder.path().join("elsewhere").join("copy")).is_err());
        assert!(disk.copy_rest(&copy).expect("copied"));
        assert!(std::fs::read(&path).expect("read") == std::fs::read(&copy).expect("read"));
        assert!(disk.copy(&copy).is_err(), "a copy is a new file");
    }

    #[test]
    fn a_disk_with_a_request_under_way_is_not_at_rest() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, copy) = (folder.path().join("disk"), folder.path().join("copy"));
        std::fs::write(&path, vec![0; LENGTH]).expect("written");
        let disk = Disk::open(&path).expect("a file");
        disk.copy(&copy).expect("copied");
        disk.work(true);
        assert!(!disk.copy_rest(&copy).expect("no error"));
        disk.work(false);
        assert!(disk.copy_rest(&copy).expect("copied"));
    }

    #[test]
    fn a_file_that_cannot_take_what_is_written_is_told_before_whoever_wrote_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("disk");
        std::fs::write(&path, vec![0; LENGTH]).expect("written");
        let file = File::open(&path).expect("readable, and no more");
        let disk = Arc::new(Disk { file, ..Disk::open(&path).expect("a file") });
        let told = AtomicUsize::new(0);
        let failed = |_: &io::Error| {
            told.fetch_add(1, Ordering::SeqCst);
        };
        let mut view = View { disk, at: 0, failed };
        assert!(view.write(&[1]).is_err());
        assert_eq!(told.load(Ordering::SeqCst), 1);
    }
}
