//! What is counted: of operations, sessions, pauses and connections. Each is declared once; how it adds up, how an event
//! carries it, and its schema follow (`total`).

use std::collections::BTreeMap;

use crate::detail::{FileSample, FileTotals, Slowest};
use crate::fault::Fault;
use crate::histogram::TimeHistogram;
use crate::outcome::{Grade, Outcome};
use crate::tally::OperationTally;
use crate::total::Total;
use crate::words::CommonWords;

additive! {
    /// How many operations ended in each way.
    OperationCounts {
        requests: u64,
        good: u64,
        /// Tolerable but not good.
        tolerable: u64,
        fail: u64,
        bytes: u64,
        /// By kind of error.
        errors: BTreeMap<Fault, u64>,
    }
}

additive! {
    /// User sessions by how they ended.
    #[derive(Copy)]
    SessionCounts {
        /// Arrivals that were scheduled, of an open load.
        due: u64,
        begun: u64,
        /// Ended as their users meant to, or left without a word.
        finished: u64,
        /// Finished sessions whose users left without a word.
        abandoned: u64,
        /// Ended by an error.
        broken: u64,
        /// Could not be placed part-way through their visits when the run began: a request of their past failed.
        /// Counted whenever that was, unlike the others.
        unplaced: u64,
        /// Operations performed in the finished ones.
        operations_in_finished: u64,
    }
}

additive! {
    /// Pauses, or cycles from start to start: how many, and their sums as drawn and as kept.
    #[derive(Copy)]
    PauseCounts { count: u64, drawn_ns: u64, actual_ns: u64 }
}

additive! {
    /// Connections and TLS handshakes.
    #[derive(Copy)]
    ConnectionStats {
        connections: u64,
        /// Opened again because the server had closed an idle one.
        reconnects: u64,
        /// Requests sent again: the server had taken them on a kept connection and closed it without an answer.
        resent: u64,
        /// Requests sent again because an HTTP/2 server declared that it had not processed them.
        declined: u64,
        /// Answers with further bytes behind their end, which came before the next request on the connection.
        trailing: u64,
        /// Connections from a source address other than the first.
        further_sources: u64,
        /// Accepted only after the kernel had tried again: the listener's queue was full, or packets were lost.
        connected_late: u64,
        handshakes_full: u64,
        handshakes_resumed: u64,
        /// HTTP requests, embedded files and redirects included.
        http_requests: u64,
    }
}

additive! {
    /// One operation over the steady state.
    OperationTotals as OperationRecord [
        name: String,
    ] {
        counts: OperationCounts,
        tally: OperationTally,
        /// Sum of the times of all operations that ended in the steady state, whenever they started and however they
        /// ended: their mean is without bias however long operations last.
        ended_ns: u128,
        /// Bytes of those operations.
        ended_bytes: u64,
        /// Of operations in flight when the steady state began: their ages then. With the next two it has all that were
        /// in flight at any time of the steady state: what a product-limit estimate is made of.
        entered: TimeHistogram,
        /// Ages at their answers, of all that were answered in the steady state.
        answered: TimeHistogram,
        /// Ages of those still in flight at its end, or when they failed.
        lost: TimeHistogram,
        /// From starts of it to the starts of what came next, where starts are paced.
        cycles: PauseCounts,
        /// How often each request around its page was answered, by its place; shorter where the last ones never were.
        requests_beside: Vec<u64>,
        /// Sum of the times that the users' lines alone need for the bytes of its right answers.
        line_ns: u128,
        response: TimeHistogram,
        service: TimeHistogram,
        first_byte: TimeHistogram,
        /// How often each status ended its page.
        statuses: BTreeMap<u16, u64>,
        /// The longest response time, and when it began.
        slowest: Slowest,
        /// Its embedded files, in their order; shorter where the last never came.
        files: Vec<FileTotals>,
        /// Hashes of words that each of its first right answers has: the smallest 64, in ascending order. Empty
        /// where there are none, or where that is not known.
        words: CommonWords,
    }
}

impl OperationCounts {
    /// Counts an operation that has ended.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.requests += 1;
        self.bytes += outcome.bytes;
        match outcome.grade {
            Grade::Good => self.good += 1,
            Grade::Tolerable => self.tolerable += 1,
            Grade::Fail => self.fail += 1,
        }
        if let Some(fault) = outcome.fault {
            *self.errors.entry(fault).or_default() += 1;
        }
    }
}

