//! Memory that QEMU and its agent share: two rings of bytes, one to each side, and what they tell each other.
//!
//! A file, mapped by both. Each ring has one writer and one reader. Whoever has nothing to read, or no room to write,
//! sleeps on a futex that the other side wakes.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use rustix::thread::futex;

/// Bytes that each ring holds: what a primary may be ahead of its agent.
pub const CAPACITY: usize = 16 << 20;
const MAGIC: u64 = u64::from_be_bytes(*b"lsPair04");
const HEADER: usize = 4096;
const LENGTH: usize = HEADER + 2 * CAPACITY;

/// What QEMU is to do with its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Command {
    /// Record, or replay what comes.
    Run = 0,
    /// Once all that came is replayed, go on from there as one that records.
    GoLive = 1,
}

/// What QEMU does with its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    Starting = 0,
    Recording = 1,
    Replaying = 2,
    /// It went live: it records what it replayed before.
    Live = 3,
    /// It recorded an event that no pair can replay.
    Unreplayable = 4,
    /// It ended its log: the guest powered off, or QEMU was told to end.
    Ended = 5,
}

/// How far the machine's state is saved to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Saving {
    Idle = 0,
    /// To be begun once the machine stands still.
    Requested = 1,
    /// A copy of QEMU writes the file; the machine may run.
    Writing = 2,
    Written = 3,
    Failed = 4,
}

impl Saving {
    fn of(number: u32) -> Saving {
        match number {
            1 => Saving::Requested,
            2 => Saving::Writing,
            3 => Saving::Written,
            4 => Saving::Failed,
            _ => Saving::Idle,
        }
    }
}

impl State {
    fn of(number: u32) -> State {
        match number {
            1 => State::Recording,
            2 => State::Replaying,
            3 => State::Live,
            4 => State::Unreplayable,
            5 => State::Ended,
            _ => State::Starting,
        }
    }
}

/// Counters of one ring; bytes since it was made.
#[repr(C, align(128))]
struct Counters {
    written: AtomicU64,
    read: AtomicU64,
    /// Changes when something was written, or there is other news for the reader.
    news: AtomicU32,
    /// Changes when something was read.
    room: AtomicU32,
    reader_sleeps: AtomicU32,
    writer_sleeps: AtomicU32,
}

#[repr(C)]
struct Header {
    magic: AtomicU64,
    command: AtomicU32,
    state: AtomicU32,
    /// Whether anybody reads what is recorded; it is dropped else.
    is_read: AtomicU32,
    /// Whether QEMU is to begin with a snapshot, and wait for it before it reads the log.
    begins_with_snapshot: AtomicU32,
    /// Length of the recorded log when the machine's state was saved last.
    saved_at: AtomicU64,
    /// Whether QEMU waits for its agent to have taken all that the machine sent.
    is_saving: AtomicU32,
    /// Share of its time for which the machine is kept from running, in percent.
    slowed_pct: AtomicU32,
    /// Instructions that the guest has run.
    instructions: AtomicU64,
    /// Length of the recorded log when QEMU sent anything last.
    sent_at: AtomicU64,
    /// Whether the machine that was saved last had nothing on its way to it that its state lacks.
    is_at_rest: AtomicU32,
    saving: AtomicU32,
    to_qemu: Counters,
    from_qemu: Counters,
}

/// The shared memory, mapped.
pub struct Shared {
    base: NonNull<u8>,
}

// SAFETY: what lies behind `base` is atomics, and bytes that one side writes before and the other reads after the
// counters say so.
unsafe impl Send for Shared {}
unsafe impl Sync for Shared {}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length, and nobody borrows from it any more.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), LENGTH) };
    }
}

