//! What is counted: of operations, sessions, pauses and connections; and how counts of several threads add up.

use std::collections::BTreeMap;

use crate::detail::Detail;
use crate::fault::Fault;
use crate::histogram::TimeHistogram;
use crate::outcome::{Beside, Grade, Outcome};

/// Counts of one operation.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub requests: u64,
    pub good: u64,
    /// Tolerable but not good.
    pub tolerable: u64,
    pub fail: u64,
    pub bytes: u64,
    pub errors: BTreeMap<Fault, u64>,
}

impl Counts {
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

    /// Adds what another thread or driver counted.
    pub(crate) fn merge(&mut self, other: &Counts) {
        self.requests += other.requests;
        self.good += other.good;
        self.tolerable += other.tolerable;
        self.fail += other.fail;
        self.bytes += other.bytes;
        for (&fault, count) in &other.errors {
            *self.errors.entry(fault).or_default() += count;
        }
    }
}

/// All operations that were under way at any time of the steady state: how old they were when they came into sight and
/// when they left it. Those that began in it come into sight at age 0.
#[derive(Clone, Debug, Default)]
pub struct LifeTable {
    /// Ages of those that were under way when the steady state began.
    pub entered: TimeHistogram,
    /// Ages at their answers, of those that were answered in the steady state.
    pub answered: TimeHistogram,
    /// Ages of those still under way at its end, or when they failed.
    pub lost: TimeHistogram,
}

impl LifeTable {
    fn merge(&mut self, other: &LifeTable) {
        self.entered.merge(&other.entered);
        self.answered.merge(&other.answered);
        self.lost.merge(&other.lost);
    }
}

/// One operation over the whole steady state.
#[derive(Clone, Debug, Default)]
pub struct OperationTotals {
    pub counts: Counts,
    pub cut_at_start: u64,
    pub cut_at_end: u64,
    /// Sum of the times of all operations that ended in the steady state, whenever they started and however they
    /// ended: their mean is without bias however long operations last.
    pub ended_ns: u128,
    /// Bytes of all operations that ended in the steady state, whenever they started.
    pub ended_bytes: u64,
    /// What a product-limit estimate of the response time is made of.
    pub life: LifeTable,
    /// From starts of it to the starts of what came next, where starts are paced.
    pub cycles: PauseCounts,
    /// Still under way at the end of the steady state, and by then beyond their tolerable time.
    pub overdue: u64,
    pub embedded: u64,
    pub conditional: u64,
    pub not_modified: u64,
    pub redirects: u64,
    pub images_named: u64,
    pub images_loaded: u64,
    pub image_bytes: u64,
    /// Bodies, decoded.
    pub body_bytes: u64,
    /// How often each request around its page was answered, by its place.
    pub requests_beside: Vec<u64>,
    pub line_ns: u128,
    pub response: TimeHistogram,
    pub service: TimeHistogram,
    pub first_byte: TimeHistogram,
    /// What explains its times.
    pub detail: Detail,
}

impl OperationTotals {
    /// Counts an operation that began and ended in the steady state.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.counts.add(outcome);
        self.embedded += u64::from(outcome.embedded);
        self.conditional += u64::from(outcome.conditional);
        self.not_modified += u64::from(outcome.not_modified);
        self.redirects += u64::from(outcome.redirects);
        self.add_beside(&outcome.beside);
        self.body_bytes += outcome.body_bytes;
        *self.detail.statuses.entry(outcome.status).or_default() += 1;
        if outcome.fault.is_some() {
            return; // an answer that is wrong or missing has no response time
        }
        self.line_ns += u128::from(outcome.line_ns);
        let response_ns = outcome.end_ns.saturating_sub(outcome.intended_ns);
        self.response.record(response_ns);
        self.detail.slowest.record(response_ns, outcome.intended_ns);
        self.service.record(outcome.end_ns.saturating_sub(outcome.sent_ns));
        if let Some(first_byte) = outcome.first_byte_ns {
            self.first_byte.record(first_byte);
        }
    }

    fn add_beside(&mut self, beside: &Beside) {
        self.images_named += u64::from(beside.images_named);
        self.images_loaded += u64::from(beside.images_loaded);
        self.image_bytes += beside.image_bytes;
        let mut left = beside.requests;
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            add_at(&mut self.requests_beside, place, 1);
            left &= left - 1;
        }
    }

    /// Adds what another thread or driver counted.
    pub fn merge(&mut self, other: &OperationTotals) {
        self.counts.merge(&other.counts);
        self.detail.merge(&other.detail);
        self.cut_at_start += other.cut_at_start;
        self.ended_ns += other.ended_ns;
        self.ended_bytes += other.ended_bytes;
        self.life.merge(&other.life);
        self.overdue += other.overdue;
        self.cycles.merge(&other.cycles);
        self.cut_at_end += other.cut_at_end;
        self.embedded += other.embedded;
        self.conditional += other.conditional;
        self.not_modified += other.not_modified;
        self.redirects += other.redirects;
        self.images_named += other.images_named;
        self.images_loaded += other.images_loaded;
        self.image_bytes += other.image_bytes;
        self.body_bytes += other.body_bytes;
        for (place, &count) in other.requests_beside.iter().enumerate().take(u64::BITS as usize) {
            add_at(&mut self.requests_beside, place, count);
        }
        self.line_ns += other.line_ns;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.first_byte.merge(&other.first_byte);
    }
}

/// Adds to the count at a place, which may be new.
fn add_at(counts: &mut Vec<u64>, place: usize, more: u64) {
    if counts.len() <= place {
        counts.resize(place + 1, 0);
    }
    counts[place] += more;
}

macro_rules! additive {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct $name { $($(#[$field_doc])* pub $field: $kind),* }

        impl $name {
            /// Adds what another thread or driver counted.
            pub fn merge(&mut self, other: &$name) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

additive! {
    /// What became of user sessions.
    SessionCounts {
        /// Arrivals that were due, where sessions come by themselves.
        due: u64,
        begun: u64,
        /// Ended as their users meant to, or left without a word.
        finished: u64,
        /// Of those, left without a word.
        abandoned: u64,
        /// Ended by an error.
        broken: u64,
        /// Could not be placed part-way through their visits when the run began: a request of their past failed.
        /// Counted whenever that was, unlike the others.
        #[serde(default)]
        unplaced: u64,
        /// Operations performed in the finished ones.
        operations_in_finished: u64,
    }
}

additive! {
    /// Pauses: how many, what was drawn, what was kept. Nanoseconds.
    PauseCounts { count: u64, drawn_ns: u64, actual_ns: u64 }
}

additive! {
    /// Connections and TLS handshakes.
    ConnectionStats {
        connections: u64,
        /// Made again because the server had closed an idle one.
        reconnects: u64,
        /// Requests sent again: the server had taken them on a kept connection and closed it without an answer.
        resent: u64,
        /// Requests sent again because an HTTP/2 server declared that it had not processed them.
        declined: u64,
        /// Answers with further bytes behind their end, which came before the next request on the connection.
        trailing: u64,
        /// Connections from a source address other than the first.
        further_sources: u64,
        /// Accepted only after the kernel had asked again: the listener's queue was full, or packets were lost.
        connected_late: u64,
        handshakes_full: u64,
        handshakes_resumed: u64,
        /// HTTP requests, embedded files and redirects included.
        http_requests: u64,
    }
}
