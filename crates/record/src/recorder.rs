//! One thread's record: what happened in the current second and in the whole steady state.

use crate::counts::{ConnectionStats, OperationCounts, OperationTotals, PauseCounts, SessionCounts};
use crate::detail::FileSample;
use crate::histogram::TimeHistogram;
use crate::outcome::{Outcome, Window};
use crate::total::{Longest, Total};

/// The driver's own use of CPU over an interval.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct CpuShare {
    /// Share of a core that each thread used.
    pub threads: Vec<f64>,
}

additive! {
    /// One workload over about a second.
    Interval as IntervalRecord [
        /// Its workload.
        part: String,
        /// Its end, from the start of the run.
        at_ns: u64,
        length_ns: u64,
        phase: String,
        /// Sessions and connections that were open when it ended.
        sessions_active: u64,
        connections_open: u64,
        cpu: CpuShare,
    ] {
        /// In the order of the part's `operations` in the start event.
        operations: Vec<OperationCounts>,
        response: TimeHistogram,
        service: TimeHistogram,
        /// How late the driver acted against its own schedule.
        lag: TimeHistogram,
        connections: ConnectionStats,
    }
}

additive! {
    /// One workload over the steady state.
    Totals as TotalsRecord [
        /// Its workload.
        part: String,
        steady_ns: u64,
        cpu: CpuShare,
    ] {
        operations: Vec<OperationTotals>,
        /// How late the driver acted against its own schedule.
        lag: TimeHistogram,
        /// The longest time for which a driver thread, although it had something to do, did not run. None in records of
        /// earlier versions.
        longest_gap_ns: Longest,
        sessions: SessionCounts,
        pauses: PauseCounts,
        /// How long those pauses were, as they came.
        pause: TimeHistogram,
        connections: ConnectionStats,
    }
}

impl Interval {
    /// Nothing yet, of so many operations.
    pub fn new(operations: usize) -> Self {
        Interval { operations: vec![OperationCounts::default(); operations], ..Interval::default() }
    }

    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.operations.fill(OperationCounts::default());
        [&mut self.response, &mut self.service, &mut self.lag].into_iter().for_each(TimeHistogram::clear);
        self.connections = ConnectionStats::default();
    }
}

impl Totals {
    /// Nothing yet, of so many operations.
    pub fn new(operations: usize) -> Self {
        Totals { operations: vec![OperationTotals::default(); operations], ..Totals::default() }
    }
}

/// The record of one thread: the running second and the steady state so far.
#[derive(Clone, Debug)]
pub struct Recorder {
    pub(crate) steady: std::ops::Range<u64>,
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
            self.totals.operations[sample.operation].add_file(sample);
        }
    }

    /// Takes the body of an operation's right answer, for the words that all have in common.
    pub fn words(&mut self, operation: usize, body: &[u8]) {
        self.totals.operations[operation].words.take(body);
    }

    /// Counts an operation that has ended: in this interval, and in the steady state by how it lies in it.
    pub fn operation(&mut self, outcome: &Outcome) {
        self.interval.operations[outcome.operation].add(outcome);
        if outcome.fault.is_none() {
            self.interval.response.record(outcome.end_ns.saturating_sub(outcome.intended_ns));
            self.interval.service.record(outcome.end_ns.saturating_sub(outcome.sent_ns));
        }
        self.add_to_steady_state(outcome);
    }

    /// Counts an operation that has ended in the steady state, by how it lies in it.
    pub(crate) fn add_to_steady_state(&mut self, outcome: &Outcome) {
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
            Window::CutAtStart => totals.tally.cut_at_start += 1,
            Window::CutAtEnd => totals.tally.cut_at_end += 1,
            Window::Outside => {}
        }
    }

    /// An operation that is under way when the steady state ends, or is ended, and has passed its tolerable time.
    pub fn overdue(&mut self, operation: usize) {
        self.totals.operations[operation].tally.overdue += 1;
    }

    /// An operation that was still under way when the run ended: when it began, and for how long it had lasted before the
    /// run.
    pub fn unfinished(&mut self, operation: usize, (intended_ns, before_ns): (u64, u64), now_ns: u64) {
        if before_ns == 0 && Window::of(intended_ns, None, self.steady.clone()) == Window::CutAtEnd {
            let totals = &mut self.totals.operations[operation];
            totals.tally.cut_at_end += 1;
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
        let totals = &mut self.totals.operations[operation];
        if age_ns(from_ns) > 0 {
            totals.entered.record(age_ns(from_ns));
        }
        let is_answered = is_answered && end_ns <= self.steady.end;
        let seen = if is_answered { &mut totals.answered } else { &mut totals.lost };
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
            self.totals.longest_gap_ns.merge(&Longest(gap_ns));
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
mod tests;
