//! What users do: states, their order, pauses, connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operation::{Field, Operation};
use super::value::Generator;
use crate::Nanos;

/// What users do: values, operations, states, mix, pacing and connections.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    pub name: String,
    /// In the order they are drawn; a text may refer to those before it.
    pub values: Vec<Generator>,
    pub operations: Vec<Operation>,
    pub states: Vec<State>,
    pub mix: Mix,
    pub pacing: Pacing,
    pub connections: Connections,
    /// Of mail: what stands in the mailboxes.
    #[serde(default)]
    pub mailboxes: Option<Mailboxes>,
}

/// Users' mailboxes and what is in them before the run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mailboxes {
    /// What user names begin with; the session's number, from 1, follows.
    pub user: String,
    pub password: String,
    /// The first is where most mail is read.
    pub folders: Vec<String>,
    /// Messages of a user at first, over all folders.
    pub messages: u32,
    pub sizes: Vec<MessageSize>,
}

/// A length of messages and how often it comes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageSize {
    pub bytes: u32,
    pub weight: f64,
}

/// A node of the mix: an operation, and what is set before it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct State {
    pub name: String,
    pub operation: u32,
    pub pause: Pause,
    pub set: Vec<Field>,
    /// Texts of which none may be empty, or the sequence passes it over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<String>,
    /// What a cycle time that begins with it lasts at least: the rest of the mean is drawn.
    #[serde(default)]
    pub least_pause_ns: Nanos,
}

/// Whether users pause before a state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// The user pauses before it.
    Drawn,
    /// It follows at once.
    None,
}

/// In what order users pass through the states.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Mix {
    Matrix { start: u32, rows: Vec<Row> },
    Flat { shares: Vec<f64>, operations_per_session: Option<u32> },
    Sequence { states: Vec<u32> },
}

/// A row of the matrix. What is missing to 1 is the user who leaves without a word.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub to: Vec<Edge>,
    pub finish: f64,
}

/// A state and the chance to come to it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    pub state: u32,
    pub probability: f64,
}

/// How pauses are drawn and what they count from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    pub kind: PacingKind,
    pub distribution: Distribution,
    pub mean_ns: Nanos,
    pub cap_ns: Option<Nanos>,
}

/// What a pause counts from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacingKind {
    Think,
    Cycle,
}

/// How pauses are spread around their mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    Exponential,
    Uniform,
    Fixed,
}

/// How users open and keep connections, and at what speed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    pub protocol: Protocol,
    /// Connections a session opens at most per scheme; the page uses the first, embedded files all.
    pub parallel: u8,
    /// Speed of the page's connection, bytes per second.
    pub page_bytes_per_s: Option<f64>,
    /// Speed of each connection while embedded files come.
    pub embedded_bytes_per_s: Option<f64>,
    /// Requests after which a connection is given up; none for as many as the server likes.
    pub requests_each: Option<u32>,
    /// Whether a new user takes over the connections of the one before.
    pub kept_between_users: bool,
    /// Share of a user's TLS connections, after the first, that do not resume its session.
    pub full_handshakes: f64,
    /// Share of users whose browsers have all files of the pages already and ask for them conditionally, each time; the
    /// others fetch each file once. None where each file has a share of its own.
    #[serde(default)]
    pub warm_caches: Option<f64>,
    /// Source addresses that connections to the loopback network take in turn, from 127.0.0.1 on. A driver that has no
    /// ports left takes further ones.
    #[serde(default = "one_source")]
    pub source_addresses: u8,
}

fn one_source() -> u8 {
    1
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    Http1,
    /// HTTP/2: over TLS by negotiation, without TLS by prior knowledge. A user's lanes share one connection.
    Http2,
    /// Bytes sent come back unchanged (RFC 862).
    Echo,
    /// Mail (RFC 3501): an operation's path is its command.
    Imap,
    /// No server at all: every operation is answered at once. Measures the driver itself.
    Null,
}
