//! A connection to a database, whatever stands behind it.

use serde::{Deserialize, Serialize};

use super::value::{Row, Value};

/// Why a statement did not work.
#[derive(Clone, Debug, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SqlError {
    /// Another transaction was in the way; the whole transaction may be tried again.
    #[error("another transaction was in the way: {0}")]
    Conflict(String),
    /// A row with this key is there already.
    #[error("there is such a row already: {0}")]
    Duplicate(String),
    /// The connection is gone.
    #[error("the database does not answer: {0}")]
    Gone(String),
    #[error("{0}")]
    Other(String),
}

/// What a transaction may begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    Write,
}

/// A connection to a database.
pub trait Connection: Send {
    /// Performs one statement; its rows, or one row with the number of rows it changed.
    fn run(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, SqlError>;
    /// Begins a transaction.
    fn begin(&mut self, access: Access) -> Result<(), SqlError>;
    /// Keeps what the transaction did.
    fn commit(&mut self) -> Result<(), SqlError>;
    /// Undoes what the transaction did.
    fn roll_back(&mut self) -> Result<(), SqlError>;
}
