//! A disk that both machines of a pair share: only the one that serves touches it.
//!
//! The primary does a request and marks that it has, before the machine hears of it; the mark goes with the log, in
//! front of every event that came after it. The secondary's machine asks for the same in the same order, and each of its
//! requests waits for its mark: a write is dropped then, a read answered with what the mark brings, or read by the
//! secondary itself. What has no mark when the secondary goes live was under way: it is done then (Scales, Nelson,
//! Venkitachalam 2010, 2.3 and 4.1). A write is an output: it waits until the secondary holds all that precedes it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{flock, FlockOperation};

use super::contract::Decider;
use super::fence::Fence;
use super::file::DiskFile;
use super::mark::{Mark, Queue};
use crate::agent::shadow::hash_of;
use crate::agent::threads::lock;
use crate::agent::transmission::{Ask, Request};
use crate::store::Store;

/// Between two looks of who waits.
const LOOK: Duration = Duration::from_millis(5);
/// Between two questions to a store that did not answer.
const AGAIN: Duration = Duration::from_millis(100);
/// Most bytes of marks that wait for a secondary, or for the machine that replays: whoever makes more waits.
const MOST: usize = 64 << 20;
/// Most places where our machine may have written other bytes than the primary's: beyond, the machines have diverged.
const MOST_DIFFERING: usize = 32;

/// How a secondary's machine gets what the primary's has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Reads {
    /// It comes with the log.
    #[default]
    Log,
    /// The secondary reads the disk itself; the primary keeps what is there until it has.
    Secondary,
}

/// What one side knows of the disk that it shares.
pub struct SharedDisk {
    reads: Reads,
    fence: Fence,
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether our machine replays.
    follows: bool,
    /// The primary's, for requests that our machine has not made yet.
    arrived: Queue,
    /// Ours, for a secondary; none where nobody follows or is about to.
    departing: Option<Queue>,
    /// Whether our secondary has all that precedes its reads.
    is_followed: bool,
    done: u64,
    /// Where our machine wrote other bytes than the primary's, and has not written the same since.
    differing: BTreeSet<u64>,
    /// What a secondary has still to read, by the numbers of our marks.
    unread: BTreeMap<u64, Range<u64>>,
}

impl State {
    /// Whether our machine wrote the bytes that the primary's did, or may have written others.
    ///
    /// A file system changes its own blocks while the disk takes them from memory, and writes them again later. The two
    /// machines then write different bytes, and neither is wrong (Scales, Nelson, Venkitachalam 2010, 3.4).
    fn tolerates(&mut self, request: &Request, mark: &Mark) -> bool {
        let Ask::Write(bytes) = &request.ask else { return true };
        match mark.is_about(bytes) {
            true => self.differing.retain(|at| !mark.range().contains(at)),
            false => drop(self.differing.insert(mark.at)),
        }
        self.differing.len() <= MOST_DIFFERING
    }
}

impl SharedDisk {
    /// Of a side that follows another, or serves.
    pub fn new(store: Store, reads: Reads, follows: bool) -> io::Result<SharedDisk> {
        let state = Mutex::new(State { follows, ..State::default() });
        Ok(SharedDisk { reads, fence: Fence::new(store)?, state, news: Condvar::new() })
    }

    /// Does what the machine asks. A flush has nothing to do: every write is on the storage before its mark is made.
    pub fn answer(&self, disk: &DiskFile, request: &Request, decider: &impl Decider) -> io::Result<Vec<u8>> {
        if request.ask == Ask::Flush {
            return Ok(Vec::new());
        }
        match self.mark_of(request, decider)? {
            Some(mark) => self.repeat(disk, request, mark, decider),
            None => self.perform(disk, request, decider),
        }
    }

    /// The primary's mark of what our machine asks, waited for; none once our machine serves.
    fn mark_of(&self, request: &Request, decider: &impl Decider) -> io::Result<Option<Mark>> {
        let mut state = lock(&self.state);
        // What a machine asks that went live was under way then, or is its own: what is marked it had answered before.
        while state.follows && !decider.is_live() {
            let Some(mark) = state.arrived.pop() else {
                state = self.wait(state);
                continue;
            };
            self.news.notify_all();
            if mark.is_of(request) && state.tolerates(request, &mark) {
                return Ok(Some(mark));
            }
            return Err(differ(request, &mark, decider));
        }
        Ok(None)
    }

    /// What the primary did already.
    fn repeat(&self, disk: &DiskFile, request: &Request, mark: Mark, decider: &impl Decider) -> io::Result<Vec<u8>> {
        if mark.is_write {
            return Ok(Vec::new());
        }
        if let Some(bytes) = mark.bytes {
            return Ok(bytes);
        }
        let bytes = disk.perform(request)?;
        if !mark.is_about(&bytes) {
            return Err(differ(request, &mark, decider));
        }
        decider.has_read(mark.number);
        Ok(bytes)
    }

