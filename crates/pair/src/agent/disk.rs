//! The machine's disk: a file that QEMU reaches as a network block device.
//!
//! Where each side has its own, both machines of a pair do the same to disks that were alike, so the files stay alike
//! without a word about them; what the log has is when each request was done. The server is between QEMU and the file so
//! that the agent knows what was written while the file is copied for a new secondary, and when no request is under way:
//! QEMU saves none. A disk that both sides share is touched by the one that serves (`shared`).

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;

use super::lock;
use super::shared::SharedDisk;
use super::transmission::{self, Ask, Request};

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
    shared: Option<SharedDisk>,
}

/// Who decides what a disk cannot; each call returns once that is done.
pub trait Decider {
    /// The file cannot do what the machine asked; it is told once this returns.
    fn failed(&self, error: &io::Error);
    /// Waits until a write to a shared disk may be done; false where it never may.
    fn may_write(&self) -> bool;
    /// The store did not say whose a shared disk is; it is asked again.
    fn waits(&self, error: &io::Error);
    /// Another side serves: this one's machine is to end.
    fn is_fenced(&self);
    /// Our machine does not ask for what the primary's did.
    fn diverged(&self, why: String);
    /// Our machine has read what the primary's mark of this number told of.
    fn has_read(&self, number: u64);
    /// Whether our machine went live, though the disk may not have been told.
    fn is_live(&self) -> bool;
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
    pub fn open(path: &Path, shared: Option<SharedDisk>) -> io::Result<Disk> {
        let flags = if shared.is_some() { libc::O_DSYNC } else { 0 };
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        let length = file.metadata()?.len();
        let state = Mutex::new(Work { is_busy: false, since: Instant::now() });
        let (written, copies, line) = (Mutex::new(None), AtomicU64::new(0), OnceLock::new());
        Ok(Disk { file, length, state, written, copies, line, shared })
    }

    /// What is known of it where both sides share it.
    pub fn shared(&self) -> Option<&SharedDisk> {
        self.shared.as_ref()
    }

    /// Does what one machine asks, until that is gone.
    pub fn serve(self: &Arc<Self>, listener: &UnixListener, decider: &impl Decider) -> io::Result<()> {
        let (stream, _) = listener.accept()?;
        let _ = self.line.set(stream.try_clone()?);
        let export: nbd::Export = nbd::Export { size: self.length, send_flush: true, ..nbd::Export::default() };
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
        if !request.is_for(self.length) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let done = match &self.shared {
            Some(shared) => shared.answer(self, request, decider),
            None => self.perform(request),
        };
        done.inspect_err(|error| decider.failed(error))
    }

    /// Does it to the file.
    pub fn perform(&self, request: &Request) -> io::Result<Vec<u8>> {
        match &request.ask {
            Ask::Read(length) => {
                let mut bytes = vec![0; *length as usize];
                self.file.read_exact_at(&mut bytes, request.at)?;
                return Ok(bytes);
            }
            Ask::Write(bytes) => {
                let written = self.file.write_all_at(bytes, request.at);
                // Not before: a copy that begins in between has read what was there, or finds the note.
                self.note(request.at, bytes.len());
                written?;
            }
            Ask::Flush => self.file.sync_data()?,
            Ask::Other => return Err(io::ErrorKind::InvalidInput.into()),
        }
        Ok(Vec::new())
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

    /// Copies what was written since, once nothing is under way; whether it came to rest. The machine stands still. A
    /// disk that both sides share has no copy: from here on what is done is marked.
    pub fn copy_rest(&self, to: &Path) -> io::Result<bool> {
        if !self.comes_to_rest()? {
            return Ok(false);
        }
        if let Some(shared) = &self.shared {
            shared.begin_anew();
            return Ok(true);
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

impl AsFd for Disk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom, Write};
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Counts failures; of a disk that is nobody else's.
    struct Counting(Arc<AtomicUsize>);

    impl Decider for Counting {
        fn failed(&self, _: &io::Error) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }

        fn may_write(&self) -> bool {
            unreachable!("its own disk")
        }

        fn waits(&self, _: &io::Error) {
            unreachable!("its own disk")
        }

        fn is_fenced(&self) {
            unreachable!("its own disk")
        }

        fn diverged(&self, why: String) {
            unreachable!("{why}")
        }

        fn has_read(&self, _: u64) {
            unreachable!("its own disk")
        }

        fn is_live(&self) -> bool {
            false
        }
    }

    const LENGTH: usize = 4 * BLOCK as usize + 512;

    /// A disk that is served, and whoever asks it.
    fn served(path: &Path, failures: &Arc<AtomicUsize>) -> (Arc<Disk>, nbd::client::NbdClient<UnixStream>) {
        let disk = Arc::new(Disk::open(path, None).expect("a file"));
        let client = serve(&disk, path, failures);
        (disk, client)
    }

    fn serve(disk: &Arc<Disk>, path: &Path, failures: &Arc<AtomicUsize>) -> nbd::client::NbdClient<UnixStream> {
        let socket = path.with_extension("socket");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let (serving, decider) = (disk.clone(), Counting(failures.clone()));
        std::thread::spawn(move || serving.serve(&listener, &decider));
        let mut stream = UnixStream::connect(&socket).expect("a connection");
        let export = nbd::client::handshake(&mut stream, b"").expect("an export");
        nbd::client::NbdClient::new(stream, &export)
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
        let (disk, mut client) = served(&path, &Arc::default());
        disk.copy(&copy).expect("copied");
        write(&mut client, 0, &[7; 10]).expect("written");
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
        let disk = Disk::open(&path, None).expect("a file");
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
        let disk = Arc::new(Disk { file, ..Disk::open(&path, None).expect("a file") });
        let failures = Arc::default();
        let mut client = serve(&disk, &path, &failures);
        assert!(write(&mut client, 0, &[1; 1000]).is_err());
        assert_eq!(failures.load(Ordering::SeqCst), 1);
        let mut read = [1; 4];
        client.read_exact(&mut read).expect("the line goes on");
        assert_eq!(read, [0; 4]);
        assert!(client.seek(SeekFrom::Start(LENGTH as u64 - 2)).is_ok_and(|_| client.read_exact(&mut read).is_err()));
        assert_eq!(failures.load(Ordering::SeqCst), 1, "what is beyond the end is no failure of the file");
    }
}
