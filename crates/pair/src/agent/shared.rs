//! A disk that both machines of a pair share: only the one that serves touches it.
//!
//! The primary does a request and marks that it has, before the machine hears of it; the mark goes with the log, in
//! front of every event that came after it. The secondary's machine asks for the same in the same order, and each of its
//! requests waits for its mark: a write is dropped then, a read answered with what the mark brings, or read by the
//! secondary itself. What has no mark when the secondary goes live was under way: it is done then (Scales, Nelson,
//! Venkitachalam 2010, 2.3 and 4.1). A write is an output: it waits until the secondary holds all that precedes it.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{flock, FlockOperation};
use serde::{Deserialize, Serialize};

use super::disk::{Decider, Disk};
use super::lock;
use super::shadow::hash_of;
use super::transmission::{Ask, Request};
use crate::store::Store;

/// Between two looks of who waits.
const LOOK: Duration = Duration::from_millis(5);
/// Between two questions to a store that did not answer.
const AGAIN: Duration = Duration::from_millis(100);
/// Most bytes of marks that wait for a secondary, or for the machine that replays: whoever makes more waits.
const MOST: usize = 64 << 20;

/// How a secondary's machine gets what the primary's has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Reads {
    /// It comes with the log.
    #[default]
    Log,
    /// The secondary reads the disk itself; the primary keeps what is there until it has.
    Secondary,
}

/// A request that the primary has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub number: u64,
    at: u64,
    length: u64,
    is_write: bool,
    /// Of what was read or written.
    hash: u64,
    /// What was read; none where the secondary is to read it.
    bytes: Option<Vec<u8>>,
}

impl Mark {
    #[cfg(test)]
    pub fn of_read(number: u64, at: u64, bytes: Vec<u8>) -> Mark {
        Mark { number, at, length: bytes.len() as u64, is_write: false, hash: hash_of(&bytes), bytes: Some(bytes) }
    }

    fn room(&self) -> usize {
        size_of::<Mark>() + self.bytes.as_ref().map_or(0, Vec::len)
    }

    fn is_of(&self, request: &Request) -> bool {
        let is_write = match &request.ask {
            Ask::Write(bytes) if hash_of(bytes) != self.hash => return false,
            Ask::Write(_) => true,
            _ => false,
        };
        (self.at, self.length, self.is_write) == (request.at, request.length(), is_write)
    }

    fn range(&self) -> Range<u64> {
        self.at..self.at + self.length
    }
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
    /// What a secondary has still to read, by the numbers of our marks.
    unread: BTreeMap<u64, Range<u64>>,
}

#[derive(Debug, Default)]
struct Queue {
    marks: VecDeque<Mark>,
    room: usize,
}

impl Queue {
    fn push(&mut self, mark: Mark) {
        self.room += mark.room();
        self.marks.push_back(mark);
    }

    fn pop(&mut self) -> Option<Mark> {
        let mark = self.marks.pop_front()?;
        self.room -= mark.room();
        Some(mark)
    }
}

impl SharedDisk {
    /// Of a side that follows another, or serves.
    pub fn new(store: Store, reads: Reads, follows: bool) -> io::Result<SharedDisk> {
        let state = Mutex::new(State { follows, ..State::default() });
        Ok(SharedDisk { reads, fence: Fence::new(store)?, state, news: Condvar::new() })
    }

