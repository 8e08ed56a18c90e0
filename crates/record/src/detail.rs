//! What explains an operation's times: the slowest of its kind, what its answers' statuses were, how its files came.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::CommonWords;

/// The longest time of its kind, and when it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slowest {
    pub time_ns: u64,
    pub at_ns: u64,
}

impl Slowest {
    /// Counts another time.
    pub fn record(&mut self, time_ns: u64, at_ns: u64) {
        self.merge(&Slowest { time_ns, at_ns });
    }

    /// The longer of the two; of equal ones the earlier, so that the order in which threads are asked does not matter.
    pub fn merge(&mut self, other: &Slowest) {
        let is_earlier = other.time_ns == self.time_ns && other.at_ns < self.at_ns;
        if other.time_ns > self.time_ns || is_earlier {
            *self = *other;
        }
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

/// One embedded file of an operation in the steady state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTotals {
    pub requests: u64,
    pub not_modified: u64,
    pub bytes: u64,
    /// Sum of its times, from the request to the last byte.
    pub sum_ns: u128,
    pub slowest: Slowest,
}

impl FileTotals {
    fn add(&mut self, sample: &FileSample) {
        let time_ns = sample.end_ns.saturating_sub(sample.begun_ns);
        self.requests += 1;
        self.not_modified += u64::from(sample.not_modified);
        self.bytes += sample.bytes;
        self.sum_ns += u128::from(time_ns);
        self.slowest.record(time_ns, sample.begun_ns);
    }

    fn merge(&mut self, other: &FileTotals) {
        self.requests += other.requests;
        self.not_modified += other.not_modified;
        self.bytes += other.bytes;
        self.sum_ns += other.sum_ns;
        self.slowest.merge(&other.slowest);
    }
}

/// Of an operation in the steady state.
#[derive(Clone, Debug, Default)]
pub struct Detail {
    /// How often each status ended its page, errors too; 0 where no answer came.
    pub statuses: BTreeMap<u16, u64>,
    pub slowest: Slowest,
    /// Its embedded files by their places; shorter where the last never came.
    pub files: Vec<FileTotals>,
    /// What the bodies of its first pages have in common, in the steady state or not.
    pub words: CommonWords,
}

impl Detail {
    /// Its statuses, as records have them.
    pub fn status_counts(&self) -> Vec<StatusCount> {
        self.statuses.iter().map(|(&status, &count)| StatusCount { status, count }).collect()
    }

    /// Counts a file that came.
    pub fn file(&mut self, sample: &FileSample) {
        if self.files.len() <= sample.file {
            self.files.resize(sample.file + 1, FileTotals::default());
        }
        self.files[sample.file].add(sample);
    }

    /// Adds what another thread or driver saw.
    pub fn merge(&mut self, other: &Detail) {
        for (&status, count) in &other.statuses {
            *self.statuses.entry(status).or_default() += count;
        }
        self.slowest.merge(&other.slowest);
        self.words.merge(&other.words);
        if self.files.len() < other.files.len() {
            self.files.resize(other.files.len(), FileTotals::default());
        }
        self.files.iter_mut().zip(&other.files).for_each(|(own, added)| own.merge(added));
    }
}

/// How often a status ended an operation's page; 0 where no answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusCount {
    pub status: u16,
    pub count: u64,
}

/// One embedded file, as records have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileRecord {
    /// Its path, with values as `{name}`.
    pub path: String,
    pub requests: u64,
    pub not_modified: u64,
    pub bytes: u64,
    /// From the request to the last byte, on the mean.
    pub mean_ns: f64,
    pub slowest: Slowest,
}

impl FileRecord {
    /// The record of a file from its totals.
    pub fn new(path: &str, totals: &FileTotals) -> Self {
        let FileTotals { requests, not_modified, bytes, sum_ns, slowest } = *totals;
        let mean_ns = if requests == 0 { 0.0 } else { sum_ns as f64 / requests as f64 };
        FileRecord { path: path.to_owned(), requests, not_modified, bytes, mean_ns, slowest }
    }
}

impl From<&FileRecord> for FileTotals {
    fn from(read: &FileRecord) -> Self {
        FileTotals {
            requests: read.requests,
            not_modified: read.not_modified,
            bytes: read.bytes,
            sum_ns: (read.mean_ns * read.requests as f64).round() as u128,
            slowest: read.slowest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(file: usize, begun_ns: u64, time_ns: u64) -> FileSample {
        FileSample { operation: 0, file, begun_ns, end_ns: begun_ns + time_ns, bytes: 10, not_modified: file == 0 }
    }

    #[test]
    fn what_two_threads_saw_is_what_one_would_have_seen() {
        let samples = [sample(0, 5, 100), sample(2, 9, 300), sample(0, 20, 50), sample(2, 30, 200)];
        let seen = |samples: &[FileSample]| {
            let mut detail = Detail::default();
            samples.iter().for_each(|one| detail.file(one));
            detail
        };
        let (whole, mut merged) = (seen(&samples), seen(&samples[..2]));
        merged.merge(&seen(&samples[2..]));
        assert_eq!(merged.files, whole.files);
        assert_eq!(whole.files[2].slowest, Slowest { time_ns: 300, at_ns: 9 });
        assert_eq!((whole.files[0].not_modified, whole.files[2].bytes, whole.files[1].requests), (2, 20, 0));
    }

    #[test]
    fn a_file_is_the_same_when_its_record_is_read() {
        let mut totals = FileTotals::default();
        totals.add(&sample(0, 7, 1000));
        totals.add(&sample(0, 9, 2000));
        assert_eq!(FileTotals::from(&FileRecord::new("/x", &totals)), totals);
    }
}
