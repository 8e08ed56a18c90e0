//! One thread's record: what happened in the current second and in the whole steady state.

use std::collections::BTreeMap;

use crate::detail::{Detail, FileSample};
use crate::{Fault, TimeHistogram};

/// Where an operation lies relative to the steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Window {
    /// Started and ended in it: this is what counts.
    Inside,
    /// Started before, ended in it.
    CutAtStart,
    /// Started in it, ended after it or never.
    CutAtEnd,
    Outside,
}

impl Window {
    /// Classifies an operation by its intended start and its end (`None`: it never ended).
    pub fn of(start_ns: u64, end_ns: Option<u64>, steady: std::ops::Range<u64>) -> Self {
        let started_inside = steady.contains(&start_ns);
        let ended_inside = end_ns.is_some_and(|end| end > steady.start && end <= steady.end);
        match (started_inside, ended_inside) {
            (true, true) => Window::Inside,
            (false, true) => Window::CutAtStart,
            (true, false) => Window::CutAtEnd,
            (false, false) => Window::Outside,
        }
    }
}

/// How good an operation was by its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Grade {
    Good,
    Tolerable,
    Fail,
}

/// Everything known about one performed operation. Times in nanoseconds on the run's clock.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub operation: usize,
    /// When its user meant to start it.
    pub intended_ns: u64,
    /// When the driver sent it.
    pub sent_ns: u64,
    pub end_ns: u64,
    /// From the send to the first byte of the page's answer.
    pub first_byte_ns: Option<u64>,
    /// What the user's line alone needs for these bytes.
    pub line_ns: u64,
    pub bytes: u64,
    /// Of these the bodies, decoded: more than came where they were compressed.
    pub body_bytes: u64,
    pub embedded: u32,
    /// Embedded files asked for conditionally, and how many of those came back as 304.
    pub conditional: u32,
    pub not_modified: u32,
    pub redirects: u32,
    pub beside: Beside,
    pub grade: Grade,
    pub fault: Option<Fault>,
    /// Status that ended its page; 0 where no answer came.
    pub status: u16,
    /// What of the operation lay before the run, where its user was found half-way.
    pub before: Before,
}

/// What of an operation came beside its page: pictures that the page named, and requests around it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beside {
    /// Pictures that the page named, and those of them that were fetched.
    pub images_named: u32,
    pub images_loaded: u32,
    pub image_bytes: u64,
    /// A bit for each request around the page that was answered, by its place; those beyond the 64th are not told apart.
    pub requests: u64,
}

/// Time and bytes of an operation that lay before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Before {
    pub ns: u64,
    pub bytes: u64,
}

impl Outcome {
    /// An operation that ended at `end_ns` with a fault and nothing else.
    pub fn failed(operation: usize, intended_ns: u64, end_ns: u64, fault: Fault) -> Self {
        Outcome { grade: Grade::Fail, fault: Some(fault), ..Outcome::answered(operation, intended_ns, end_ns) }
    }

    /// An operation sent at its time and answered, of which nothing but the times is known.
    pub fn answered(operation: usize, intended_ns: u64, end_ns: u64) -> Self {
        Outcome {
            operation,
            intended_ns,
            sent_ns: intended_ns,
            end_ns,
            first_byte_ns: None,
            line_ns: 0,
            bytes: 0,
            body_bytes: 0,
            embedded: 0,
            conditional: 0,
            not_modified: 0,
            redirects: 0,
            beside: Beside::default(),
            grade: Grade::Good,
            fault: None,
            status: 0,
            before: Before::default(),
        }
    }

