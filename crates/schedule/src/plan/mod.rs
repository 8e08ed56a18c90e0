//! The plan: everything one driver run needs to know, resolved to numbers. One JSON document, this schema.
//!
//! Written by the Python side from a workload, a profile and a target; read by the driver and the simulator.

mod load;
mod operation;
mod session;
mod target;
#[cfg(test)]
mod tests;
mod value;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use load::{Curve, Load, Path, Phase, Phases, PopulationStage, Process, Stage};
pub use operation::{
    Decode, Embedded, Ending, Expect, Extract, Field, Images, JsonExpect, Limit, Method, Operation, Request, Scheme,
    SocketStep, Upload, UploadContent,
};
pub use session::{
    Connections, Distribution, Edge, Mailboxes, MessageSize, Mix, Pacing, PacingKind, Pause, Protocol, Row, State,
    Workload,
};
pub use target::{Addresses, DeliveryProtocol, Endpoint, Identity, MailDelivery, Target, Trust};
pub use value::{Generator, GeneratorKind, Scope, TimeForm, UniqueForm};

/// Version of this schema. A driver refuses any other.
pub const PLAN_SCHEMA: u32 = 5;

/// Everything a driver needs to know of a run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub schema: u32,
    pub name: String,
    pub seed: u64,
    pub phases: Phases,
    /// Driver threads, each with its own event loop and its share of the sessions.
    pub threads: u32,
    /// Workloads that are played at the same time.
    pub parts: Vec<Part>,
    /// Which share of the load this driver plays.
    #[serde(default)]
    pub member: Member,
    /// How many of the steady state's first starts each thread writes down one by one.
    #[serde(default)]
    pub log_starts: u32,
    /// How many operations each thread writes down one by one, from the start on.
    #[serde(default)]
    pub log_operations: u32,
    /// Whether every exchange is told as it was, and the run ends with its first visit.
    #[serde(default)]
    pub trace: bool,
}

/// One of the drivers that play a plan together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Member {
    pub index: u32,
    pub of: u32,
}

impl Default for Member {
    fn default() -> Self {
        Member { index: 0, of: 1 }
    }
}

impl Member {
    /// Whether this driver plays the session or arrival of this number, where each has so many threads: blocks of
    /// threads take turns, so that together all are played once, by however many.
    pub fn plays(self, number: u64, threads: u32) -> bool {
        let (index, of) = (u64::from(self.index), u64::from(self.of.max(1)));
        let threads = u64::from(threads.max(1));
        number % (threads * of) / threads == index
    }
}

/// One workload, its load and its target.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub load: Load,
    /// Machines alike, to which sessions are dealt in turn; empty when the plan is only simulated.
    pub targets: Vec<Target>,
    pub workload: Workload,
    /// How the load varies in time; even without one.
    #[serde(default)]
    pub curve: Option<Curve>,
}
