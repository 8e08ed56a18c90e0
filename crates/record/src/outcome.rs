//! How one operation went, and where it lies relative to the steady state.

use crate::fault::Fault;
use crate::tally::OperationTally;

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
    pub tally: OperationTally,
    /// A bit for each request around its page that was answered, by its place; those beyond the 64th are not counted.
    pub requests_beside: u64,
    pub grade: Grade,
    pub fault: Option<Fault>,
    /// Status that ended its page; 0 where no answer came.
    pub status: u16,
    /// What of the operation lay before the run, where its user was found half-way.
    pub before: Before,
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
            tally: OperationTally::default(),
            requests_beside: 0,
            grade: Grade::Good,
            fault: None,
            status: 0,
            before: Before::default(),
        }
    }

    /// Whether it began before the run.
    pub(crate) fn was_taken_up(&self) -> bool {
        self.before != Before::default()
    }
}
