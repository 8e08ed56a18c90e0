//! What the parts of a run hand to the one that writes it down: threads, and drivers that have joined.

use loadstone_record::event::Event;
use loadstone_record::{Interval, Totals};
use loadstone_schedule::plan::Phases;
use loadstone_schedule::SECOND;

/// What a thread, or another driver, reports.
pub enum Report {
    Interval {
        part: usize,
        number: usize,
        at_ns: u64,
        interval: Box<Interval>,
        active: u64,
        open: u64,
        cpu: Vec<f64>,
    },
    Totals {
        part: usize,
        totals: Box<Totals>,
        cpu: Vec<f64>,
        steady_ns: u64,
    },
    /// Passed on as it is.
    Event(Box<Event>),
    /// Another driver was told to end early.
    Interrupted,
    Failed(String),
}

/// The intervals of a run: every second, and wherever a phase changes.
pub fn ticks(phases: &Phases) -> impl Iterator<Item = (u64, u64)> {
    let mut edges: Vec<u64> = (0..=phases.end() / SECOND).map(|second| second * SECOND).collect();
    edges.extend([phases.ramp_up_ns, phases.steady_start(), phases.steady_end(), phases.end()]);
    edges.sort_unstable();
    edges.dedup();
    let pairs: Vec<(u64, u64)> = edges.windows(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.into_iter()
}