    fn perform(&self, disk: &DiskFile, request: &Request, decider: &impl Decider) -> io::Result<Vec<u8>> {
        let is_write = matches!(request.ask, Ask::Write(_));
        let bytes = match is_write {
            true => self.write(disk, request, decider)?,
            false => disk.perform(request)?,
        };
        self.note(request, &bytes);
        Ok(bytes)
    }

    fn write(&self, disk: &DiskFile, request: &Request, decider: &impl Decider) -> io::Result<Vec<u8>> {
        self.wait_until_read(request.at..request.at + request.length());
        if !decider.may_write() {
            return Err(io::Error::other("the decision is no longer possible"));
        }
        // Without the store's answer nothing is written: it is waited for.
        let mut is_told = false;
        while let Err(error) = self.write_if_ours(disk, request, decider)? {
            if !std::mem::replace(&mut is_told, true) {
                decider.waits(&error);
            }
            std::thread::sleep(AGAIN);
        }
        Ok(Vec::new())
    }

    /// Writes under the lock; within, why the store did not say whether it may.
    fn write_if_ours(&self, disk: &DiskFile, request: &Request, decider: &impl Decider) -> io::Result<io::Result<()>> {
        flock(disk, FlockOperation::LockExclusive)?;
        let done = match self.fence.is_ours() {
            Ok(true) => disk.perform(request).map(|_| Ok(())),
            Ok(false) => {
                decider.is_fenced();
                Err(io::Error::other("another side serves"))
            }
            Err(error) => Ok(Err(error)),
        };
        flock(disk, FlockOperation::Unlock)?;
        done
    }

    /// Waits until nobody has to read what is there.
    fn wait_until_read(&self, range: Range<u64>) {
        let mut state = lock(&self.state);
        while state.unread.values().any(|unread| unread.start < range.end && range.start < unread.end) {
            state = self.wait(state);
        }
    }

    /// Marks what was done, where somebody is to know of it.
    fn note(&self, request: &Request, read: &[u8]) {
        let (is_write, hash) = match &request.ask {
            Ask::Write(bytes) => (true, hash_of(bytes)),
            _ => (false, hash_of(read)),
        };
        let mut state = lock(&self.state);
        while state.departing.as_ref().is_some_and(|departing| departing.room() > MOST) {
            state = self.wait(state);
        }
        let State { departing: Some(departing), is_followed, done, unread, .. } = &mut *state else { return };
        let is_left_to_it = !is_write && self.reads == Reads::Secondary && *is_followed;
        let bytes = (!is_write && !is_left_to_it).then(|| read.to_vec());
        let mark = Mark { number: *done, at: request.at, length: request.length(), is_write, hash, bytes };
        if is_left_to_it {
            unread.insert(mark.number, mark.range());
        }
        *done += 1;
        departing.push(mark);
    }

    /// From here on what is done is marked for a secondary; from the machine's state on, which stands still.
    pub fn begin_anew(&self) {
        self.change(|state| {
            state.departing = Some(Queue::default());
            state.unread.clear();
        });
    }

    /// The same, where it was not so already.
    pub fn begin(&self) {
        self.change(|state| {
            state.departing.get_or_insert_default();
        });
    }

    /// The secondary has all that precedes what it reads.
    pub fn is_followed(&self) {
        self.change(|state| state.is_followed = true);
    }

    /// Nobody follows.
    pub fn forget(&self) {
        self.change(|state| {
            (state.departing, state.is_followed) = (None, false);
            state.unread.clear();
        });
    }

    /// Our machine serves from here on.
    pub fn serve(&self) {
        self.change(|state| (state.follows, state.arrived) = (false, Queue::default()));
    }

    /// The secondary has read what this mark told of.
    pub fn has_read(&self, number: u64) {
        self.change(|state| {
            state.unread.remove(&number);
        });
    }

    /// Marks that were made since, for the channel.
    pub fn departing(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        self.change(|state| marks = state.departing.as_mut().map_or(Vec::new(), |queue| std::mem::take(queue).into()));
        marks
    }

    /// A mark came over the channel. Waits while our machine has more of them than it takes, and log to go on by.
    pub fn arrived(&self, mark: Mark, has_log: impl Fn() -> bool) {
        let mut state = lock(&self.state);
        while state.follows && state.arrived.room() > MOST && has_log() {
            state = self.wait(state);
        }
        state.arrived.push(mark);
        drop(state);
        self.news.notify_all();
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut lock(&self.state));
        self.news.notify_all();
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.news.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Says where our machine does not do what the primary's did.
fn differ(request: &Request, mark: &Mark, decider: &impl Decider) -> io::Error {
    let word = |is_write| if is_write { "writes" } else { "reads" };
    let ours = word(matches!(request.ask, Ask::Write(_)));
    let (at, length, theirs) = (request.at, request.length(), word(mark.is_write));
    let told = match (mark.at, mark.length, theirs) == (at, length, ours) {
        true => format!("it {ours} other bytes of its disk than the primary, {length} at {at}"),
        false => {
            format!("it {ours} {length} bytes of its disk at {at}, the primary {theirs} {} at {}", mark.length, mark.at)
        }
    };
    decider.diverged(told);
    io::Error::other("the machines differ")
}
