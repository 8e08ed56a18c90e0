//! The fence of a shared disk: only the side that has the latest generation writes.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::Store;

/// Keeps a side from writing that was frozen and does not know that another serves: under the disk's lock, which one
/// side has at a time, it looks whether a generation was given to another. A generation is given before its side writes.
pub struct Fence {
    store: Store,
    generation: AtomicU64,
}

impl Fence {
    /// Of a side that knows of the generations that were given so far.
    pub fn new(store: Store) -> io::Result<Fence> {
        let generation = AtomicU64::new(store.generation()?);
        Ok(Fence { store, generation })
    }

    /// Whether no generation was given to another side.
    pub fn is_ours(&self) -> io::Result<bool> {
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
