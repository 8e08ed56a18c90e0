//! One thread's record: what happened in the current second and in the whole steady state.

use crate::counts::{ConnectionStats, Counts, OperationTotals, PauseCounts, SessionCounts};
use crate::detail::FileSample;
use crate::histogram::TimeHistogram;
use crate::outcome::{Outcome, Window};

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
mod tests;
