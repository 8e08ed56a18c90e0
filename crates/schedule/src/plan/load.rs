//! How much load a plan makes, over the time of its run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Nanos;

/// A load that varies in time: a pause lasts until the factors of its time come to it, again and again from the start.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// How long each factor holds.
    pub step_ns: Nanos,
    /// How many times the mean load; their own mean should be 1.
    pub factors: Vec<f64>,
    /// Place on the curve at the start of the run.
    pub shift_ns: Nanos,
}

/// How much load: a number of sessions, or sessions that come by themselves.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// Closed: this many sessions at once, user after user.
    Population {
        /// How many; of a number that changes the largest.
        sessions: u32,
        /// How many there are over the steady state, where that changes; before it as many as at its beginning, after
        /// it as many as at its end.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        path: Vec<PopulationStage>,
    },
    /// Open: user sessions begin at their time, however many are still there.
    Arrivals {
        process: Process,
        path: Path,
        /// Most sessions at once; those that come beyond are errors of the driver.
        most_sessions: u32,
        /// How many owners of data the arriving sessions stand for, in turn.
        data_sessions: u64,
    },
}

impl Load {
    /// Whether it is a population whose number changes: only drivers play that.
    pub fn changes(&self) -> bool {
        matches!(self, Load::Population { path, .. } if !path.is_empty())
    }

    /// Whether nobody comes.
    pub fn is_none(&self) -> bool {
        matches!(self, Load::Population { sessions: 0, .. })
    }
}

/// A time over which the number of sessions changes evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PopulationStage {
    pub length_ns: Nanos,
    pub from: u32,
    pub to: u32,
}

/// How arrivals are spread at a given rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Process {
    /// Evenly spaced.
    Constant,
    /// Independent of each other: exponential gaps.
    Poisson,
    /// Poisson at a rate that jumps between nearly twice and a tenth of the mean, so that the variance of a long time's
    /// count is `dispersion` times its mean; above 1.
    Bursty { dispersion: f64 },
    /// The same with times between jumps of any length (Pareto): bursts on every scale; `hurst` between 0.5 and 1.
    SelfSimilar { hurst: f64 },
}

/// Rate over the time of the run, or the instants themselves.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Path {
    /// One after the other, from the start of the run.
    Stages { stages: Vec<Stage> },
    /// Instants in order, counted from the start of the run; the process has no say.
    Trace { at_ns: Vec<Nanos> },
}

/// A time over which the rate changes evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    pub length_ns: Nanos,
    /// Sessions per second at its beginning and at its end.
    pub from_per_s: f64,
    pub to_per_s: f64,
}

/// Lengths of the phases, in order.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Sessions start evenly over this time.
    pub ramp_up_ns: Nanos,
    /// All sessions run, nothing counts yet.
    pub warm_up_ns: Nanos,
    /// What is measured.
    pub steady_ns: Nanos,
    /// Sessions stop evenly over this time.
    pub ramp_down_ns: Nanos,
}

impl Phases {
    /// When the steady state begins, from the start of the run.
    pub fn steady_start(&self) -> Nanos {
        self.ramp_up_ns + self.warm_up_ns
    }

    /// When it ends.
    pub fn steady_end(&self) -> Nanos {
        self.steady_start() + self.steady_ns
    }

    /// When the run ends.
    pub fn end(&self) -> Nanos {
        self.steady_end() + self.ramp_down_ns
    }

    /// Whether instants of the run can be reckoned with: no phase takes longer than ten years.
    pub fn are_sane(&self) -> bool {
        const TEN_YEARS: Nanos = 3653 * 86_400 * crate::SECOND;
        [self.ramp_up_ns, self.warm_up_ns, self.steady_ns, self.ramp_down_ns].iter().all(|&length| length <= TEN_YEARS)
    }

    /// The phase at `at` nanoseconds after the start of the run.
    pub fn at(&self, at: Nanos) -> Phase {
        match at {
            _ if at < self.ramp_up_ns => Phase::RampUp,
            _ if at < self.steady_start() => Phase::WarmUp,
            _ if at < self.steady_end() => Phase::Steady,
            _ if at < self.end() => Phase::RampDown,
            _ => Phase::Done,
        }
    }
}

/// The phases of a run, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    RampUp,
    WarmUp,
    Steady,
    RampDown,
    Done,
}
