//! Values of rows and of statements.

use serde::{Deserialize, Serialize};

/// A value of a row or of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Null,
    Int(i64),
    Text(String),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl Value {
    /// A whole number; 0 for what is none.
    pub fn int(&self) -> i64 {
        if let Value::Int(value) = self {
            *value
        } else {
            0
        }
    }

    /// A text; empty for what is none.
    pub fn text(&self) -> &str {
        if let Value::Text(value) = self {
            value
        } else {
            ""
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Null => Ok(()),
            Value::Int(value) => write!(out, "{value}"),
            Value::Text(text) => out.write_str(text),
        }
    }
}

/// One row of an answer, in the order of the columns asked for.
pub type Row = Vec<Value>;
