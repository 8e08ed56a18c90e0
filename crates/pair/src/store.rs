//! Who may go on alone: an atomic test-and-set on storage that both sides share, or by a witness that both reach. One file
//! a generation, made by link(2), which either makes it whole or finds it there, on local file systems and on NFS alike
//! (open(2), O_EXCL).

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::fs::{fstat, fsync, linkat, openat, unlinkat, AtFlags, Dir, Mode, OFlags, CWD};
use rustix::io::Errno;

/// What came of asking for a generation.
#[derive(Debug)]
pub enum Claim {
    /// It is ours, now or since we asked before.
    Won,
    /// It is another's.
    Lost { owner: String },
    /// The store does not answer.
    Unavailable(io::Error),
}

/// Where the generations of a pair are: whoever asks has a name that no other side has.
pub trait Generations: Send + Sync {
    /// Asks for a generation in the name of a side.
    fn claim(&self, own: &str, generation: u64) -> io::Result<Claim>;

    /// Makes what a later claim needs, as far as that can be made beforehand.
    fn prepare(&self, _own: &str) -> io::Result<()> {
        Ok(())
    }

    /// Whose a generation is; none where it is nobody's.
    fn owner(&self, generation: u64) -> io::Result<Option<String>>;

    /// The last generation that anybody went on with; 0 where nobody did.
    fn generation(&self) -> io::Result<u64>;
}

/// Name of the file with a pair's key.
const KEY: &str = "channel-key";

/// The key that all have who may read the store, 64 hexadecimal digits; made by whoever asks first.
pub fn shared_key(folder: &Path) -> io::Result<String> {
    let (path, unfinished) = (folder.join(KEY), folder.join(format!(".{KEY}-{}", std::process::id())));
    if !path.exists() {
        let mut random = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?.write_all(digits.as_bytes())?;
        let linked = fs::hard_link(&unfinished, &path); // in one step, and the first alone
        fs::remove_file(&unfinished)?;
        linked.or_else(|error| if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) })?;
    }
    fs::read_to_string(path)
}

/// A folder on storage that both sides reach. It is opened once: another folder that takes its name later gives nothing.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    opened: Arc<Opened>,
}

/// The open folder, and the files in it that claims are links to. The files are removed with this.
#[derive(Debug, Default)]
struct Opened {
    folder: OnceLock<OwnedFd>,
    prepared: Mutex<HashMap<String, String>>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        let Some(folder) = self.folder.get() else { return };
        let prepared = self.prepared.get_mut().unwrap_or_else(PoisonError::into_inner);
        for file in prepared.values() {
            let _ = unlinkat(folder, file, AtFlags::empty());
        }
    }
}

/// Highest generation: there is always a next one.
const MOST_GENERATIONS: u64 = 1_000_000_000;
/// Longest name of a side, in bytes.
const LONGEST_NAME: u64 = 4096;

impl Folder {
    /// The folder of that name, which is opened when it is first used.
    pub fn at(path: &Path) -> Self {
        Folder { path: path.to_owned(), opened: Arc::default() }
    }

    /// The open folder; an error where its name leads elsewhere by now, since the other side may have that one.
    fn open(&self) -> io::Result<&OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let named = openat(CWD, &self.path, flags, Mode::empty())?;
        let now = fstat(&named)?;
        let opened = self.opened.folder.get_or_init(|| named);
        let then = fstat(opened)?;
        if (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino) {
            return Err(io::Error::other(format!("{} is another folder than before", self.path.display())));
        }
        Ok(opened)
    }

    fn file(generation: u64) -> String {
        format!("generation-{generation:08}")
    }

    /// Who is written there; an error for what is no ordinary file.
    fn read(folder: &OwnedFd, generation: u64) -> io::Result<String> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(folder, Self::file(generation), flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other(format!("{} is not an ordinary file", Self::file(generation))));
        }
        let mut owner = String::new();
        file.take(LONGEST_NAME).read_to_string(&mut owner)?;
        Ok(owner)
    }

    /// The file with a side's name, which a claim links to: written once and to the disk, so that a store that is full
    /// by then takes the claim all the same.
    fn prepared(&self, folder: &OwnedFd, own: &str) -> io::Result<String> {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        let mut prepared = self.opened.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = prepared.get(own) {
            return Ok(file.clone());
        }
        let (number, process) = (WRITTEN.fetch_add(1, Ordering::AcqRel), std::process::id());
        let name = format!(".{own}-{process}-{number}");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(folder, &name, flags, Mode::from_raw_mode(0o666))?);
        if let Err(error) = file.write_all(own.as_bytes()).and_then(|()| file.sync_all()) {
            let _ = unlinkat(folder, &name, AtFlags::empty());
            return Err(error);
        }
        prepared.insert(own.to_owned(), name.clone());
        Ok(name)
    }

    /// Forgets a prepared file that is gone from the folder.
    fn forget(&self, own: &str) {
        self.opened.prepared.lock().unwrap_or_else(PoisonError::into_inner).remove(own);
    }
}

