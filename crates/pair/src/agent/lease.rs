//! For how long a pair lives on without a keeper. Pure.

use std::time::{Duration, Instant};

/// Shortest wait for the first keeper, which starts the agent before it connects.
const FIRST: Duration = Duration::from_secs(30);

/// Whether somebody keeps the pair, and since when nobody does.
#[derive(Debug)]
pub struct Lease {
    /// None: for good.
    length: Option<Duration>,
    /// Number of the latest keeper; 0 before the first.
    keeper: u64,
    /// When the lease ends; none while there is a keeper, or where it never ends.
    ends: Option<Instant>,
}

impl Lease {
    /// Of an agent that was started now, and has no keeper yet.
    pub fn beginning(length: Option<Duration>, now: Instant) -> Lease {
        Lease { length, keeper: 0, ends: length.map(|length| now + length.max(FIRST)) }
    }

    /// The keeper of this number is there; it replaces earlier ones.
    pub fn begin_keeping(&mut self, number: u64) {
        if number > self.keeper {
            (self.keeper, self.ends) = (number, None);
        }
    }

    /// The keeper of this number is gone; whether nobody keeps the pair by that.
    pub fn stop_keeping(&mut self, number: u64, now: Instant) -> bool {
        let is_latest = number == self.keeper;
        if is_latest {
            self.ends = self.length.map(|length| now + length);
        }
        is_latest
    }

    /// Whether nobody has kept the pair for too long.
    pub fn is_over(&self, now: Instant) -> bool {
        self.ends.is_some_and(|ends| now >= ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_lease_counts_from_the_end_of_the_latest_keeper_and_another_renews_it() {
        let begun = Instant::now();
        let at = |minutes: u32| begun + minutes * MINUTE;
        let mut lease = Lease::beginning(Some(2 * MINUTE), begun);
        lease.begin_keeping(1);
        assert!(!lease.is_over(at(100)), "it is kept");
        assert!(lease.stop_keeping(1, at(100)));
        assert!(!lease.is_over(at(101)));
        lease.begin_keeping(2);
        assert!(!lease.is_over(at(200)));
        lease.begin_keeping(3);
        assert!(!lease.stop_keeping(2, at(200)), "the third keeper took over from it");
        assert!(!lease.is_over(at(300)));
        assert!(lease.stop_keeping(3, at(300)));
        assert!(!lease.is_over(at(302) - Duration::from_nanos(1)));
        assert!(lease.is_over(at(302)));
    }

    #[test]
    fn no_lease_lasts_for_good_and_the_shortest_waits_for_the_first_keeper() {
        let begun = Instant::now();
        let mut endless = Lease::beginning(None, begun);
        endless.begin_keeping(1);
        assert!(endless.stop_keeping(1, begun));
        assert!(!endless.is_over(begun + 1_000_000 * MINUTE));
        let mut none = Lease::beginning(Some(Duration::ZERO), begun);
        assert!(!none.is_over(begun + FIRST - Duration::from_nanos(1)));
        assert!(none.is_over(begun + FIRST));
        none.begin_keeping(1);
        assert!(none.stop_keeping(1, begun + MINUTE));
        assert!(none.is_over(begun + MINUTE));
    }
}
