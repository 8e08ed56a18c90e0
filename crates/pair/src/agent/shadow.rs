//! What a secondary's machine would send if it served: kept until the primary's has left, and compared with it. Pure.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Most frames that are kept: those that may not have left when the primary went.
const KEPT: usize = 512;

/// A frame's hash; both agents are of one build.
pub fn hash_of(frame: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    frame.hash(&mut hasher);
    hasher.finish()
}

/// The suppressed output of one secondary, by the numbers of the primary's frames.
#[derive(Debug, Default)]
pub struct Shadow {
    next: u64,
    kept: VecDeque<(u64, Vec<u8>)>,
    ours: VecDeque<(u64, u64)>,
    theirs: VecDeque<(u64, u64)>,
}

impl Shadow {
    /// Nothing yet, of a machine that begins as the primary's was when it had sent so many frames.
    pub fn beginning_at(frames: u64) -> Self {
        Shadow { next: frames, ..Shadow::default() }
    }

    /// Our machine sent a frame; the number of the first that is not as the primary's.
    pub fn sent(&mut self, frame: Vec<u8>) -> Option<u64> {
        self.ours.push_back((self.next, hash_of(&frame)));
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((self.next, frame));
        self.next += 1;
        self.compare()
    }

    /// The primary's machine sent one.
    pub fn expect(&mut self, number: u64, hash: u64) -> Option<u64> {
        self.theirs.push_back((number, hash));
        self.compare()
    }

    /// All frames before this one have left the primary.
    pub fn left(&mut self, number: u64) {
        while self.kept.front().is_some_and(|(kept, _)| *kept < number) {
            self.kept.pop_front();
        }
    }

    /// What may not have left, in order, and the number of the next.
    pub fn take(&mut self) -> (Vec<Vec<u8>>, u64) {
        (self.kept.drain(..).map(|(_, frame)| frame).collect(), self.next)
    }

    fn compare(&mut self) -> Option<u64> {
        while let (Some(&(ours, hash)), Some(&(theirs, expected))) = (self.ours.front(), self.theirs.front()) {
            if ours <= theirs {
                self.ours.pop_front();
            }
            if theirs <= ours {
                self.theirs.pop_front();
            }
            if ours == theirs && hash != expected {
                return Some(ours);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_output_is_no_divergence_whoever_is_ahead() {
        let mut shadow = Shadow::beginning_at(5);
        assert_eq!(shadow.sent(vec![1]), None);
        assert_eq!(shadow.expect(5, hash_of(&[1])), None);
        assert_eq!(shadow.expect(6, hash_of(&[2])), None);
        assert_eq!(shadow.sent(vec![2]), None);
        shadow.left(6);
        assert_eq!(shadow.take(), (vec![vec![2]], 7));
    }

    #[test]
    fn the_first_frame_that_differs_is_named_and_frames_before_the_first_told_are_not() {
        let mut shadow = Shadow::default();
        assert_eq!(shadow.sent(vec![0]), None);
        assert_eq!(shadow.sent(vec![1]), None);
        assert_eq!(shadow.expect(1, hash_of(&[1])), None);
        assert_eq!(shadow.expect(2, hash_of(&[9])), None);
        assert_eq!(shadow.sent(vec![2]), Some(2));
    }
}