    /// Whether it began before the run.
    fn was_taken_up(&self) -> bool {
        self.before != Before::default()
    }
}

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
    fn add(&mut self, outcome: &Outcome) {
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

    fn merge(&mut self, other: &Counts) {
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
    fn add(&mut self, outcome: &Outcome) {
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

/// One thread's last second.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    pub operations: Vec<Counts>,
    pub response: TimeHistogram,
    pub service: TimeHistogram,
    pub lag: TimeHistogram,
    pub connections: ConnectionStats,
}

impl Interval {
    /// Nothing yet, of so many operations.
    pub fn new(operations: usize) -> Self {
        Interval { operations: vec![Counts::default(); operations], ..Interval::default() }
    }

    /// Adds what another thread or driver counted.
    pub fn merge(&mut self, other: &Interval) {
        self.operations.iter_mut().zip(&other.operations).for_each(|(mine, theirs)| mine.merge(theirs));
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
        self.connections.merge(&other.connections);
    }
}

/// The steady state as a whole.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub operations: Vec<OperationTotals>,
    pub lag: TimeHistogram,
    /// The longest time for which the thread, although it had something to do, did not run.
    pub longest_gap_ns: u64,
    pub sessions: SessionCounts,
    pub pauses: PauseCounts,
    /// How long those pauses were.
    pub pause: TimeHistogram,
    pub connections: ConnectionStats,
}

impl Totals {
    /// Nothing yet, of so many operations.
    pub fn new(operations: usize) -> Self {
        Totals { operations: vec![OperationTotals::default(); operations], ..Totals::default() }
    }

    /// Adds what another thread or driver counted.
    pub fn merge(&mut self, other: &Totals) {
        self.operations.iter_mut().zip(&other.operations).for_each(|(mine, theirs)| mine.merge(theirs));
        self.lag.merge(&other.lag);
        self.longest_gap_ns = self.longest_gap_ns.max(other.longest_gap_ns);
        self.sessions.merge(&other.sessions);
        self.pauses.merge(&other.pauses);
        self.pause.merge(&other.pause);
        self.connections.merge(&other.connections);
    }
}

/// The record of one thread: the running second and the steady state so far.
#[derive(Clone, Debug)]
pub struct Recorder {
    steady: std::ops::Range<u64>,
    pub interval: Interval,
    pub totals: Totals,
}

impl Recorder {
    /// `steady` is the steady state on the run's clock, in nanoseconds.
    pub fn new(operations: usize, steady: std::ops::Range<u64>) -> Self {
        Recorder { steady, interval: Interval::new(operations), totals: Totals::new(operations) }
    }

    /// Counts an embedded file that came in the steady state.
    pub fn file(&mut self, sample: &FileSample) {
        if Window::of(sample.begun_ns, Some(sample.end_ns), self.steady.clone()) == Window::Inside {
            self.totals.operations[sample.operation].detail.file(sample);
        }
    }

    /// Takes the body of an operation's right answer, for the words that all have in common.
    pub fn words(&mut self, operation: usize, body: &[u8]) {
        self.totals.operations[operation].detail.words.take(body);
    }

    /// Counts an operation that has ended: in this interval, and in the steady state by how it lies in it.
    pub fn operation(&mut self, outcome: &Outcome) {
        self.interval.operations[outcome.operation].add(outcome);
        if outcome.fault.is_none() {
            self.interval.response.record(outcome.end_ns.saturating_sub(outcome.intended_ns));
            self.interval.service.record(outcome.end_ns.saturating_sub(outcome.sent_ns));
        }
        let totals = &mut self.totals.operations[outcome.operation];
        let lasted_ns = outcome.end_ns.saturating_sub(outcome.intended_ns);
        let window = match Window::of(outcome.intended_ns, Some(outcome.end_ns), self.steady.clone()) {
            Window::Inside if outcome.was_taken_up() => Window::CutAtStart,
            Window::CutAtEnd if outcome.was_taken_up() => Window::Outside,
            window => window,
        };
        if matches!(window, Window::Inside | Window::CutAtStart) {
            totals.ended_ns += u128::from(lasted_ns + outcome.before.ns);
            totals.ended_bytes += outcome.bytes + outcome.before.bytes;
        }
        self.live(outcome.operation, (outcome.intended_ns, outcome.before.ns), outcome.end_ns, outcome.fault.is_none());
        let totals = &mut self.totals.operations[outcome.operation];
        match window {
            Window::Inside => totals.add(outcome),
            Window::CutAtStart => totals.cut_at_start += 1,
            Window::CutAtEnd => totals.cut_at_end += 1,
            Window::Outside => {}
        }
    }

    /// An operation that is under way when the steady state ends, or is ended, and has passed its tolerable time.
    pub fn overdue(&mut self, operation: usize) {
        self.totals.operations[operation].overdue += 1;
    }

    /// An operation that was still under way when the run ended: when it began, and for how long it had lasted before the
    /// run.
    pub fn unfinished(&mut self, operation: usize, (intended_ns, before_ns): (u64, u64), now_ns: u64) {
        if before_ns == 0 && Window::of(intended_ns, None, self.steady.clone()) == Window::CutAtEnd {
            let totals = &mut self.totals.operations[operation];
            totals.cut_at_end += 1;
        }
        self.live(operation, (intended_ns, before_ns), now_ns, false);
    }

    /// Notes an operation that was under way until `end_ns`, and then answered or not, if the steady state saw it.
    fn live(&mut self, operation: usize, (begin_ns, before_ns): (u64, u64), end_ns: u64, is_answered: bool) {
        let (from_ns, until_ns) = (begin_ns.max(self.steady.start), end_ns.min(self.steady.end));
        if until_ns <= from_ns {
            return;
        }
        let age_ns = |at_ns: u64| at_ns - begin_ns + before_ns;
        let life = &mut self.totals.operations[operation].life;
        if age_ns(from_ns) > 0 {
            life.entered.record(age_ns(from_ns));
        }
        let is_answered = is_answered && end_ns <= self.steady.end;
        let seen = if is_answered { &mut life.answered } else { &mut life.lost };
        seen.record(age_ns(until_ns));
    }

    /// The driver acted `late_ns` after its own schedule.
    pub fn lag(&mut self, now_ns: u64, late_ns: u64) {
        self.interval.lag.record(late_ns);
        if self.steady.contains(&now_ns) {
            self.totals.lag.record(late_ns);
        }
    }

    /// The thread did not run for `gap_ns` until `now_ns`, although it had something to do.
    pub fn gap(&mut self, now_ns: u64, gap_ns: u64) {
        if self.is_steady(now_ns) {
            self.totals.longest_gap_ns = self.totals.longest_gap_ns.max(gap_ns);
        }
    }

    /// Whether an instant is in the steady state.
    pub fn is_steady(&self, now_ns: u64) -> bool {
        self.steady.contains(&now_ns)
    }

    /// Counts a pause that ends now, as drawn and as it came, in nanoseconds.
    pub fn pause(&mut self, now_ns: u64, drawn_ns: u64, actual_ns: u64) {
        if self.is_steady(now_ns) {
            self.totals.pauses.merge(&PauseCounts { count: 1, drawn_ns, actual_ns });
            self.totals.pause.record(actual_ns);
        }
    }

    /// What came after `operation` was to start `drawn_ns` after it, and started `actual_ns` after it.
    pub fn cycle(&mut self, now_ns: u64, operation: usize, drawn_ns: u64, actual_ns: u64) {
        if self.is_steady(now_ns) {
            self.totals.operations[operation].cycles.merge(&PauseCounts { count: 1, drawn_ns, actual_ns });
        }
    }

    /// Adds to what sessions did.
    pub fn sessions(&mut self, now_ns: u64, change: SessionCounts) {
        if self.is_steady(now_ns) {
            self.totals.sessions.merge(&change);
        }
    }

    /// A user could not be placed part-way through its visit, whenever that was.
    pub fn unplaced(&mut self) {
        self.totals.sessions.unplaced += 1;
    }

    /// One more HTTP request, embedded file or message was sent.
    pub fn request(&mut self, now_ns: u64) {
        self.interval.connections.http_requests += 1;
        if self.is_steady(now_ns) {
            self.totals.connections.http_requests += 1;
        }
    }

    /// What was kept of the pause before an operation that is sent now: as intended and as it came; and of the cycle that
    /// ends with it: the operation that began it, its time as drawn and as it came.
    pub fn kept(&mut self, now_ns: u64, pause: Option<(u64, u64)>, cycle: Option<(usize, u64, u64)>) {
        if let Some((intended_ns, actual_ns)) = pause {
            self.pause(now_ns, intended_ns, actual_ns);
        }
        if let Some((operation, drawn_ns, actual_ns)) = cycle {
            self.cycle(now_ns, operation, drawn_ns, actual_ns);
        }
    }

    /// Adds to what connections did.
    pub fn connections(&mut self, now_ns: u64, change: ConnectionStats) {
        self.interval.connections.merge(&change);
        if self.is_steady(now_ns) {
            self.totals.connections.merge(&change);
        }
    }

    /// Hands over the running second and starts the next.
    pub fn take_interval(&mut self) -> Interval {
        let fresh = Interval::new(self.interval.operations.len());
        std::mem::replace(&mut self.interval, fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_operations_that_start_and_end_in_steady_state_count() {
        let steady = 100..200;
        assert_eq!(Window::of(100, Some(200), steady.clone()), Window::Inside);
        assert_eq!(Window::of(99, Some(150), steady.clone()), Window::CutAtStart);
        assert_eq!(Window::of(150, Some(201), steady.clone()), Window::CutAtEnd);
        assert_eq!(Window::of(150, None, steady.clone()), Window::CutAtEnd);
        assert_eq!(Window::of(99, Some(201), steady.clone()), Window::Outside);
        assert_eq!(Window::of(20, Some(30), steady), Window::Outside);
    }

    /// A steady state from 1 s to 2 s, of two operations.
    fn recorder() -> Recorder {
        Recorder::new(2, 1_000_000_000..2_000_000_000)
    }

    const MS: u64 = 1_000_000;

    /// An answer with figures that are all different; from `from_ms` to `to_ms`, sent 3 ms late.
    fn rich(operation: usize, from_ms: u64, to_ms: u64, grade: Grade) -> Outcome {
        Outcome {
            operation,
            intended_ns: from_ms * MS,
            sent_ns: (from_ms + 3) * MS,
            end_ns: to_ms * MS,
            first_byte_ns: Some(5 * MS),
            line_ns: 7 * MS,
            bytes: 11,
            body_bytes: 41,
            embedded: 13,
            conditional: 17,
            not_modified: 19,
            redirects: 23,
            beside: Beside { images_named: 29, images_loaded: 31, image_bytes: 37, requests: 0b11 },
            grade,
            fault: None,
            status: 200,
            before: Before::default(),
        }
    }

    /// Requests, good, tolerable, fail, bytes, and errors of one kind.
    fn numbers(counts: &Counts) -> [u64; 6] {
        let errors = counts.errors.get(&Fault::Title).copied().unwrap_or(0);
        [counts.requests, counts.good, counts.tolerable, counts.fail, counts.bytes, errors]
    }

    /// What is summed up of an operation beside its counts.
    fn sums(totals: &OperationTotals) -> [u128; 10] {
        let of = |count: u64| u128::from(count);
        [
            of(totals.cut_at_start),
            of(totals.cut_at_end),
            of(totals.overdue),
            of(totals.embedded),
            of(totals.conditional),
            of(totals.not_modified),
            of(totals.redirects),
            totals.line_ns / u128::from(MS),
            totals.ended_ns / u128::from(MS),
            of(totals.response.count()),
        ]
    }

    /// Pictures and requests beside the pages of this many operations.
    fn beside(totals: &OperationTotals, operations: u64) -> bool {
        let counts = [totals.images_named, totals.images_loaded, totals.image_bytes];
        counts == [29, 31, 37].map(|each| each * operations) && totals.requests_beside == [operations; 2]
    }

    fn played() -> Recorder {
        let mut recorder = recorder();
        recorder.operation(&rich(1, 1000, 1100, Grade::Good));
        recorder.operation(&rich(1, 1200, 1400, Grade::Tolerable));
        recorder.operation(&rich(1, 1500, 2000, Grade::Fail));
        recorder.operation(&rich(1, 900, 1001, Grade::Good)); // cut at the start
        recorder.operation(&rich(1, 950, 1003, Grade::Good)); // cut at the start
        recorder.operation(&rich(1, 1990, 2001, Grade::Good)); // cut at the end
        recorder.operation(&Outcome { bytes: 29, ..Outcome::failed(1, 1600 * MS, 1700 * MS, Fault::Title) });
        recorder.operation(&rich(0, 100, 200, Grade::Good)); // before it all
        recorder
    }

    #[test]
    fn an_interval_has_all_that_ended_and_the_steady_state_what_lies_in_it() {
        let recorder = played();
        assert_eq!(numbers(&recorder.interval.operations[1]), [7, 4, 1, 2, 6 * 11 + 29, 1]);
        assert_eq!(numbers(&recorder.interval.operations[0]), [1, 1, 0, 0, 11, 0]);
        assert_eq!(recorder.interval.response.count(), 7);
        assert_eq!(recorder.interval.service.count(), 7);
        let totals = &recorder.totals.operations[1];
        assert_eq!(numbers(&totals.counts), [4, 1, 1, 2, 3 * 11 + 29, 1]);
        let ended_ms = 100 + 200 + 500 + 101 + 53 + 100;
        assert!(beside(totals, 3));
        assert_eq!(sums(totals), [2, 1, 0, 3 * 13, 3 * 17, 3 * 19, 3 * 23, 3 * 7, ended_ms, 3]);
        assert_eq!(totals.response.sum_ns, u128::from(800 * MS));
        assert_eq!(totals.service.sum_ns, u128::from(791 * MS));
        assert_eq!(totals.first_byte.sum_ns, u128::from(15 * MS));
        assert_eq!(sums(&recorder.totals.operations[0]), [0; 10]);
    }

    #[test]
    fn what_is_merged_is_the_sum_of_both() {
        let (mut totals, mut interval) = (played().totals, played().interval);
        totals.operations[1].overdue = 2;
        let other = totals.clone();
        totals.merge(&other);
        let ended_ms = 2 * (100 + 200 + 500 + 101 + 53 + 100);
        assert_eq!(numbers(&totals.operations[1].counts), [8, 2, 2, 4, 2 * (3 * 11 + 29), 2]);
        assert!(beside(&totals.operations[1], 6));
        assert_eq!(sums(&totals.operations[1]), [4, 2, 4, 6 * 13, 6 * 17, 6 * 19, 6 * 23, 6 * 7, ended_ms, 6]);
        assert_eq!(totals.operations[1].service.count(), 6);
        assert_eq!(totals.operations[1].first_byte.count(), 6);
        interval.merge(&played().interval);
        assert_eq!(numbers(&interval.operations[1]), [14, 8, 2, 4, 2 * (6 * 11 + 29), 2]);
        assert_eq!((interval.response.count(), interval.service.count()), (14, 14));
    }

    #[test]
    fn what_never_ended_is_cut_at_the_end_and_counted_when_overdue() {
        let mut recorder = recorder();
        recorder.unfinished(1, (1500 * MS, 0), 2500 * MS);
        recorder.unfinished(1, (1600 * MS, 0), 2500 * MS);
        recorder.unfinished(1, (500 * MS, 0), 2500 * MS);
        recorder.unfinished(1, (1700 * MS, 400 * MS), 2500 * MS);
        recorder.overdue(1);
        recorder.overdue(1);
        let totals = &recorder.totals.operations[1];
        assert_eq!(sums(totals)[..3], [0, 2, 2]);
        assert_eq!(lives(totals), [(2, 500 + 400), (0, 0), (4, 500 + 400 + 1500 + 700)]);
    }

    /// Counts and sums in milliseconds of what came into sight under way, was answered, and left otherwise.
    fn lives(totals: &OperationTotals) -> [(u64, u128); 3] {
        let LifeTable { entered, answered, lost } = &totals.life;
        [entered, answered, lost].map(|ages| (ages.count(), ages.sum_ns / u128::from(MS)))
    }

    #[test]
    fn operations_are_followed_from_when_they_come_into_sight_until_they_leave_it() {
        let mut recorder = recorder();
        for (from_ms, to_ms) in [(900, 1100), (1200, 1300), (1900, 2600), (2100, 2200), (100, 1000), (500, 2500)] {
            recorder.operation(&rich(1, from_ms, to_ms, Grade::Good));
        }
        recorder.operation(&Outcome { fault: Some(Fault::Title), ..rich(1, 1500, 1610, Grade::Fail) });
        let totals = &recorder.totals.operations[1];
        assert_eq!(lives(totals), [(2, 100 + 500), (2, 200 + 100), (3, 100 + 1500 + 110)]);
        assert_eq!(totals.ended_bytes, 3 * 11);
    }

    #[test]
    fn what_was_taken_up_half_way_counts_as_ended_with_all_of_its_time_and_bytes() {
        let mut recorder = recorder();
        let before = Before { ns: 70 * MS, bytes: 1000 };
        for (from_ms, to_ms) in [(0, 1500), (1200, 1300), (1900, 2100)] {
            recorder.operation(&Outcome { before, ..rich(1, from_ms, to_ms, Grade::Good) });
        }
        let totals = &recorder.totals.operations[1];
        assert_eq!([totals.counts.requests, totals.cut_at_start, totals.cut_at_end], [0, 2, 0]);
        assert_eq!(lives(totals), [(3, 1070 + 70 + 70), (2, 1570 + 170), (1, 170)]);
        assert_eq!((totals.ended_ns, totals.ended_bytes), (u128::from((1500 + 100 + 140) * MS), 2 * 1011));
    }

    #[test]
    fn the_longest_gap_of_the_steady_state_is_kept() {
        let mut recorder = recorder();
        for (now_ms, gap_ms) in [(900, 50), (1100, 20), (1200, 10), (2100, 90)] {
            recorder.gap(now_ms * MS, gap_ms * MS);
        }
        let mut totals = recorder.totals.clone();
        totals.merge(&Totals { longest_gap_ns: 30 * MS, ..Totals::new(2) });
        assert_eq!([recorder.totals.longest_gap_ns, totals.longest_gap_ns], [20 * MS, 30 * MS]);
    }

    #[test]
    fn all_else_counts_in_the_steady_state_alone() {
        let mut recorder = recorder();
        for now_ns in [999, 1000, 1500, 2000].map(|at| at * MS) {
            recorder.lag(now_ns, 2 * MS);
            recorder.kept(now_ns, Some((30, 31)), Some((1, 40, 43)));
            recorder.kept(now_ns, None, None);
            recorder.sessions(now_ns, SessionCounts { begun: 1, broken: 2, ..SessionCounts::default() });
            recorder.connections(now_ns, ConnectionStats { reconnects: 3, ..ConnectionStats::default() });
            recorder.request(now_ns);
        }
        assert_eq!([999, 1000, 2000].map(|at| recorder.is_steady(at * MS)), [false, true, false]);
        let Totals { lag, pauses, sessions, connections, operations, .. } = &recorder.totals;
        assert_eq!((lag.count(), lag.sum_ns), (2, u128::from(4 * MS)));
        assert_eq!([pauses.count, pauses.drawn_ns, pauses.actual_ns], [2, 60, 62]);
        assert_eq!((recorder.totals.pause.count(), recorder.totals.pause.sum_ns), (2, 62));
        let cycles = operations[1].cycles;
        assert_eq!([cycles.count, cycles.drawn_ns, cycles.actual_ns], [2, 80, 86]);
        assert_eq!([sessions.begun, sessions.broken, sessions.due], [2, 4, 0]);
        assert_eq!([connections.reconnects, connections.http_requests], [6, 2]);
        let mut twice = recorder.totals.clone();
        twice.merge(&recorder.totals);
        assert_eq!([twice.lag.count(), twice.pauses.count, twice.sessions.begun], [4, 4, 4]);
        assert_eq!([twice.connections.reconnects, twice.operations[1].cycles.count], [12, 4]);
    }

    #[test]
    fn an_interval_is_handed_over_whole_and_the_next_one_is_empty() {
        let mut recorder = played();
        recorder.lag(0, MS);
        recorder.request(0);
        recorder.connections(0, ConnectionStats { connections: 5, ..ConnectionStats::default() });
        let interval = recorder.take_interval();
        assert_eq!(
            [interval.lag.count(), interval.connections.http_requests, interval.connections.connections],
            [1, 1, 5]
        );
        assert_eq!(interval.operations.len(), 2);
        let mut twice = interval.clone();
        twice.merge(&interval);
        assert_eq!([twice.lag.count(), twice.connections.connections], [2, 10]);
        let next = recorder.take_interval();
        assert_eq!(next.operations.len(), 2);
        assert_eq!((numbers(&next.operations[1]), next.lag.count()), ([0; 6], 0));
    }
}
