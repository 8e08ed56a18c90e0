//! What can go wrong with an operation, by name. Whose matter each kind is, the judge's side says (`BLAME` in
//! `model/figures.py`): a wrong answer, no answer, or the driver itself at its limit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kinds of error an operation can end with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Nobody listens there, or the listener's queue is full.
    Refused,
    /// Host or network cannot be reached.
    Unreachable,
    /// The other side reset the connection.
    Reset,
    /// The other side closed before the answer was complete.
    ClosedEarly,
    /// The operation took longer than its time-out.
    TimeOut,
    /// It ran into its time-out before the connection was accepted: the listener's queue is full, or packets are lost.
    Backlog,
    /// The TLS handshake failed or the certificate is not believed.
    Tls,
    /// The answer is not HTTP.
    Malformed,
    /// The head of the answer is longer than the driver accepts.
    HeadTooLarge,
    /// The body is not in the content coding that its head tells, or in none that can be decoded.
    Coding,
    /// Wrong status code.
    Status,
    /// More redirects than the operation allows, or one that leads nowhere.
    Redirect,
    /// Wrong page title.
    Title,
    /// Text that must be there is missing, or the other way round.
    Content,
    /// A marker in the body is missing or out of place.
    Marker,
    /// The body has the wrong length.
    Length,
    /// A value that should have been extracted is not in the answer.
    Extract,
    /// The driver has no source port left.
    NoPorts,
    /// The driver may open no more files.
    NoFiles,
    /// More sessions at once than the plan lets the driver have.
    NoSessions,
    /// Some other failure of the driver's own system.
    Driver,
}