impl OperationTotals {
    /// Counts an operation that began and ended in the steady state.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.add_response(outcome);
        if outcome.fault.is_some() {
            return; // an answer that is wrong or missing has no service time
        }
        self.service.record(outcome.end_ns.saturating_sub(outcome.sent_ns));
        if let Some(first_byte) = outcome.first_byte_ns {
            self.first_byte.record(first_byte);
        }
    }

    /// Counts an operation that began and ended in the steady state, without the times since it was sent.
    pub(crate) fn add_response(&mut self, outcome: &Outcome) {
        self.counts.add(outcome);
        self.tally.merge(&outcome.tally);
        self.add_requests_beside(outcome.requests_beside);
        *self.statuses.entry(outcome.status).or_default() += 1;
        if outcome.fault.is_some() {
            return; // an answer that is wrong or missing has no response time
        }
        self.line_ns += u128::from(outcome.line_ns);
        let response_ns = outcome.end_ns.saturating_sub(outcome.intended_ns);
        self.response.record(response_ns);
        self.slowest.add(response_ns, outcome.intended_ns);
    }

    /// Counts an embedded file that came.
    pub(crate) fn add_file(&mut self, sample: &FileSample) {
        if self.files.len() <= sample.file {
            self.files.resize(sample.file + 1, FileTotals::default());
        }
        self.files[sample.file].add(sample);
    }

    /// Counts the requests around its page that were answered: a bit for each place.
    fn add_requests_beside(&mut self, mut places: u64) {
        while places != 0 {
            let place = places.trailing_zeros() as usize;
            if self.requests_beside.len() <= place {
                self.requests_beside.resize(place + 1, 0);
            }
            self.requests_beside[place] += 1;
            places &= places - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Recorder;

    fn outcome(end_ns: u64, fault: Option<Fault>) -> Outcome {
        Outcome {
            sent_ns: 2_000,
            first_byte_ns: Some(5_000),
            line_ns: 700,
            bytes: 12,
            tally: OperationTally {
                body_bytes: 33,
                embedded: 3,
                conditional: 2,
                not_modified: 1,
                redirects: 1,
                images_named: 10,
                images_loaded: 4,
                image_bytes: 5_000,
                ..OperationTally::default()
            },
            requests_beside: 0b101,
            fault,
            status: 200,
            ..Outcome::answered(0, 1_000, end_ns)
        }
    }

    /// The totals of one operation that ended at these times and once with an error; one file came with it.
    fn recorded(ends: &[u64]) -> OperationTotals {
        let mut recorder = Recorder::new(1, 0..10_000_000_000);
        ends.iter().for_each(|&end| recorder.operation(&outcome(end, None)));
        recorder.operation(&outcome(9_000, Some(Fault::Title)));
        recorder.words(0, format!("a page of {} ns", ends[0]).as_bytes());
        let file = FileSample { operation: 0, file: 1, begun_ns: 5, end_ns: ends[0], bytes: 10, not_modified: true };
        recorder.file(&file);
        recorder.totals.operations.swap_remove(0)
    }

    #[test]
    fn counts_that_were_written_and_read_back_merge_as_if_they_had_never_left() {
        let (left, right) = (recorded(&[5_000_000, 7_000_000_000]), recorded(&[6_123_456, 8_000]));
        let mut whole = left.clone();
        whole.merge(&right);
        let mut read_back = OperationTotals::default();
        for part in [&left, &right] {
            let text = serde_json::to_string(&part.to_record()).expect("plain data");
            let record: OperationRecord = serde_json::from_str(&text).expect("as written");
            read_back.merge(&OperationTotals::from_record(record).expect("readable"));
        }
        let text = |totals: &OperationTotals| serde_json::to_string(&totals.to_record()).expect("plain data");
        assert_eq!(text(&read_back), text(&whole));
        assert_eq!((whole.counts.requests, whole.files[1].requests, whole.line_ns), (6, 2, 4 * 700));
        assert_eq!(whole.statuses, [(200, 6)].into());
    }
}
