//! What happens when, and with which data: plans, arrivals, mixes, pauses, values, sessions and the line model.
//!
//! Everything here is pure. No clock, no socket, no file: time and randomness come in as arguments, so the
//! same plan gives the same requests in the driver, in virtual time and in a test.

pub mod arrivals;
pub mod draw;
pub mod ledger;
pub mod line;
pub mod marker;
pub mod mix;
pub mod pacing;
pub mod plan;
pub mod population;
pub mod rng;
pub mod rules;
pub mod session;
pub mod session_loop;
pub mod slots;
pub mod station;
pub mod stationary;
pub mod template;
pub mod values;

/// Nanoseconds on a monotonic clock (or since the start of a simulation).
pub type Nanos = u64;

/// One second in nanoseconds.
pub const SECOND: Nanos = 1_000_000_000;

/// What is wrong with a plan. The Python side checks workloads with file and line; this is the last line of defence.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum PlanError {
    #[error("{place}: unknown value `{{{name}}}`; declare it under values or extract it in an earlier operation")]
    UnknownValue { place: String, name: String },
    #[error("{place}: {message}")]
    Invalid { place: String, message: String },
}

impl PlanError {
    /// What is wrong at a place of the plan.
    pub fn invalid(place: impl Into<String>, message: impl Into<String>) -> Self {
        PlanError::Invalid { place: place.into(), message: message.into() }
    }
}
