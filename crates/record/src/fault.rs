//! What can go wrong with an operation, by name, and whose matter it is.

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
    /// The TLS handshake failed or the certificate is not believed.
    Tls,
    /// The answer is not HTTP.
    Malformed,
    /// The head of the answer is longer than the driver accepts.
    HeadTooLarge,
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
    /// Some other failure of the driver's own system.
    Driver,
}

/// Whose matter an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// A complete answer with wrong content.
    Validation,
    /// No complete answer.
    Transport,
    /// The driver itself was at its limit; says nothing about the server.
    Driver,
}

impl Fault {
    pub const ALL: [Fault; 18] = [
        Fault::Refused,
        Fault::Unreachable,
        Fault::Reset,
        Fault::ClosedEarly,
        Fault::TimeOut,
        Fault::Tls,
        Fault::Malformed,
        Fault::HeadTooLarge,
        Fault::Status,
        Fault::Redirect,
        Fault::Title,
        Fault::Content,
        Fault::Marker,
        Fault::Length,
        Fault::Extract,
        Fault::NoPorts,
        Fault::NoFiles,
        Fault::Driver,
    ];

    pub fn blame(self) -> Blame {
        match self {
            Fault::Status
            | Fault::Redirect
            | Fault::Title
            | Fault::Content
            | Fault::Marker
            | Fault::Length
            | Fault::Extract => Blame::Validation,
            Fault::NoPorts | Fault::NoFiles | Fault::Driver => Blame::Driver,
            _ => Blame::Transport,
        }
    }
}
