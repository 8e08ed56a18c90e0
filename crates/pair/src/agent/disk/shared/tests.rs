use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    disk: DiskFile,
    shared: SharedDisk,
    decider: Arc<Deciding>,
    store: Store,
}

impl Side {
    fn new(folder: &Path, name: &str, reads: Reads, follows: bool) -> Side {
        let place = folder.join("store");
        std::fs::create_dir_all(&place).expect("a folder");
        let store = Store::new(&place, name);
        let shared = SharedDisk::new(store.clone(), reads, follows).expect("a store");
        let disk = DiskFile::open(&folder.join("disk"), libc::O_DSYNC).expect("a disk");
        Side { disk, shared, decider: Arc::default(), store }
    }

    fn shared(&self) -> &SharedDisk {
        &self.shared
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
fn a_machine_that_writes_other_bytes_in_many_places_differs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (primary, secondary) = pair(folder.path(), Reads::Log);
    let write_both = |at: u64, ours: [u8; 2]| {
        primary.write(at, &[1, 2]).expect("written");
        primary.tell(&secondary);
        secondary.write(at, &ours)
    };
    for _ in 0..3 {
        // Blocks that a file system changes while they are written: it writes them again.
        for place in 0..MOST_DIFFERING as u64 {
            write_both(10 * place, [1, 3]).expect("may be so");
        }
        for place in 0..MOST_DIFFERING as u64 {
            write_both(10 * place, [1, 2]).expect("the same");
        }
    }
    for place in 0..MOST_DIFFERING as u64 {
        write_both(10 * place, [1, 3]).expect("may be so");
    }
    primary.read(0, 2);
    primary.tell(&secondary);
    secondary.read(0, 2); // a place that is read was not written alike
    assert!(write_both(10 * MOST_DIFFERING as u64, [1, 3]).is_err());
    let why = lock(&secondary.decider.differs).clone().expect("told");
    assert_eq!(why, format!("it writes other bytes of its disk than the primary, 2 at {}", 10 * MOST_DIFFERING));
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
