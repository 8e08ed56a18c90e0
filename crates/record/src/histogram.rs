//! Histograms of times: HdrHistogram from 1 us to 10 minutes with three significant digits.

use base64::Engine;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::total::{Total, Unreadable};

/// Smallest and largest time that can be told apart, in microseconds.
pub const LOWEST_US: u64 = 1;
/// The longest time that is told apart, in microseconds: ten minutes; longer ones count as this.
pub const HIGHEST_US: u64 = 600_000_000;
/// Significant digits kept.
pub const DIGITS: u8 = 3;

/// A HdrHistogram of microseconds in its standard compressed base64 form, with the figures most asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EncodedHistogram {
    pub count: u64,
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
    /// Times above ten minutes, kept as ten minutes.
    pub clamped: u64,
    /// Empty where there is no sample.
    pub hdr: String,
}

/// Times in nanoseconds in, counts by microsecond kept. One without a sample takes no memory.
#[derive(Clone, Debug, Default)]
pub struct TimeHistogram {
    /// None until a time is recorded: its counts take 172 KB.
    inner: Option<Histogram<u64>>,
    /// Exact sum of everything recorded, in nanoseconds.
    pub sum_ns: u128,
    /// Times above the range, recorded as the largest one.
    pub clamped: u64,
}

/// No counts, and room for all.
#[allow(clippy::expect_used)] // constants, checked by every test that makes one
fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(LOWEST_US, HIGHEST_US, DIGITS).expect("constant bounds are valid")
}

impl TimeHistogram {
    /// Empty.
    pub fn new() -> Self {
        Self::default()
    }

    fn counts(&mut self) -> &mut Histogram<u64> {
        self.inner.get_or_insert_with(empty)
    }

    /// Counts a time in nanoseconds, cut to whole microseconds.
    pub fn record(&mut self, time_ns: u64) {
        let time_us = (time_ns / 1000).max(LOWEST_US);
        self.clamped += u64::from(time_us > HIGHEST_US);
        self.sum_ns += u128::from(time_ns);
        self.counts().saturating_record(time_us);
    }

    /// Counts the same time, in nanoseconds, `count` times.
    pub fn record_many(&mut self, time_ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        let time_us = (time_ns / 1000).max(LOWEST_US);
        self.clamped += if time_us > HIGHEST_US { count } else { 0 };
        self.sum_ns += u128::from(time_ns) * u128::from(count);
        self.counts().saturating_record_n(time_us, count);
    }

    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        if self.count() == 0 {
            return;
        }
        self.counts().reset();
        self.sum_ns = 0;
        self.clamped = 0;
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.inner.as_ref().map_or(0, Histogram::len)
    }

    /// Time in nanoseconds below which `share` (0 to 1) of the recorded times lie.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        self.inner.as_ref().map_or(0, |counts| counts.value_at_quantile(share) * 1000)
    }

    /// The standard exchange form: V2, compressed, base64 (as HdrHistogram logs carry it); empty without a sample.
    pub fn encode(&self) -> String {
        let Some(counts) = &self.inner else { return String::new() };
        let mut bytes = Vec::new();
        match V2DeflateSerializer::new().serialize(counts, &mut bytes) {
            Ok(_) => base64::engine::general_purpose::STANDARD.encode(bytes),
            Err(_) => String::new(), // a Vec takes all; an empty text is refused by every reader
        }
    }

    /// Reads what `encode` wrote.
    pub fn decode(text: &str) -> Result<Self, Unreadable> {
        let unreadable = |error: &dyn std::fmt::Display| Unreadable(error.to_string());
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).map_err(|error| unreadable(&error))?;
        let read: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| unreadable(&error))?;
        let mut histogram = TimeHistogram::new();
        histogram.counts().add(&read).map_err(|error| unreadable(&error))?;
        Ok(histogram)
    }
}

impl Total for TimeHistogram {
    type Record = EncodedHistogram;

    /// Nothing is lost: both have the same bounds.
    fn merge(&mut self, other: &TimeHistogram) {
        if let Some(counts) = &other.inner {
            let merged = self.counts().add(counts);
            debug_assert!(merged.is_ok());
        }
        self.sum_ns += other.sum_ns;
        self.clamped += other.clamped;
    }

    fn to_record(&self) -> EncodedHistogram {
        let count = self.count();
        if count == 0 {
            return EncodedHistogram::default();
        }
        EncodedHistogram {
            count,
            mean_ns: self.sum_ns as f64 / count as f64,
            p50_ns: self.quantile_ns(0.5),
            p99_ns: self.quantile_ns(0.99),
            max_ns: self.quantile_ns(1.0),
            clamped: self.clamped,
            hdr: self.encode(),
        }
    }

