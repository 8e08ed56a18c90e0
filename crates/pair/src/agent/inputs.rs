//! Frames from the network: to the machine while it serves, kept for a while where it soon may.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::Result;

use super::network::Inlet;
use super::threads::lock;

/// Most frames that are kept.
const KEPT: usize = 4096;

/// Frames from the network: to the machine while it serves, kept for a while where it may soon.
pub struct Inputs {
    inlet: Inlet,
    serves: AtomicBool,
    kept: Mutex<VecDeque<(Instant, Vec<u8>)>>,
}

impl Inputs {
    /// For the machine whose frames are taken at `inlet`.
    pub fn new(inlet: &Path, serves: bool) -> Result<Self> {
        Ok(Inputs { inlet: Inlet::new(inlet)?, serves: AtomicBool::new(serves), kept: Mutex::default() })
    }

    /// Keeps frames from the machine until it serves again.
    pub fn hold(&self) {
        self.serves.store(false, Ordering::Release);
    }

    /// Takes a frame.
    pub fn take(&self, frame: &[u8]) {
        if self.serves.load(Ordering::Acquire) {
            self.inlet.give(frame);
            return;
        }
        let mut kept = lock(&self.kept);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((Instant::now(), frame.to_vec()));
    }

    /// The machine serves from now on; it gets what came since `from`.
    pub fn serve(&self, from: Instant) {
        let mut kept = lock(&self.kept);
        kept.iter().filter(|(at, _)| *at >= from).for_each(|(_, frame)| self.inlet.give(frame));
        kept.clear();
        self.serves.store(true, Ordering::Release);
    }
}
