//! Who may go on alone: an atomic test-and-set on storage that both sides share, or by a witness that both reach. One file
//! a generation, made by link(2), which either makes it whole or finds it there, on local file systems and on NFS alike
//! (open(2), O_EXCL).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

    /// Whose a generation is; none where it is nobody's.
    fn owner(&self, generation: u64) -> io::Result<Option<String>>;

    /// The last generation that anybody went on with; 0 where nobody did.
    fn generation(&self) -> io::Result<u64>;
}

/// A folder on storage that both sides reach.
#[derive(Clone, Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    fn file(&self, generation: u64) -> PathBuf {
        self.0.join(format!("generation-{generation:08}"))
    }
}

impl Generations for Folder {
    fn claim(&self, own: &str, generation: u64) -> io::Result<Claim> {
        let path = self.file(generation);
        let written = self.0.join(format!(".{own}-{generation:08}"));
        fs::write(&written, own)?;
        let linked = fs::hard_link(&written, &path);
        let _ = fs::remove_file(&written);
        match linked {
            Ok(()) => Ok(Claim::Won),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let owner = fs::read_to_string(&path)?;
                Ok(if owner == own { Claim::Won } else { Claim::Lost { owner } })
            }
            Err(error) => Err(error),
        }
    }

    fn owner(&self, generation: u64) -> io::Result<Option<String>> {
        match fs::read_to_string(self.file(generation)) {
            Ok(owner) => Ok(Some(owner)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.0.metadata()?; // a store that is gone says nothing
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn generation(&self) -> io::Result<u64> {
        let names = fs::read_dir(&self.0)?.collect::<io::Result<Vec<_>>>()?;
        let numbers = names
            .iter()
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("generation-")?.parse::<u64>().ok());
        Ok(numbers.max().unwrap_or(0))
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
        Store::at(Arc::new(Folder(folder.to_owned())), own)
    }

    /// The same, wherever they are.
    pub fn at(place: Arc<dyn Generations>, own: &str) -> Self {
        Store { place, own: own.to_owned() }
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
}
