//! Steps of an exchange over a WebSocket, compiled.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use bytes::Bytes;
use loadstone_schedule::plan::SocketStep;
use loadstone_schedule::slots::{Slots, Values};
use loadstone_schedule::template::Template;
use loadstone_schedule::PlanError;

use crate::needle::Needle;

/// A step ready to be taken.
#[derive(Clone, Debug)]
pub enum CompiledStep {
    Send(Template),
    SendBytes(Bytes),
    Ping,
    Expect(Needle),
    Await(Needle),
}

impl CompiledStep {
    /// What it waits for, for people.
    pub fn told(&self, values: &Values) -> String {
        match self {
            CompiledStep::Send(_) | CompiledStep::SendBytes(_) => "a message to be sent".into(),
            CompiledStep::Ping => "the pong to a ping".into(),
            CompiledStep::Expect(needle) | CompiledStep::Await(needle) => match needle.text(values) {
                text if text.is_empty() => "any message".into(),
                text => format!("a message with `{text}`"),
            },
        }
    }

    /// Raises for unknown values, and for what is no base64.
    pub fn new(step: &SocketStep, slots: &Slots, place: &str) -> Result<Self, PlanError> {
        Ok(match step {
            SocketStep::Send(text) => CompiledStep::Send(Template::compile(text, slots, place)?),
            SocketStep::SendBytes(text) => match STANDARD.decode(text) {
                Ok(bytes) => CompiledStep::SendBytes(bytes.into()),
                Err(error) => return Err(PlanError::invalid(place, format!("`{text}` is not valid base64: {error}"))),
            },
            SocketStep::Ping => CompiledStep::Ping,
            SocketStep::Expect(text) => CompiledStep::Expect(Needle::compile(text, slots, place)?),
            SocketStep::Await(text) => CompiledStep::Await(Needle::compile(text, slots, place)?),
        })
    }
}