    /// All counts are kept; the exact sum is the mean times the count, as far as a float holds it.
    fn from_record(record: EncodedHistogram) -> Result<Self, Unreadable> {
        let mut histogram = match record.count {
            0 => TimeHistogram::new(),
            _ => TimeHistogram::decode(&record.hdr)?,
        };
        if histogram.count() != record.count {
            return Err(Unreadable(format!("{} counts instead of {}", histogram.count(), record.count)));
        }
        histogram.sum_ns = (record.mean_ns * record.count as f64).round() as u128;
        histogram.clamped = record.clamped;
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_loses_nothing() {
        let (mut left, mut right) = (TimeHistogram::new(), TimeHistogram::new());
        (1..=1000u64).for_each(|i| left.record(i * 1_000_000));
        (1001..=2000u64).for_each(|i| right.record(i * 1_000_000));
        left.merge(&right);
        assert_eq!(left.count(), 2000);
        let median = left.quantile_ns(0.5) as f64;
        assert!((median / 1e9 - 1.0).abs() < 0.002, "{median}");
    }

    #[test]
    fn times_beyond_ten_minutes_are_counted_and_marked() {
        let mut histogram = TimeHistogram::new();
        histogram.record(700_000_000_000);
        assert_eq!((histogram.count(), histogram.clamped), (1, 1));
    }

    #[test]
    fn ten_minutes_are_told_apart_and_the_sum_is_exact() {
        let mut histogram = TimeHistogram::new();
        histogram.record(600_000_000_000);
        histogram.record(600_000_001_000);
        histogram.record(999);
        assert_eq!((histogram.count(), histogram.clamped, histogram.sum_ns), (3, 1, 1_200_000_001_999));
        assert_eq!(histogram.quantile_ns(0.0), 1000);
        let mut other = histogram.clone();
        other.merge(&histogram);
        assert_eq!((other.count(), other.clamped, other.sum_ns), (6, 2, 2_400_000_003_998));
        other.clear();
        assert_eq!((other.count(), other.clamped, other.sum_ns), (0, 0, 0));
    }

    #[test]
    fn a_histogram_is_read_back_as_it_was_written() {
        let mut histogram = TimeHistogram::new();
        (1..=500u64).for_each(|at| histogram.record(at * at * 1_000_000));
        let read = TimeHistogram::decode(&histogram.encode()).expect("readable");
        let of = |histogram: &TimeHistogram| [0.0, 0.5, 0.99, 1.0].map(|share| histogram.quantile_ns(share));
        assert_eq!((of(&read), read.count()), (of(&histogram), 500));
        assert!(TimeHistogram::decode("%").is_err());
    }

    #[test]
    fn a_histogram_that_is_none_is_refused() {
        let record = EncodedHistogram { count: 3, hdr: "bm90IGEgaGlzdG9ncmFt".into(), ..EncodedHistogram::default() };
        assert!(TimeHistogram::from_record(record).is_err());
    }

    #[test]
    fn a_time_recorded_many_times_is_that_time_recorded_again_and_again() {
        let (mut many, mut repeated) = (TimeHistogram::new(), TimeHistogram::new());
        for (time_ns, count) in [(0, 3), (5_000_000, 2), (700_000_000_000, 2), (9_000, 0)] {
            many.record_many(time_ns, count);
            (0..count).for_each(|_| repeated.record(time_ns));
        }
        assert_eq!(many.to_record(), repeated.to_record());
        many.clear();
        assert_eq!(many.to_record(), EncodedHistogram::default());
    }

    #[test]
    fn a_histogram_without_a_sample_is_empty_and_says_so() {
        let record = TimeHistogram::new().to_record();
        assert_eq!((record.count, record.mean_ns, record.hdr.as_str()), (0, 0.0, ""));
        assert_eq!(TimeHistogram::from_record(record).expect("readable").count(), 0);
    }

    #[test]
    fn a_histogram_is_encoded_with_its_mean_and_read_back_with_its_sum() {
        let mut histogram = TimeHistogram::new();
        [1_000_000, 2_000_000, 700_000_000_000].iter().for_each(|&time_ns| histogram.record(time_ns));
        let record = Total::to_record(&histogram);
        assert_eq!((record.count, record.mean_ns, record.clamped), (3, 233_334_333_333.333_34, 1));
        let read = TimeHistogram::from_record(record).expect("readable");
        assert_eq!((read.count(), read.sum_ns, read.clamped), (3, 700_003_000_000, 1));
    }

    #[test]
    fn counts_that_do_not_agree_are_refused() {
        let mut histogram = TimeHistogram::new();
        histogram.record(1_000_000);
        let record = EncodedHistogram { count: 2, ..Total::to_record(&histogram) };
        assert_eq!(
            TimeHistogram::from_record(record).expect_err("refused").to_string(),
            "a histogram is not readable: 1 counts instead of 2"
        );
    }
}
