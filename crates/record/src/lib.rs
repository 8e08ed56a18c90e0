//! What was measured: histograms, counters, the events a driver writes, and how those of several threads merge.
//!
//! Pure: no clock is read here, times come in as nanoseconds.

#[macro_use]
pub mod total;

pub mod counts;
pub mod detail;
pub mod event;
pub mod fault;
pub mod histogram;
pub mod outcome;
pub mod punctual;
pub mod recorder;
pub mod tally;
pub mod words;

pub use fault::Fault;
pub use histogram::TimeHistogram;
pub use outcome::{Outcome, Window};
pub use punctual::PunctualRecorder;
pub use recorder::{Interval, Recorder, Totals};
pub use tally::OperationTally;
pub use total::Total;
