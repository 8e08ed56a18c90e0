//! What is counted while a schedule is played in virtual time.

use loadstone_record::additive;
use loadstone_record::counts::{PauseCounts, SessionCounts};
use loadstone_record::{Total, Window};
use loadstone_schedule::session::Departure;
use loadstone_schedule::session_loop::Kept;

use crate::session::departed;

additive! {
    /// Operations of one kind, by their place relative to the steady state.
    WindowCounts { inside: u64, cut_at_start: u64, cut_at_end: u64 }
}

additive! {
    /// One workload in virtual time.
    SimulatedTotals {
        windows: Vec<WindowCounts>,
        cycles: Vec<PauseCounts>,
        sessions: SessionCounts,
        response_ns: u128,
        pause_ns: u128,
        pauses: u64,
        starts: u64,
        /// Operations performed at all, the lead-in included.
        performed: u64,
    }
}

impl WindowCounts {
    /// Operations that ended in the steady state.
    pub fn ended(&self) -> u64 {
        self.inside + self.cut_at_start
    }
}

/// The totals of one thread, of this steady state.
#[derive(Clone)]
pub struct SteadySums {
    steady: std::ops::Range<u64>,
    pub totals: SimulatedTotals,
}

impl SteadySums {
    /// Nothing yet, of so many operations.
    pub fn new(steady: std::ops::Range<u64>, operations: usize) -> Self {
        let (windows, cycles) = (vec![WindowCounts::default(); operations], vec![PauseCounts::default(); operations]);
        SteadySums { steady, totals: SimulatedTotals { windows, cycles, ..SimulatedTotals::default() } }
    }

    /// A session arrives.
    pub fn arrival(&mut self, at: u64) {
        self.totals.sessions.due += u64::from(self.steady.contains(&at));
    }

    /// A session ends after so many operations.
    pub fn departure(&mut self, at: u64, departure: Departure, operations: u32) {
        if self.steady.contains(&at) {
            self.totals.sessions.merge(&departed(departure, operations));
        }
    }

    /// Counts the cycle that ends at `at`.
    pub fn cycle(&mut self, at: u64, kept: Kept) {
        if let Some((operation, drawn_ns, actual_ns)) = kept.cycle().filter(|_| self.steady.contains(&at)) {
            self.totals.cycles[operation].merge(&PauseCounts { count: 1, drawn_ns, actual_ns });
        }
    }

    /// Counts an operation that was begun before the run.
    pub fn taken_up(&mut self, operation: usize, end: u64, lasted: u64) {
        self.totals.performed += 1;
        if end > self.steady.start && end <= self.steady.end {
            self.totals.windows[operation].cut_at_start += 1;
            self.totals.response_ns += u128::from(lasted);
        }
    }

    /// Counts an operation, and the pause before it.
    pub fn operation(&mut self, operation: usize, start: u64, end: u64, pause: Option<u64>) {
        self.totals.performed += 1;
        if self.steady.contains(&start) {
            self.totals.starts += 1;
            if let Some(pause) = pause {
                self.totals.pauses += 1;
                self.totals.pause_ns += u128::from(pause);
            }
        }
        let windows = &mut self.totals.windows[operation];
        let window = Window::of(start, Some(end), self.steady.clone());
        match window {
            Window::Inside => windows.inside += 1,
            Window::CutAtStart => windows.cut_at_start += 1,
            Window::CutAtEnd => windows.cut_at_end += 1,
            Window::Outside => {}
        }
        if matches!(window, Window::Inside | Window::CutAtStart) {
            self.totals.response_ns += u128::from(end - start);
        }
    }
}