impl Shared {
    /// Makes the file, which must not be there, and maps it.
    pub fn create(path: &Path) -> io::Result<Shared> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        file.set_len(LENGTH as u64)?;
        let shared = Self::map(&file)?;
        shared.header().magic.store(MAGIC, Ordering::Release);
        Ok(shared)
    }

    /// Maps a file that `create` made.
    pub fn open(path: &Path) -> io::Result<Shared> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let refuse = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()));
        if file.metadata()?.len() != LENGTH as u64 {
            return Err(refuse("not of the length of a pair's memory"));
        }
        let shared = Self::map(&file)?;
        if shared.header().magic.load(Ordering::Acquire) != MAGIC {
            return Err(refuse("not a pair's memory, or of another version"));
        }
        Ok(shared)
    }

    fn map(file: &File) -> io::Result<Shared> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping of a whole file; nothing else is replaced.
        let base = unsafe { mmap(std::ptr::null_mut(), LENGTH, access, MapFlags::SHARED, file, 0)? };
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at nowhere"))?;
        Ok(Shared { base })
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping is page-aligned, longer than a header, and holds atomics alone.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    /// Bytes for QEMU: the log that it replays.
    pub fn to_qemu(&self) -> Ring<'_> {
        Ring { counters: &self.header().to_qemu, memory: self.at(HEADER) }
    }

    /// Bytes from QEMU: the log that it records.
    pub fn from_qemu(&self) -> Ring<'_> {
        Ring { counters: &self.header().from_qemu, memory: self.at(HEADER + CAPACITY) }
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        // SAFETY: both offsets lie within the mapping.
        unsafe { self.base.add(offset) }
    }

    /// What QEMU is to do.
    pub fn command(&self) -> Command {
        match self.header().command.load(Ordering::Acquire) {
            1 => Command::GoLive,
            _ => Command::Run,
        }
    }

    /// Tells QEMU what to do, and wakes it where it waits for its log.
    pub fn tell(&self, command: Command) {
        self.header().command.store(command as u32, Ordering::Release);
        self.to_qemu().tell_news();
    }

    pub fn state(&self) -> State {
        State::of(self.header().state.load(Ordering::Acquire))
    }

    pub fn set_state(&self, state: State) {
        self.header().state.store(state as u32, Ordering::Release);
        self.from_qemu().tell_news();
    }

    /// Whether anybody reads what is recorded.
    pub fn is_read(&self) -> bool {
        self.header().is_read.load(Ordering::Acquire) == 1
    }

    /// From the next recorded event on it is read, or dropped.
    pub fn set_read(&self, is_read: bool) {
        self.header().is_read.store(is_read.into(), Ordering::Release);
    }

    /// Whether QEMU is to begin with a snapshot.
    pub fn begins_with_snapshot(&self) -> bool {
        self.header().begins_with_snapshot.load(Ordering::Acquire) == 1
    }

    /// QEMU, which has not started yet, is to begin with a snapshot.
    pub fn begin_with_snapshot(&self) {
        self.header().begins_with_snapshot.store(1, Ordering::Release);
    }

    /// How far the machine's state is saved.
    pub fn saving(&self) -> Saving {
        Saving::of(self.header().saving.load(Ordering::Acquire))
    }

    pub fn set_saving(&self, saving: Saving) {
        self.header().saving.store(saving as u32, Ordering::Release);
    }

    /// Length of the recorded log when the machine's state was saved last: what a copy of it goes on from.
    pub fn saved_at(&self) -> u64 {
        self.header().saved_at.load(Ordering::Acquire)
    }

    /// Whether the machine that was saved last had nothing on its way to it that its state lacks.
    pub fn was_at_rest(&self) -> bool {
        self.header().is_at_rest.load(Ordering::Acquire) == 1
    }

    /// The machine stands still and is being saved; waits until the agent has taken all that it sent, or `longest`.
    pub fn save_at(&self, position: u64, is_at_rest: bool, longest: Duration) {
        self.header().saved_at.store(position, Ordering::Release);
        self.header().is_at_rest.store(is_at_rest.into(), Ordering::Release);
        self.header().is_saving.store(1, Ordering::Release);
        let until = Instant::now() + longest;
        while self.is_saving() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        self.go_on();
    }

    /// Share of its time, in percent, for which the machine is to be kept from running.
    pub fn slowed_pct(&self) -> u32 {
        self.header().slowed_pct.load(Ordering::Relaxed)
    }

    pub fn slow_by(&self, pct: u32) {
        self.header().slowed_pct.store(pct, Ordering::Relaxed);
    }

    /// Whether the machine stands still until the agent has taken all that it sent.
    pub fn is_saving(&self) -> bool {
        self.header().is_saving.load(Ordering::Acquire) == 1
    }

    /// All was taken.
    pub fn go_on(&self) {
        self.header().is_saving.store(0, Ordering::Release);
    }

    /// Instructions that the guest has run, as told last.
    pub fn instructions(&self) -> u64 {
        self.header().instructions.load(Ordering::Relaxed)
    }

    /// Length of the recorded log when QEMU sent anything last: of what the agent has got, it was no longer.
    pub fn sent_at(&self) -> u64 {
        self.header().sent_at.load(Ordering::Acquire)
    }

    /// QEMU is about to send something.
    pub fn sends(&self) {
        // Several threads send, of which one may have been late to say so.
        self.header().sent_at.fetch_max(self.from_qemu().written(), Ordering::AcqRel);
    }

    pub fn set_instructions(&self, count: u64) {
        self.header().instructions.store(count, Ordering::Relaxed);
    }
}

/// One ring of bytes; to be written by one thread at a time and read by one.
#[derive(Clone, Copy)]
pub struct Ring<'a> {
    counters: &'a Counters,
    memory: NonNull<u8>,
}

