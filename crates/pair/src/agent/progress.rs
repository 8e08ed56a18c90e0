//! Whether a secondary that is heard gets on: one that takes no log holds its primary's outputs for good, and one that
//! replays none will not go live. Pure.

use std::time::{Duration, Instant};

/// Longest time for which outputs may wait while the secondary takes none of the log that is there. A patient pair gives
/// it as long as it gives a silent one.
const TAKES: Duration = Duration::from_secs(2);
/// Longest time for which it may replay none of it. Even an idle machine's log grows ten times a second.
const REPLAYS: Duration = Duration::from_secs(10);

/// How far a secondary had come when it last got on.
#[derive(Debug)]
pub struct Progress {
    taken: u64,
    taken_at: Instant,
    replayed: u64,
    replayed_at: Instant,
}

/// How far it is now.
#[derive(Clone, Copy, Debug)]
pub struct Reached {
    /// Length of the log that there is.
    pub written: u64,
    /// That it holds.
    pub received: u64,
    /// That it has replayed.
    pub executed: u64,
    /// Bytes that its end of the channel has brought it.
    pub taken: u64,
    /// For how long an output has waited.
    pub waits: Option<Duration>,
}

impl Progress {
    /// Of one that has just become the secondary.
    pub fn beginning(now: Instant) -> Progress {
        Progress { taken: 0, taken_at: now, replayed: 0, replayed_at: now }
    }

    /// Why it is to be given up; none while it gets on.
    pub fn stuck(&mut self, reached: Reached, patience: Duration, now: Instant) -> Option<&'static str> {
        let Reached { written, received, executed, taken, waits } = reached;
        if self.taken != taken || received >= written {
            (self.taken, self.taken_at) = (taken, now);
        }
        if self.replayed != executed || executed >= written {
            (self.replayed, self.replayed_at) = (executed, now);
        }
        let takes = patience.max(TAKES);
        if waits.is_some_and(|waits| waits > takes) && now.duration_since(self.taken_at) > takes {
            return Some("the secondary takes no log, and outputs wait for that");
        }
        let is_still = now.duration_since(self.replayed_at) > patience.max(REPLAYS);
        is_still.then_some("the secondary replays nothing of what it was sent")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(500);
    const IDLE: Reached = Reached { written: 100, received: 100, executed: 100, taken: 50, waits: None };

    fn at(begun: Instant, ms: u64) -> Instant {
        begun + Duration::from_millis(ms)
    }

    #[test]
    fn one_that_has_all_there_is_may_rest_as_long_as_it_likes() {
        let begun = Instant::now();
        let mut progress = Progress::beginning(begun);
        assert_eq!(progress.stuck(IDLE, PATIENCE, at(begun, 60_000)), None);
        let held = Reached { waits: Some(Duration::from_secs(9)), ..IDLE };
        assert_eq!(
            progress.stuck(held, PATIENCE, at(begun, 120_000)),
            None,
            "it is not the secondary that this waits for"
        );
    }

    #[test]
    fn one_that_takes_no_log_is_given_up_once_an_output_waited_for_that() {
        let begun = Instant::now();
        let mut progress = Progress::beginning(begun);
        let waiting = |ms| Reached { written: 200, waits: Some(Duration::from_millis(ms)), ..IDLE };
        assert_eq!(progress.stuck(waiting(10), PATIENCE, at(begun, 10)), None);
        assert_eq!(progress.stuck(waiting(1900), PATIENCE, at(begun, 1900)), None);
        assert!(progress
            .stuck(waiting(2100), PATIENCE, at(begun, 2100))
            .is_some_and(|why| why.contains("takes no log")));
        let sending = Reached { taken: 60, ..waiting(2200) };
        assert_eq!(progress.stuck(sending, PATIENCE, at(begun, 2200)), None, "a long read is on its way");
    }

    #[test]
    fn one_that_replays_nothing_is_given_up_though_it_takes_all() {
        let begun = Instant::now();
        let mut progress = Progress::beginning(begun);
        let taking = |written| Reached { written, received: written, ..IDLE };
        for second in 1..=10 {
            assert_eq!(progress.stuck(taking(100 + second), PATIENCE, at(begun, 1000 * second)), None);
        }
        assert!(progress
            .stuck(taking(120), PATIENCE, at(begun, 11_100))
            .is_some_and(|why| why.contains("replays nothing")));
        assert_eq!(progress.stuck(Reached { executed: 101, ..taking(120) }, PATIENCE, at(begun, 11_200)), None);
    }

    #[test]
    fn a_patient_pair_gives_a_secondary_more_time() {
        let begun = Instant::now();
        let mut progress = Progress::beginning(begun);
        let waiting = |ms| Reached { written: 200, waits: Some(Duration::from_millis(ms)), ..IDLE };
        assert_eq!(progress.stuck(waiting(10), 6 * PATIENCE, at(begun, 10)), None);
        assert_eq!(progress.stuck(waiting(2900), 6 * PATIENCE, at(begun, 2900)), None);
        assert!(progress.stuck(waiting(3100), 6 * PATIENCE, at(begun, 3100)).is_some());
    }
}
