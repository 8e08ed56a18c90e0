//! What explains an operation's times: the slowest of its kind, and how its files came.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::total::{Total, Unreadable};

/// The longest time of its kind, and when it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slowest {
    pub time_ns: u64,
    pub at_ns: u64,
}

impl Slowest {
    /// Counts another time.
    pub fn add(&mut self, time_ns: u64, at_ns: u64) {
        self.merge(&Slowest { time_ns, at_ns });
    }
}

/// The longer of the two; of equal ones the earlier, so that the order in which threads are merged does not matter.
impl Total for Slowest {
    type Record = Self;

    fn merge(&mut self, other: &Slowest) {
        let is_earlier = other.time_ns == self.time_ns && other.at_ns < self.at_ns;
        if other.time_ns > self.time_ns || is_earlier {
            *self = *other;
        }
    }

    fn to_record(&self) -> Self {
        *self
    }

    fn from_record(record: Self) -> Result<Self, Unreadable> {
        Ok(record)
    }
}

/// An embedded file that came: what was asked, and how long it took, from its request to its last byte.
#[derive(Clone, Copy, Debug)]
pub struct FileSample {
    /// Its operation and its place among the files of it.
    pub operation: usize,
    pub file: usize,
    pub begun_ns: u64,
    pub end_ns: u64,
    pub bytes: u64,
    pub not_modified: bool,
}

additive! {
    /// One embedded file of an operation in the steady state; its time is from the request to the last byte.
    FileTotals as FileRecord [
        /// Its path, with values as `{name}`.
        path: String,
    ] {
        requests: u64,
        not_modified: u64,
        bytes: u64,
        /// Sum of its times.
        sum_ns: u128,
        slowest: Slowest,
    }
}

impl FileTotals {
    /// Counts one that came.
    pub(crate) fn add(&mut self, sample: &FileSample) {
        let time_ns = sample.end_ns.saturating_sub(sample.begun_ns);
        self.requests += 1;
        self.not_modified += u64::from(sample.not_modified);
        self.bytes += sample.bytes;
        self.sum_ns += u128::from(time_ns);
        self.slowest.add(time_ns, sample.begun_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::OperationTotals;

    fn sample(file: usize, begun_ns: u64, time_ns: u64) -> FileSample {
        FileSample { operation: 0, file, begun_ns, end_ns: begun_ns + time_ns, bytes: 10, not_modified: file == 0 }
    }

    #[test]
    fn what_two_threads_saw_is_what_one_would_have_seen() {
        let samples = [sample(0, 5, 100), sample(2, 9, 300), sample(0, 20, 50), sample(2, 30, 200)];
        let seen = |samples: &[FileSample]| {
            let mut totals = OperationTotals::default();
            samples.iter().for_each(|sample| totals.add_file(sample));
            totals
        };
        let (whole, mut merged) = (seen(&samples), seen(&samples[..2]));
        merged.merge(&seen(&samples[2..]));
        let figures = |totals: &OperationTotals| serde_json::to_value(totals.files.to_record()).expect("plain data");
        assert_eq!(figures(&merged), figures(&whole));
        assert_eq!(whole.files[2].slowest, Slowest { time_ns: 300, at_ns: 9 });
        assert_eq!((whole.files[0].not_modified, whole.files[2].bytes, whole.files[1].requests), (2, 20, 0));
        assert_eq!(whole.files[0].sum_ns, 150);
    }

    #[test]
    fn of_equal_times_the_earlier_is_kept_in_any_order() {
        let slowest = |times: &[(u64, u64)]| {
            let mut slowest = Slowest::default();
            times.iter().for_each(|&(time_ns, at_ns)| slowest.add(time_ns, at_ns));
            slowest.to_record()
        };
        let expected = Slowest { time_ns: 5, at_ns: 3 };
        assert_eq!(slowest(&[(5, 9), (4, 1), (5, 3)]), expected);
        assert_eq!(slowest(&[(5, 3), (5, 9), (4, 1)]), expected);
        assert_eq!(slowest(&[(5, 3), (7, 11)]), Slowest { time_ns: 7, at_ns: 11 });
    }
}
