//! What is dealt evenly instead of drawn, so that a short run has the declared shares too: of any n, n x share, give or
//! take one. Each user has hands of its own: what one is dealt does not depend on how fast others were.

use std::cell::Cell;

use loadstone_schedule::rng::{Purpose, Stream};

/// What one user was dealt so far.
pub struct Dealt {
    seed: u64,
    who: u64,
    /// How often each operation was performed.
    performed: Vec<u64>,
    /// TLS connections after the first of all.
    handshakes: Cell<u64>,
}

/// Of the first hand there is one for each remembered file; this is the hand of TLS connections.
const HANDSHAKES: u64 = u64::MAX;
/// That of visits whose browsers have all files.
const WARM: u64 = u64::MAX - 1;
/// The golden ratio's fraction: its multiples are spread most evenly (Weyl).
const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl Dealt {
    /// Nothing yet, to user number `who`.
    pub fn new(seed: u64, who: u64, operations: usize) -> Self {
        Dealt { seed, who, performed: vec![0; operations], handshakes: Cell::new(0) }
    }

    /// Another user: nothing yet.
    pub fn renew(&mut self, who: u64) {
        self.who = who;
        self.performed.fill(0);
        self.handshakes.set(0);
    }

    /// The operation is performed; returns how often it was before.
    pub fn perform(&mut self, operation: usize) -> u64 {
        self.performed[operation] += 1;
        self.performed[operation] - 1
    }

    /// Whether the user's request number `turn` for a file is conditional.
    pub fn is_conditional(&self, file: u64, turn: u64, share: f64) -> bool {
        self.is_dealt(file, turn, share)
    }

    /// Whether the user's visit number `turn` begins with all files in the browser.
    pub fn is_warm(&self, turn: u64, share: f64) -> bool {
        self.is_dealt(WARM, turn, share)
    }

    /// Whether the next TLS connection is one of those declared not to resume.
    pub fn full_handshake(&self, share: f64) -> bool {
        let turn = self.handshakes.replace(self.handshakes.get() + 1);
        self.is_dealt(HANDSHAKES, turn, share)
    }

    fn is_dealt(&self, hand: u64, turn: u64, share: f64) -> bool {
        // Users follow each other in steps of the golden ratio, so that the first requests of many are dealt evenly too.
        let first = Stream::new(self.seed, hand, Purpose::Embedded).unit();
        let begin = (first + self.who as f64 * GOLDEN).fract();
        let before = (begin + turn as f64 * share).floor();
        (begin + (turn + 1) as f64 * share).floor() > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_any_ten_three_are_dealt_to_every_user() {
        for who in 0..20 {
            let dealt = Dealt::new(1, who, 1);
            let asked = (0..100).map(|turn| dealt.is_conditional(5, turn, 0.3)).collect::<Vec<_>>();
            assert!(asked.windows(10).all(|ten| ten.iter().filter(|&&asks| asks).count() == 3), "{asked:?}");
        }
    }

    #[test]
    fn users_and_files_begin_differently_and_the_same_ones_alike() {
        let first = |who, file| (0..10).position(|turn| Dealt::new(1, who, 1).is_conditional(file, turn, 0.1));
        let begins: Vec<_> = (0..200).map(|who| first(who, 0)).collect();
        assert!((0..10).all(|at| begins.contains(&Some(at))));
        assert!((0..200).any(|who| first(who, 1) != begins[who as usize]));
        assert_eq!(first(7, 3), first(7, 3));
    }

    #[test]
    fn the_first_requests_of_many_users_are_dealt_evenly() {
        for file in 0..20 {
            let asked = (0..100).filter(|&who| Dealt::new(1, who, 1).is_conditional(file, 0, 0.3)).count();
            assert!(asked.abs_diff(30) <= 2, "{asked}");
        }
    }

    #[test]
    fn a_new_user_starts_over() {
        let mut dealt = Dealt::new(1, 1, 2);
        assert_eq!([dealt.perform(1), dealt.perform(1), dealt.perform(0)], [0, 1, 0]);
        dealt.full_handshake(0.5);
        dealt.renew(1);
        let fresh = Dealt::new(1, 1, 2);
        assert_eq!(dealt.full_handshake(0.5), fresh.full_handshake(0.5));
        assert_eq!(dealt.perform(1), 0);
    }
}
