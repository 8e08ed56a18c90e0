//! When the log was how long: what the lag is reckoned from. Pure.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Most marks; lag beyond them is not told more exactly.
const MOST: usize = 10_000;

/// Lengths of the log and when it had them, of what the secondary has not replayed.
#[derive(Debug, Default)]
pub struct Marks(VecDeque<(u64, Instant)>);

impl Marks {
    /// The log is so long at this instant.
    pub fn mark(&mut self, length: u64, now: Instant) {
        if self.0.back().is_none_or(|(marked, _)| *marked < length) && self.0.len() < MOST {
            self.0.push_back((length, now));
        }
    }

    /// The secondary has replayed so much at this instant; how long ago each mark that it passed was made.
    pub fn replayed(&mut self, length: u64, now: Instant) -> impl Iterator<Item = Duration> + '_ {
        let passed = self.0.iter().take_while(|(marked, _)| *marked <= length).count();
        self.0.drain(..passed).map(move |(_, at)| now.saturating_duration_since(at))
    }

    /// For how long there has been log that the secondary has not replayed.
    pub fn lag(&self, now: Instant) -> Duration {
        self.0.front().map_or(Duration::ZERO, |(_, at)| now.saturating_duration_since(*at))
    }

    /// Nobody follows any more.
    pub fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_is_the_age_of_the_oldest_log_that_was_not_replayed() {
        let (mut marks, begun) = (Marks::default(), Instant::now());
        let at = |ms| begun + Duration::from_millis(ms);
        marks.mark(100, at(0));
        marks.mark(100, at(10)); // nothing new
        marks.mark(200, at(20));
        assert_eq!(marks.lag(at(50)), Duration::from_millis(50));
        assert_eq!(marks.replayed(150, at(50)).collect::<Vec<_>>(), [Duration::from_millis(50)]);
        assert_eq!(marks.lag(at(50)), Duration::from_millis(30));
        assert_eq!(marks.replayed(200, at(60)).count(), 1);
        assert_eq!(marks.lag(at(99)), Duration::ZERO);
    }
}