    /// Does what the machine asks. A flush has nothing to do: every write is on the storage before its mark is made.
    pub fn answer(&self, disk: &Disk, request: &Request, decider: &impl Decider) -> io::Result<Vec<u8>> {
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
            if mark.is_of(request) {
                return Ok(Some(mark));
            }
            return Err(differ(request, &mark, decider));
        }
        Ok(None)
    }

    /// What the primary did already.
    fn repeat(&self, disk: &Disk, request: &Request, mark: Mark, decider: &impl Decider) -> io::Result<Vec<u8>> {
        if mark.is_write {
            return Ok(Vec::new());
        }
        if let Some(bytes) = mark.bytes {
            return Ok(bytes);
        }
        let bytes = disk.perform(request)?;
        if hash_of(&bytes) != mark.hash {
            return Err(differ(request, &mark, decider));
        }
        decider.has_read(mark.number);
        Ok(bytes)
    }

    fn perform(&self, disk: &Disk, request: &Request, decider: &impl Decider) -> io::Result<Vec<u8>> {
        let is_write = matches!(request.ask, Ask::Write(_));
        let bytes = match is_write {
            true => self.write(disk, request, decider)?,
            false => disk.perform(request)?,
        };
        self.note(request, &bytes);
        Ok(bytes)
    }

    fn write(&self, disk: &Disk, request: &Request, decider: &impl Decider) -> io::Result<Vec<u8>> {
        self.wait_until_read(request.at..request.at + request.length());
        if !decider.may_write() {
            return Err(io::Error::other("nobody decides any more"));
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
    fn write_if_ours(&self, disk: &Disk, request: &Request, decider: &impl Decider) -> io::Result<io::Result<()>> {
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
        while state.departing.as_ref().is_some_and(|departing| departing.room > MOST) {
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
        self.change(|state| {
            marks = state.departing.as_mut().map_or(Vec::new(), |queue| std::mem::take(queue).marks.into())
        });
        marks
    }

    /// A mark came over the channel. Waits while our machine has more of them than it takes, and log to go on by.
    pub fn arrived(&self, mark: Mark, has_log: impl Fn() -> bool) {
        let mut state = lock(&self.state);
        while state.follows && state.arrived.room > MOST && has_log() {
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

/// Keeps a side from writing that was frozen and does not know that another serves: under the disk's lock, which one
/// side has at a time, it looks whether a generation was given to another. A generation is given before its side writes.
struct Fence {
    store: Store,
    generation: AtomicU64,
}

impl Fence {
    fn new(store: Store) -> io::Result<Fence> {
        let generation = AtomicU64::new(store.generation()?);
        Ok(Fence { store, generation })
    }

    fn is_ours(&self) -> io::Result<bool> {
        loop {
            let next = self.generation.load(Ordering::Acquire) + 1;
            match self.store.is_own(next)? {
                Some(true) => self.generation.store(next, Ordering::Release),
                Some(false) => return Ok(false),
                None => return Ok(true),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::store::Claim;

    const LENGTH: u64 = 4096;

    /// Who decides for a side: lets writes through, and keeps what it is told.
    #[derive(Default)]
    struct Deciding {
        is_live: AtomicBool,
        is_fenced: AtomicBool,
        waits: AtomicU64,
        differs: Mutex<Option<String>>,
        has_read: Mutex<Vec<u64>>,
    }

    impl Decider for Deciding {
        fn failed(&self, _: &io::Error) {}

        fn may_write(&self) -> bool {
            true
        }

        fn waits(&self, _: &io::Error) {
            self.waits.fetch_add(1, Ordering::SeqCst);
        }

        fn is_fenced(&self) {
            self.is_fenced.store(true, Ordering::SeqCst);
        }

        fn diverged(&self, why: String) {
            *lock(&self.differs) = Some(why);
        }

        fn has_read(&self, number: u64) {
            lock(&self.has_read).push(number);
        }

        fn is_live(&self) -> bool {
            self.is_live.load(Ordering::SeqCst)
        }
    }

    /// A side of a pair that shares a disk in a folder.
    struct Side {
        disk: Arc<Disk>,
        decider: Arc<Deciding>,
        store: Store,
    }

    impl Side {
        fn new(folder: &Path, name: &str, reads: Reads, follows: bool) -> Side {
            let place = folder.join("store");
            std::fs::create_dir_all(&place).expect("a folder");
            let store = Store::new(&place, name);
            let shared = SharedDisk::new(store.clone(), reads, follows).expect("a store");
            let disk = Arc::new(Disk::open(&folder.join("disk"), Some(shared)).expect("a disk"));
            Side { disk, decider: Arc::default(), store }
        }

        fn shared(&self) -> &SharedDisk {
            self.disk.shared().expect("shared")
        }

        fn ask(&self, request: &Request) -> io::Result<Vec<u8>> {
            self.shared().answer(&self.disk, request, &*self.decider)
        }

        fn write(&self, at: u64, bytes: &[u8]) -> io::Result<Vec<u8>> {
            self.ask(&Request::new(at, Ask::Write(bytes.to_vec())))
        }

        fn read(&self, at: u64, length: u32) -> Vec<u8> {
            self.ask(&Request::new(at, Ask::Read(length))).expect("read")
        }

        /// Gives all its marks to one that follows.
        fn tell(&self, other: &Side) {
            self.shared().departing().into_iter().for_each(|mark| other.shared().arrived(mark, || false));
        }

        fn go_live(&self) {
            assert!(matches!(self.store.claim(1), Claim::Won));
            self.decider.is_live.store(true, Ordering::SeqCst);
            self.shared().serve();
        }
    }

    /// A primary and its secondary.
    fn pair(folder: &Path, reads: Reads) -> (Side, Side) {
        std::fs::write(folder.join("disk"), vec![0; LENGTH as usize]).expect("written");
        let (primary, secondary) = (Side::new(folder, "a", reads, false), Side::new(folder, "b", reads, true));
        primary.shared().begin();
        primary.shared().is_followed();
        (primary, secondary)
    }

    #[test]
    fn a_secondary_writes_nothing_and_reads_what_was_there_when_its_primary_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (primary, secondary) = pair(folder.path(), Reads::Log);
        primary.write(10, &[1, 2]).expect("written");
        assert_eq!(primary.read(10, 2), [1, 2]);
        primary.write(10, &[3, 4]).expect("written");
        primary.tell(&secondary);
        secondary.write(10, &[1, 2]).expect("dropped");
        assert_eq!(secondary.read(10, 2), [1, 2]);
        secondary.write(10, &[3, 4]).expect("dropped");
        assert_eq!(std::fs::read(folder.path().join("disk")).expect("read")[10..12], [3, 4]);
        assert!(lock(&secondary.decider.differs).is_none());
    }

    #[test]
    fn what_was_under_way_is_done_by_who_goes_live_and_who_was_frozen_writes_no_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let (primary, secondary) = pair(folder.path(), Reads::Log);
        primary.write(0, &[1]).expect("written");
        primary.tell(&secondary);
        secondary.write(0, &[1]).expect("dropped");
        std::thread::scope(|scope| {
            let under_way = scope.spawn(|| secondary.write(1, &[2]));
            std::thread::sleep(4 * LOOK);
            assert!(!under_way.is_finished(), "nobody knows whether the primary did it");
            secondary.go_live();
            under_way.join().expect("no panic").expect("written");
        });
        assert!(primary.write(1, &[9]).is_err());
        assert!(primary.decider.is_fenced.load(Ordering::SeqCst));
        secondary.write(2, &[3]).expect("written");
        assert_eq!(std::fs::read(folder.path().join("disk")).expect("read")[..3], [1, 2, 3]);
    }

    #[test]
    fn what_a_secondary_reads_itself_is_kept_until_it_has() {
        let folder = tempfile::tempdir().expect("a folder");
        let (primary, secondary) = pair(folder.path(), Reads::Secondary);
        assert_eq!(primary.read(10, 4), [0; 4]);
        primary.write(14, &[5]).expect("beside it");
        std::thread::scope(|scope| {
            let overwriting = scope.spawn(|| primary.write(12, &[7]));
            std::thread::sleep(4 * LOOK);
            assert!(!overwriting.is_finished());
            primary.tell(&secondary);
            assert_eq!(secondary.read(10, 4), [0; 4]);
            lock(&secondary.decider.has_read).iter().for_each(|number| primary.shared().has_read(*number));
            overwriting.join().expect("no panic").expect("written");
        });
    }

    #[test]
    fn a_machine_that_asks_for_something_else_differs_and_is_told_where() {
        let folder = tempfile::tempdir().expect("a folder");
        let (primary, secondary) = pair(folder.path(), Reads::Log);
        primary.write(10, &[1, 2]).expect("written");
        primary.tell(&secondary);
        assert!(secondary.ask(&Request::new(12, Ask::Read(2))).is_err());
        let why = lock(&secondary.decider.differs).clone().expect("told");
        assert_eq!(why, "it reads 2 bytes of its disk at 12, the primary writes 2 at 10");
    }

    #[test]
    fn a_machine_that_writes_other_bytes_to_the_same_place_differs() {
        let folder = tempfile::tempdir().expect("a folder");
        let (primary, secondary) = pair(folder.path(), Reads::Log);
        primary.write(10, &[1, 2]).expect("written");
        primary.tell(&secondary);
        assert!(secondary.write(10, &[1, 3]).is_err());
        let why = lock(&secondary.decider.differs).clone().expect("told");
        assert_eq!(why, "it writes other bytes of its disk than the primary, 2 at 10");
    }

    #[test]
    fn nothing_is_written_until_the_store_says_whose_the_disk_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let (primary, _) = pair(folder.path(), Reads::Log);
        let (store, away) = (folder.path().join("store"), folder.path().join("away"));
        std::fs::rename(&store, &away).expect("gone");
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| primary.write(0, &[1]));
            while primary.decider.waits.load(Ordering::SeqCst) == 0 {
                std::thread::sleep(LOOK);
            }
            assert_eq!(std::fs::read(folder.path().join("disk")).expect("read")[0], 0);
            std::fs::rename(&away, &store).expect("back");
            writing.join().expect("no panic").expect("written");
        });
    }

    #[test]
    fn nobody_waits_for_a_secondary_that_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (primary, _) = pair(folder.path(), Reads::Secondary);
        primary.read(0, 8);
        std::thread::scope(|scope| {
            let overwriting = scope.spawn(|| primary.write(0, &[1]));
            std::thread::sleep(4 * LOOK);
            assert!(!overwriting.is_finished());
            primary.shared().forget();
            overwriting.join().expect("no panic").expect("written");
        });
        assert!(primary.shared().departing().is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// What a machine would find on a disk of its own, it finds on one that is shared, wherever its primary dies.
        #[test]
        fn a_disk_outlives_a_primary_that_dies_anywhere(
            asked in proptest::collection::vec((any::<bool>(), 0..LENGTH - 64, 1..64_u32, any::<u8>()), 1..40),
            marked in 0..40_usize,
            is_ahead in any::<bool>(),
            behind in 1..6_usize,
            is_read_by_secondary in any::<bool>(),
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let reads = if is_read_by_secondary { Reads::Secondary } else { Reads::Log };
            let (primary, secondary) = pair(folder.path(), reads);
            // Of one that reads the disk itself a primary cannot be far ahead: it may have to wait.
            let behind = if is_read_by_secondary { 1 } else { behind };
            let requests: Vec<_> = asked.iter().map(|(is_write, at, length, value)| match is_write {
                true => Request::new(*at, Ask::Write(vec![*value; *length as usize])),
                false => Request::new(*at, Ask::Read(*length)),
            }).collect();
            let (marked, under_way) = requests.split_at(marked.min(requests.len()));
            let mut own = vec![0; LENGTH as usize];
            for some in marked.chunks(behind) {
                let found: Vec<_> = some.iter().map(|request| primary.ask(request).expect("done")).collect();
                primary.tell(&secondary);
                for (request, found) in some.iter().zip(found) {
                    let done = secondary.ask(request).expect("done");
                    lock(&secondary.decider.has_read).drain(..).for_each(|number| primary.shared().has_read(number));
                    prop_assert_eq!(&done, &found);
                    prop_assert_eq!(done, request.done_to(&mut own));
                }
            }
            if is_ahead && !under_way.is_empty() {
                primary.ask(&under_way[0]).expect("done, and nobody told");
            }
            secondary.go_live();
            for request in under_way {
                prop_assert_eq!(secondary.ask(request).expect("done"), request.done_to(&mut own));
            }
            prop_assert_eq!(own, std::fs::read(folder.path().join("disk")).expect("read"));
        }
    }
}