impl Ring<'_> {
    /// Bytes written since the beginning.
    pub fn written(&self) -> u64 {
        self.counters.written.load(Ordering::Acquire)
    }

    /// Bytes read since the beginning.
    pub fn read(&self) -> u64 {
        self.counters.read.load(Ordering::Acquire)
    }

    /// Bytes that wait to be read.
    pub fn unread(&self) -> usize {
        (self.written().saturating_sub(self.read()) as usize).min(CAPACITY)
    }

    /// Writes as much as there is room for; how much that was.
    pub fn write_some(&self, bytes: &[u8]) -> usize {
        let written = self.counters.written.load(Ordering::Relaxed);
        let count = bytes.len().min(CAPACITY - self.unread());
        let (first, second) = split(written, count);
        // SAFETY: both parts lie within the ring, in room that the reader has given back; it looks there only once
        // `written` says so.
        unsafe {
            let memory = self.memory.as_ptr();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.add(first.start), first.len());
            std::ptr::copy_nonoverlapping(bytes[first.len()..].as_ptr(), memory, second);
        }
        self.counters.written.store(written + count as u64, Ordering::Release);
        if count > 0 {
            self.tell_news();
        }
        count
    }

    /// Writes all at once, waiting for room; false, and nothing written, when `give_up` says so meanwhile, or there
    /// will never be as much room.
    pub fn write_all(&self, bytes: &[u8], give_up: impl Fn() -> bool) -> bool {
        while CAPACITY - self.unread() < bytes.len() {
            let seen = self.counters.room.load(Ordering::Acquire);
            if give_up() || bytes.len() > CAPACITY {
                return false;
            }
            if CAPACITY - self.unread() < bytes.len() {
                sleep(&self.counters.room, seen, &self.counters.writer_sleeps, NAP);
            }
        }
        self.write_some(bytes) == bytes.len()
    }

    /// Drops what was not read yet; for the reader.
    pub fn skip(&self) {
        self.skip_to(self.written());
    }

    /// Drops what was not read yet before a place; for the reader.
    pub fn skip_to(&self, position: u64) {
        self.counters.read.store(position.clamp(self.read(), self.written()), Ordering::Release);
        wake(&self.counters.room, &self.counters.writer_sleeps);
    }

    /// Reads what is there, as much as there is room for; how much that was.
    pub fn read_some(&self, into: &mut [u8]) -> usize {
        let read = self.counters.read.load(Ordering::Relaxed);
        let count = into.len().min(self.unread());
        let (first, second) = split(read, count);
        // SAFETY: both parts lie within the ring and were written before `written` said so.
        unsafe {
            let memory = self.memory.as_ptr();
            std::ptr::copy_nonoverlapping(memory.add(first.start), into.as_mut_ptr(), first.len());
            std::ptr::copy_nonoverlapping(memory, into[first.len()..].as_mut_ptr(), second);
        }
        self.counters.read.store(read + count as u64, Ordering::Release);
        if count > 0 {
            wake(&self.counters.room, &self.counters.writer_sleeps);
        }
        count
    }

    /// Waits until there is something to read, or other news, or `longest` is over.
    pub fn wait(&self, longest: Duration) {
        let seen = self.counters.news.load(Ordering::Acquire);
        if self.unread() == 0 {
            sleep(&self.counters.news, seen, &self.counters.reader_sleeps, longest);
        }
    }

    /// A number that changes with all news: taken before looking, `wait_beyond` misses none that came after.
    pub fn news(&self) -> u32 {
        self.counters.news.load(Ordering::Acquire)
    }

    /// Waits for news beyond `seen`, no longer than `longest`.
    pub fn wait_beyond(&self, seen: u32, longest: Duration) {
        sleep(&self.counters.news, seen, &self.counters.reader_sleeps, longest);
    }

    fn tell_news(&self) {
        wake(&self.counters.news, &self.counters.reader_sleeps);
    }
}

/// Between two looks of a machine that is being saved at whether it may go on.
const LOOK: Duration = Duration::from_micros(500);
/// How long a writer without room sleeps at most before it asks whether to give up.
const NAP: Duration = Duration::from_millis(50);

/// `count` bytes from a place on: those up to the ring's end, and how many from its beginning.
fn split(from: u64, count: usize) -> (std::ops::Range<usize>, usize) {
    let start = (from % CAPACITY as u64) as usize;
    let first = count.min(CAPACITY - start);
    (start..start + first, count - first)
}

fn sleep(word: &AtomicU32, seen: u32, sleepers: &AtomicU32, longest: Duration) {
    sleepers.store(1, Ordering::SeqCst);
    if word.load(Ordering::SeqCst) == seen {
        let longest =
            rustix::time::Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: i64::from(longest.subsec_nanos()) };
        // An early return, whatever its reason, only lets the caller look again.
        let _ = futex::wait(word, futex::Flags::empty(), seen, Some(&longest));
    }
    sleepers.store(0, Ordering::SeqCst);
}

fn wake(word: &AtomicU32, sleepers: &AtomicU32) {
    word.fetch_add(1, Ordering::SeqCst);
    if sleepers.load(Ordering::SeqCst) != 0 {
        let _ = futex::wake(word, futex::Flags::empty(), u32::MAX >> 1);
    }
}

#[cfg(test)]
mod tests;
