//! How one operation went, and where it lies relative to the steady state.

use crate::fault::Fault;

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
    pub(crate) fn was_taken_up(&self) -> bool {
        self.before != Before::default()
    }
}
