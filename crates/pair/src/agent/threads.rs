//! Threads by their names, and locks that outlive a thread that panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;

/// Starts a thread of this name.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
    Ok(())
}

/// A mutex whose holder panicked is still what it was: what it guards is written in single steps.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
