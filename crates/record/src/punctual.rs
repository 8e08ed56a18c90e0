//! The record of operations that start exactly when they are due, as those of simulations do.
//!
//! Their lag is zero, and their service time equals their response time. Each time is therefore recorded once, and the
//! other histograms are filled when the record is handed over.

use crate::counts::SessionCounts;
use crate::outcome::{Outcome, Window};
use crate::recorder::{IntervalRecord, Recorder, Totals};
use crate::total::Total;

/// The record of one part: the running interval and the steady state so far.
#[derive(Clone, Debug)]
pub struct PunctualRecorder {
    recorder: Recorder,
    /// Operations that started in the interval, and in the steady state.
    started: u64,
    started_steady: u64,
}

impl PunctualRecorder {
    /// `steady` is the steady state on the run's clock, in nanoseconds.
    pub fn new(operations: usize, steady: std::ops::Range<u64>) -> Self {
        PunctualRecorder { recorder: Recorder::new(operations, steady), started: 0, started_steady: 0 }
    }

    /// Counts an operation that starts at `now_ns`. `pause` and `cycle` are what its user kept before it, as in
    /// `Recorder::kept`.
    pub fn start(&mut self, now_ns: u64, pause: Option<(u64, u64)>, cycle: Option<(usize, u64, u64)>) {
        self.started += 1;
        self.started_steady += u64::from(self.recorder.is_steady(now_ns));
        self.recorder.kept(now_ns, pause, cycle);
    }

    /// Counts an operation that has ended.
    pub fn end(&mut self, outcome: &Outcome) {
        debug_assert_eq!(outcome.sent_ns, outcome.intended_ns);
        let Recorder { steady, interval, totals } = &mut self.recorder;
        let time_ns = outcome.end_ns.saturating_sub(outcome.intended_ns);
        let is_answered = outcome.fault.is_none();
        interval.operations[outcome.operation].add(outcome);
        if is_answered {
            interval.response.record(time_ns);
        }
        let is_inside = Window::of(outcome.intended_ns, Some(outcome.end_ns), steady.clone()) == Window::Inside;
        if !is_inside || !is_answered || outcome.was_taken_up() {
            return self.recorder.add_to_steady_state(outcome);
        }
        let totals = &mut totals.operations[outcome.operation];
        totals.ended_ns += u128::from(time_ns);
        totals.ended_bytes += outcome.bytes;
        totals.add_response(outcome);
    }

    /// Counts an operation that is under way when the steady state ends, and has passed its tolerable time.
    pub fn overdue(&mut self, operation: usize) {
        self.recorder.overdue(operation);
    }

    /// Counts an operation that was under way from `intended_ns` until the run ended at `now_ns`.
    pub fn unfinished(&mut self, operation: usize, intended_ns: u64, now_ns: u64) {
        self.recorder.unfinished(operation, (intended_ns, 0), now_ns);
    }

    /// Adds to what sessions did.
    pub fn sessions(&mut self, now_ns: u64, change: SessionCounts) {
        self.recorder.sessions(now_ns, change);
    }

    /// Hands over the interval, without its labels, and begins the next.
    pub fn take_interval(&mut self) -> IntervalRecord {
        let interval = &mut self.recorder.interval;
        let started = std::mem::take(&mut self.started);
        interval.lag.record_many(0, started);
        interval.connections.http_requests += started;
        let mut record = interval.to_record();
        record.service = record.response.clone();
        interval.clear();
        record
    }

    /// Hands over the steady state.
    pub fn finish(mut self) -> Totals {
        let totals = &mut self.recorder.totals;
        totals.lag.record_many(0, self.started_steady);
        totals.connections.http_requests += self.started_steady;
        for operation in &mut totals.operations {
            operation.service.merge(&operation.response);
            operation.answered.merge(&operation.response);
        }
        self.recorder.totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;
    use crate::outcome::Grade;

    const MS: u64 = 1_000_000;

    /// Operations around the steady state from 100 to 200 ms: within it, over its edges, outside of it, and failed.
    fn outcomes() -> Vec<Outcome> {
        let spans = [(110, 120), (120, 190), (90, 105), (195, 230), (50, 60), (80, 240), (199, 200)];
        let answered = spans.iter().map(|&(from, to)| Outcome::answered((from % 2) as usize, from * MS, to * MS));
        let failed = spans.iter().map(|&(from, to)| Outcome::failed(0, from * MS, to * MS, Fault::Status));
        let graded =
            Outcome { grade: Grade::Tolerable, status: 200, bytes: 7, ..Outcome::answered(1, 130 * MS, 150 * MS) };
        answered.chain(failed).chain([graded]).collect()
    }

    fn to_text(record: &impl serde::Serialize) -> String {
        serde_json::to_string(record).expect("plain data")
    }

    #[test]
    fn punctual_operations_are_recorded_as_any_others() {
        let mut usual = Recorder::new(2, 100 * MS..200 * MS);
        let mut punctual = PunctualRecorder::new(2, 100 * MS..200 * MS);
        let kept = (Some((3 * MS, 4 * MS)), Some((1, 5 * MS, 6 * MS)));
        for _ in 0..2 {
            for outcome in outcomes() {
                usual.lag(outcome.intended_ns, 0);
                usual.request(outcome.intended_ns);
                usual.kept(outcome.intended_ns, kept.0, kept.1);
                usual.operation(&outcome);
                punctual.start(outcome.intended_ns, kept.0, kept.1);
                punctual.end(&outcome);
            }
            let change = SessionCounts { begun: 2, ..SessionCounts::default() };
            usual.sessions(150 * MS, change);
            punctual.sessions(150 * MS, change);
            assert_eq!(to_text(&punctual.take_interval()), to_text(&usual.take_interval().to_record()));
        }
        usual.overdue(1);
        punctual.overdue(1);
        usual.unfinished(0, (180 * MS, 0), 300 * MS);
        punctual.unfinished(0, 180 * MS, 300 * MS);
        assert_eq!(to_text(&punctual.finish().to_record()), to_text(&usual.totals.to_record()));
    }
}
