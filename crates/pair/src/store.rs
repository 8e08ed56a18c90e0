//! Who may go on alone: an atomic test-and-set on storage that both sides share. One file a generation, made by link(2),
//! which either makes it whole or finds it there, on local file systems and on NFS alike (open(2), O_EXCL).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

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

/// A pair's folder on the shared storage, as one side sees it.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    own: String,
}

impl Store {
    /// The side `own` of the pair whose folder this is; no other side may have the same name.
    pub fn new(folder: &Path, own: &str) -> Self {
        Store { folder: folder.to_owned(), own: own.to_owned() }
    }

    /// Asks for a generation.
    pub fn claim(&self, generation: u64) -> Claim {
        match self.try_claim(generation) {
            Ok(claim) => claim,
            Err(error) => Claim::Unavailable(error),
        }
    }

    fn try_claim(&self, generation: u64) -> io::Result<Claim> {
        let path = self.folder.join(format!("generation-{generation:08}"));
        let own = self.folder.join(format!(".{}-{generation:08}", self.own));
        fs::write(&own, &self.own)?;
        let linked = fs::hard_link(&own, &path);
        let _ = fs::remove_file(&own);
        match linked {
            Ok(()) => Ok(Claim::Won),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let owner = fs::read_to_string(&path)?;
                Ok(if owner == self.own { Claim::Won } else { Claim::Lost { owner } })
            }
            Err(error) => Err(error),
        }
    }

    /// Whether a generation is ours; none where it is nobody's.
    pub fn is_own(&self, generation: u64) -> io::Result<Option<bool>> {
        match fs::read_to_string(self.folder.join(format!("generation-{generation:08}"))) {
            Ok(owner) => Ok(Some(owner == self.own)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.folder.metadata()?; // a store that is gone says nothing
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The last generation that anybody went on with; 0 where nobody did.
    pub fn generation(&self) -> io::Result<u64> {
        let names = fs::read_dir(&self.folder)?.collect::<io::Result<Vec<_>>>()?;
        let numbers = names
            .iter()
            .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("generation-")?.parse::<u64>().ok());
        Ok(numbers.max().unwrap_or(0))
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
