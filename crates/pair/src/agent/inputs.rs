//! Frames from the network: to the machine while it serves, kept for a while where it soon may.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::Result;

use super::network::Inlet;
use super::shadow::hash_of;
use super::threads::lock;

/// Most frames that are kept.
const KEPT: usize = 4096;

/// Frames that the machine was not given, without those that its log brings it. Pure.
#[derive(Debug, Default)]
struct Ungiven {
    kept: VecDeque<(Instant, u64, Vec<u8>)>,
    /// Hashes of frames in the log that have not come from the network yet.
    logged: VecDeque<u64>,
}

impl Ungiven {
    /// A frame came from the network.
    fn take(&mut self, now: Instant, frame: &[u8]) {
        let hash = hash_of(frame);
        if let Some(at) = self.logged.iter().position(|logged| *logged == hash) {
            self.logged.drain(..=at); // frames come in one order: those before it never will
            return;
        }
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((now, hash, frame.to_vec()));
    }

    /// The log brings the machine a frame.
    fn is_logged(&mut self, frame: &[u8]) {
        let hash = hash_of(frame);
        if let Some(at) = self.kept.iter().position(|(_, kept, _)| *kept == hash) {
            self.kept.remove(at);
            return;
        }
        if self.logged.len() == KEPT {
            self.logged.pop_front();
        }
        self.logged.push_back(hash);
    }

    /// The frames that came since `from`, in order; none is left.
    fn drain_since(&mut self, from: Instant) -> impl Iterator<Item = Vec<u8>> + '_ {
        self.logged.clear();
        self.kept.drain(..).filter(move |(at, ..)| *at >= from).map(|(.., frame)| frame)
    }
}

/// Frames from the network: to the machine while it serves, kept for a while where it may soon.
pub struct Inputs {
    inlet: Inlet,
    serves: AtomicBool,
    ungiven: Mutex<Ungiven>,
}

impl Inputs {
    /// For the machine whose frames are taken at `inlet`.
    pub fn new(inlet: &Path, serves: bool) -> Result<Self> {
        Ok(Inputs { inlet: Inlet::new(inlet)?, serves: AtomicBool::new(serves), ungiven: Mutex::default() })
    }

    /// Keeps frames from the machine until it serves again.
    pub fn hold(&self) {
        self.serves.store(false, Ordering::Release);
    }

    /// Takes a frame.
    pub fn take(&self, frame: &[u8]) {
        match self.serves.load(Ordering::Acquire) {
            true => self.inlet.give(frame),
            false => lock(&self.ungiven).take(Instant::now(), frame),
        }
    }

    /// The log brings the machine, which replays, these frames.
    pub fn are_logged<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) {
        let mut ungiven = lock(&self.ungiven);
        frames.for_each(|frame| ungiven.is_logged(frame));
    }

    /// The machine serves from now on; it gets what came since `from`.
    pub fn serve(&self, from: Instant) {
        let mut ungiven = lock(&self.ungiven);
        ungiven.drain_since(from).for_each(|frame| self.inlet.give(&frame));
        self.serves.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn frames(numbers: &[u8]) -> Vec<Vec<u8>> {
        numbers.iter().map(|number| vec![*number; 60]).collect()
    }

    /// What is given to a machine that begins to serve, after these frames from the network and from the log.
    fn given(events: &[(bool, u8)]) -> Vec<Vec<u8>> {
        let (mut ungiven, now) = (Ungiven::default(), Instant::now());
        for &(is_logged, number) in events {
            match is_logged {
                true => ungiven.is_logged(&[number; 60]),
                false => ungiven.take(now, &[number; 60]),
            }
        }
        ungiven.drain_since(now).collect()
    }

    #[test]
    fn a_frame_that_the_log_brings_is_given_no_second_time_whichever_comes_first() {
        let (network, log) = (false, true);
        assert_eq!(given(&[(network, 1), (network, 2), (log, 1), (network, 3)]), frames(&[2, 3]));
        assert_eq!(given(&[(log, 1), (log, 2), (network, 1), (network, 2), (network, 3)]), frames(&[3]));
        assert_eq!(given(&[(network, 7), (network, 7), (log, 7)]), frames(&[7]), "the same content twice");
        assert_eq!(given(&[(log, 7), (network, 7), (network, 7)]), frames(&[7]));
        assert_eq!(given(&[(log, 5), (log, 6), (network, 6), (network, 5)]), frames(&[5]), "5 was lost before");
    }

    #[test]
    fn only_frames_of_the_window_are_given_and_the_oldest_are_dropped() {
        let (mut ungiven, begun) = (Ungiven::default(), Instant::now());
        ungiven.take(begun, &[1; 60]);
        ungiven.take(begun + Duration::from_millis(5), &[2; 60]);
        assert_eq!(ungiven.drain_since(begun + Duration::from_millis(1)).collect::<Vec<_>>(), frames(&[2]));
        assert_eq!(ungiven.drain_since(begun).count(), 0);
        for number in 0..=KEPT {
            ungiven.take(begun, &number.to_be_bytes());
            ungiven.is_logged(&(number + KEPT).wrapping_neg().to_be_bytes());
        }
        assert_eq!((ungiven.kept.len(), ungiven.logged.len()), (KEPT, KEPT));
        assert_eq!(ungiven.drain_since(begun).next(), Some(1_usize.to_be_bytes().to_vec()));
    }
}
