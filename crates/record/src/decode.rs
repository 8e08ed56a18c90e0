//! Events read back into counters, so that what several drivers wrote can be merged without loss.

use crate::counts::{Counts, LifeTable, OperationTotals};
use crate::detail::{Detail, FileTotals};
use crate::event::{Encoded, OperationCounts, OperationRecord};
use crate::histogram::{TimeHistogram, Unreadable};
use crate::words::CommonWords;

impl From<OperationCounts> for Counts {
    fn from(read: OperationCounts) -> Self {
        let OperationCounts { requests, good, tolerable, fail, bytes, errors } = read;
        Counts { requests, good, tolerable, fail, bytes, errors }
    }
}

impl TryFrom<&Encoded> for TimeHistogram {
    type Error = Unreadable;

    /// All counts are kept; the exact sum is the mean times the count, as far as a float holds it.
    fn try_from(encoded: &Encoded) -> Result<Self, Unreadable> {
        let mut histogram = match encoded.count {
            0 => TimeHistogram::new(),
            _ => TimeHistogram::decode(&encoded.hdr)?,
        };
        if histogram.count() != encoded.count {
            return Err(Unreadable(format!("{} counts instead of {}", histogram.count(), encoded.count)));
        }
        histogram.sum_ns = (encoded.mean_ns * encoded.count as f64).round() as u128;
        histogram.clamped = encoded.clamped;
        Ok(histogram)
    }
}

impl TryFrom<OperationRecord> for OperationTotals {
    type Error = Unreadable;

    fn try_from(read: OperationRecord) -> Result<Self, Unreadable> {
        let response = TimeHistogram::try_from(&read.response)?;
        Ok(OperationTotals {
            counts: read.counts.into(),
            cut_at_start: read.cut_at_start,
            cut_at_end: read.cut_at_end,
            ended_ns: read.ended_ns as u128,
            ended_bytes: read.ended_bytes,
            life: LifeTable {
                entered: (&read.entered).try_into()?,
                answered: (&read.answered).try_into()?,
                lost: (&read.lost).try_into()?,
            },
            cycles: read.cycles,
            overdue: read.overdue,
            embedded: read.embedded,
            conditional: read.conditional,
            not_modified: read.not_modified,
            redirects: read.redirects,
            images_named: read.images_named,
            images_loaded: read.images_loaded,
            image_bytes: read.image_bytes,
            body_bytes: read.body_bytes,
            requests_beside: read.requests_beside.clone(),
            line_ns: (read.line_mean_ns * response.count() as f64).round() as u128,
            response,
            service: (&read.service).try_into()?,
            first_byte: (&read.first_byte).try_into()?,
            detail: Detail {
                statuses: read.statuses.iter().map(|one| (one.status, one.count)).collect(),
                slowest: read.slowest,
                files: read.files.iter().map(FileTotals::from).collect(),
                words: CommonWords::recorded(&read.words),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Before, Beside, Grade, Outcome};
    use crate::recorder::Recorder;
    use crate::Fault;

    fn outcome(end_ns: u64, fault: Option<Fault>) -> Outcome {
        Outcome {
            operation: 0,
            intended_ns: 1_000,
            sent_ns: 2_000,
            end_ns,
            first_byte_ns: Some(5_000),
            line_ns: 700,
            bytes: 12,
            body_bytes: 33,
            embedded: 3,
            conditional: 2,
            not_modified: 1,
            redirects: 1,
            beside: Beside { images_named: 10, images_loaded: 4, image_bytes: 5_000, requests: 0b101 },
            grade: Grade::Good,
            fault,
            status: 200,
            before: Before::default(),
        }
    }

    #[test]
    fn counts_that_were_written_and_read_back_merge_as_if_they_had_never_left() {
        let recorded = |ends: &[u64]| {
            let mut recorder = Recorder::new(1, 0..10_000_000_000);
            ends.iter().for_each(|&end| recorder.operation(&outcome(end, None)));
            recorder.operation(&outcome(9_000, Some(Fault::Title)));
            recorder.words(0, format!("a page of {} ns", ends[0]).as_bytes());
            recorder.totals
        };
        let (left, right) = (recorded(&[5_000_000, 7_000_000_000]), recorded(&[6_123_456, 8_000]));
        let mut whole = left.clone();
        whole.merge(&right);
        let mut read_back = OperationTotals::default();
        for part in [&left, &right] {
            let record = OperationRecord::new("page", &["/x".to_owned()], &part.operations[0]);
            let text = serde_json::to_string(&record).expect("plain data");
            let record: OperationRecord = serde_json::from_str(&text).expect("as written");
            read_back.merge(&record.try_into().expect("readable"));
        }
        let expected = OperationRecord::new("page", &["/x".to_owned()], &whole.operations[0]);
        let found = OperationRecord::new("page", &["/x".to_owned()], &read_back);
        assert_eq!(serde_json::to_string(&found).expect("plain"), serde_json::to_string(&expected).expect("plain"));
    }

    #[test]
    fn a_histogram_that_is_none_is_refused() {
        let mut encoded = Encoded::from(&TimeHistogram::new());
        encoded.count = 3;
        encoded.hdr = "bm90IGEgaGlzdG9ncmFt".into();
        assert!(TimeHistogram::try_from(&encoded).is_err());
    }

    #[test]
    fn a_histogram_without_a_sample_is_empty_and_says_so() {
        let encoded = Encoded::from(&TimeHistogram::new());
        assert_eq!((encoded.count, encoded.mean_ns, encoded.hdr.as_str()), (0, 0.0, ""));
        assert_eq!(TimeHistogram::try_from(&encoded).expect("readable").count(), 0);
    }

    #[test]
    fn a_histogram_is_encoded_with_its_mean_and_read_back_with_its_sum() {
        let mut histogram = TimeHistogram::new();
        [1_000_000, 2_000_000, 700_000_000_000].iter().for_each(|&time_ns| histogram.record(time_ns));
        let encoded = Encoded::from(&histogram);
        assert_eq!((encoded.count, encoded.mean_ns, encoded.clamped), (3, 233_334_333_333.333_34, 1));
        let read = TimeHistogram::try_from(&encoded).expect("readable");
        assert_eq!((read.count(), read.sum_ns, read.clamped), (3, 700_003_000_000, 1));
    }

    #[test]
    fn counts_that_do_not_agree_are_refused() {
        let mut histogram = TimeHistogram::new();
        histogram.record(1_000_000);
        let mut encoded = Encoded::from(&histogram);
        encoded.count = 2;
        assert_eq!(
            TimeHistogram::try_from(&encoded).expect_err("refused").to_string(),
            "a histogram is not readable: 1 counts instead of 2"
        );
    }
}