impl Generations for Folder {
    fn claim(&self, own: &str, generation: u64) -> io::Result<Claim> {
        if generation > MOST_GENERATIONS {
            return Err(io::Error::other(format!("{generation} is above the highest generation, {MOST_GENERATIONS}")));
        }
        let folder = self.open()?;
        let file = self.prepared(folder, own)?;
        match linkat(folder, &file, folder, Self::file(generation), AtFlags::empty()) {
            // A host that loses power after its answer must not give the generation again.
            Ok(()) => fsync(folder).map(|()| Claim::Won).map_err(io::Error::from),
            Err(Errno::EXIST) => {
                let owner = Self::read(folder, generation)?;
                Ok(if owner == own { Claim::Won } else { Claim::Lost { owner } })
            }
            Err(error) => {
                self.forget(own);
                Err(error.into())
            }
        }
    }

    fn prepare(&self, own: &str) -> io::Result<()> {
        self.prepared(self.open()?, own).map(drop)
    }

    fn owner(&self, generation: u64) -> io::Result<Option<String>> {
        match Self::read(self.open()?, generation) {
            Ok(owner) => Ok(Some(owner)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn generation(&self) -> io::Result<u64> {
        let names = Dir::read_from(self.open()?)?.collect::<Result<Vec<_>, _>>()?;
        let numbers = names
            .iter()
            .filter_map(|entry| entry.file_name().to_str().ok()?.strip_prefix("generation-")?.parse::<u64>().ok());
        Ok(numbers.filter(|&number| number <= MOST_GENERATIONS).max().unwrap_or(0))
    }
}

/// A pair's generations, as one side sees them.
#[derive(Clone)]
pub struct Store {
    place: Arc<dyn Generations>,
    own: String,
}

impl Store {
    /// The side `own` of the pair whose folder this is; no other side may have the same name.
    pub fn new(folder: &Path, own: &str) -> Self {
        Store::at(Arc::new(Folder::at(folder)), own)
    }

    /// The same, wherever they are.
    pub fn at(place: Arc<dyn Generations>, own: &str) -> Self {
        Store { place, own: own.to_owned() }
    }

    /// Makes what a later claim needs, as far as that can be made beforehand.
    pub fn prepare(&self) -> io::Result<()> {
        self.place.prepare(&self.own)
    }

    /// Asks for a generation.
    pub fn claim(&self, generation: u64) -> Claim {
        self.place.claim(&self.own, generation).unwrap_or_else(Claim::Unavailable)
    }

    /// Whether a generation is ours; none where it is nobody's.
    pub fn is_own(&self, generation: u64) -> io::Result<Option<bool>> {
        Ok(self.place.owner(generation)?.map(|owner| owner == self.own))
    }

    /// The last generation that anybody went on with; 0 where nobody did.
    pub fn generation(&self) -> io::Result<u64> {
        self.place.generation()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_that_ask_at_once_one_gets_it() {
        let folder = tempfile::tempdir().expect("a folder");
        for generation in 1..=20 {
            let won = std::thread::scope(|scope| {
                let asked: Vec<_> = (0..8)
                    .map(|side| {
                        let store = Store::new(folder.path(), &format!("side{side}"));
                        scope.spawn(move || matches!(store.claim(generation), Claim::Won))
                    })
                    .collect();
                asked.into_iter().map(|one| one.join().expect("no panic")).filter(|&won| won).count()
            });
            assert_eq!(won, 1);
        }
        assert_eq!(Store::new(folder.path(), "any").generation().expect("readable"), 20);
    }

    #[test]
    fn all_that_have_one_store_have_one_key_and_nobody_else_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let [folder, other] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let keys: Vec<_> = (0..3).map(|_| shared_key(folder.path()).expect("a key")).collect();
        assert_eq!(keys[0].len(), 64);
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_ne!(shared_key(other.path()).expect("a key"), keys[0]);
        let files: Vec<_> = fs::read_dir(folder.path()).expect("readable").flatten().collect();
        assert_eq!(files.len(), 1);
        assert_eq!(files[0].metadata().expect("there").permissions().mode() & 0o777, 0o600);
        assert!(shared_key(&folder.path().join("gone")).is_err());
    }

    #[test]
    fn what_is_ours_stays_ours_and_a_store_that_is_gone_gives_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::new(folder.path(), "a");
        assert!(matches!(store.claim(1), Claim::Won));
        assert!(matches!(store.claim(1), Claim::Won));
        let other = Store::new(folder.path(), "b");
        assert!(matches!(other.claim(1), Claim::Lost { owner } if owner == "a"));
        assert_eq!(store.is_own(1).expect("readable"), Some(true));
        assert_eq!(other.is_own(1).expect("readable"), Some(false));
        assert_eq!(store.is_own(2).expect("readable"), None);
        let gone = Store::new(&folder.path().join("gone"), "a");
        assert!(matches!(gone.claim(2), Claim::Unavailable(_)));
        assert!(gone.is_own(2).is_err());
    }

    #[test]
    fn a_claim_needs_no_new_inode_and_leaves_its_generation_alone() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().expect("a folder");
        let files = || std::fs::read_dir(folder.path()).expect("readable").map(|entry| entry.expect("an entry").path());
        let store = Store::new(folder.path(), "a");
        store.prepare().expect("prepared");
        let inode = |path: &PathBuf| std::fs::metadata(path).expect("there").ino();
        let before: Vec<u64> = files().map(|path| inode(&path)).collect();
        assert_eq!(before.len(), 1);
        assert!((1..=3).all(|generation| matches!(store.claim(generation), Claim::Won)));
        assert_eq!(files().map(|path| inode(&path)).collect::<Vec<_>>(), [before[0]; 4]);
        drop(store);
        assert_eq!(files().count(), 3);
    }

    #[test]
    fn another_folder_of_the_same_name_gives_nothing() {
        let parent = tempfile::tempdir().expect("a folder");
        let (path, away) = (parent.path().join("store"), parent.path().join("away"));
        std::fs::create_dir(&path).expect("a folder");
        let (a, b) = (Store::new(&path, "a"), Store::new(&path, "b"));
        assert_eq!(b.generation().expect("readable"), 0);
        assert!(matches!(a.claim(1), Claim::Won));
        std::fs::rename(&path, &away).expect("renamed");
        std::fs::create_dir(&path).expect("a folder");
        for side in [&a, &b] {
            assert!(matches!(side.claim(1), Claim::Unavailable(_)));
            assert!(side.generation().is_err() && side.is_own(1).is_err());
        }
        std::fs::remove_dir(&path).expect("removed");
        std::fs::rename(&away, &path).expect("renamed");
        assert!(matches!(b.claim(1), Claim::Lost { owner } if owner == "a"));
    }

    #[test]
    fn links_and_pipes_are_neither_followed_nor_waited_for() {
        let parent = tempfile::tempdir().expect("a folder");
        let (path, precious) = (parent.path().join("store"), parent.path().join("precious"));
        std::fs::create_dir(&path).expect("a folder");
        std::fs::write(&precious, "mine").expect("written");
        let pipe = path.join("generation-00000001");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
        std::os::unix::fs::symlink(&precious, path.join("generation-00000002")).expect("a link");
        std::os::unix::fs::symlink(&precious, path.join(".a-00000003")).expect("a link");
        let store = Store::new(&path, "a");
        assert!(matches!(store.claim(1), Claim::Unavailable(_)) && store.is_own(1).is_err());
        assert!(matches!(store.claim(2), Claim::Unavailable(_)));
        assert!(matches!(store.claim(3), Claim::Won));
        assert_eq!(std::fs::read_to_string(&precious).expect("there"), "mine");
    }

    #[test]
    fn there_is_always_a_next_generation() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::new(folder.path(), "a");
        assert!(matches!(store.claim(u64::MAX), Claim::Unavailable(_)));
        std::fs::write(folder.path().join(format!("generation-{}", u64::MAX)), "b").expect("written");
        assert_eq!(store.generation().expect("readable"), 0);
        assert!(matches!(store.claim(1), Claim::Won));
    }
}
