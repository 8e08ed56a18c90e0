//! Values that sessions know, and how each is drawn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named value and how it is drawn.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    pub name: String,
    pub scope: Scope,
    /// States before which a value of scope `states` is drawn.
    #[serde(default)]
    pub states: Vec<u32>,
    #[serde(flatten)]
    pub kind: GeneratorKind,
}

/// How long a drawn value holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Drawn anew for every operation.
    Operation,
    /// Drawn once when a user session begins.
    Session,
    /// Drawn before certain states only, and held until then.
    States,
}

/// How a value is drawn.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum GeneratorKind {
    /// A whole number from min to max, zero-padded to `digits`.
    Uniform {
        min: i64,
        max: i64,
        digits: u8,
    },
    /// A whole number from 1 to max, the smaller the likelier: exponential, its mean this share of max.
    Exponential {
        max: u64,
        mean_share: f64,
    },
    /// A rank by Zipf's law, counted from `first`.
    Zipf {
        n: u64,
        alpha: f64,
        first: u64,
        digits: u8,
    },
    Choice {
        values: Vec<String>,
        weights: Option<Vec<f64>>,
    },
    /// One row; fills `{name.column}` for every column.
    Table {
        columns: Vec<String>,
        rows: Vec<Vec<String>>,
        weights: Option<Vec<f64>>,
        /// The row of the session's number, instead of one that is drawn.
        #[serde(default)]
        own: bool,
    },
    Words {
        words: Vec<String>,
        count: u32,
        separator: String,
    },
    /// A date, in days since 1970-01-01, written YYYY-MM-DD.
    Date {
        from_days: i64,
        to_days: i64,
    },
    /// User ids: each session owns `per_session` of them and takes the next at each new user session.
    User {
        per_session: u64,
        first: u64,
        digits: u8,
        /// Any of them at each draw, instead of the next.
        #[serde(default)]
        any: bool,
    },
    Text {
        text: String,
    },
    /// What a variable of the lab's environment holds. `value` is in the plan that a driver plays, and in no record of it;
    /// simulations do without.
    Secret {
        variable: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// A number that grows by one at each draw of a session.
    Counter {
        first: u64,
        digits: u8,
    },
    /// A text that no other draw gives, of this run or of another one with another salt.
    Unique {
        form: UniqueForm,
        prefix: String,
        salt: u64,
    },
    /// The time at which the operation is due.
    Now {
        form: TimeForm,
    },
}

/// How a unique text is written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UniqueForm {
    /// 13 letters and digits.
    Text,
    /// A random UUID (RFC 9562, section 5.4).
    Uuid,
}

/// How a moment is written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeForm {
    /// Seconds since 1970-01-01 (UTC).
    S,
    /// Milliseconds since then.
    Ms,
    /// ISO 8601 in UTC with milliseconds, as JavaScript's `toISOString` writes it.
    Iso,
    /// The same without milliseconds.
    IsoS,
}

impl Generator {
    /// The text that must not be written down, if it is one.
    pub fn secret(&self) -> Option<&str> {
        match &self.kind {
            GeneratorKind::Secret { value, .. } => value.as_deref(),
            _ => None,
        }
    }
}
