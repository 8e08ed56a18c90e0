//! Steps of an exchange over a WebSocket, compiled.

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use bytes::Bytes;
use loadstone_schedule::plan::SocketStep;
use loadstone_schedule::slots::Slots;
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
    /// Raises for unknown values, and for what is no base64.
    pub fn new(step: &SocketStep, slots: &Slots, place: &str) -> Result<Self, PlanError> {
        Ok(match step {
            SocketStep::Send(text) => CompiledStep::Send(Template::compile(text, slots, place)?),
            SocketStep::SendBytes(text) => match STANDARD.decode(text) {
                Ok(bytes) => CompiledStep::SendBytes(bytes.into()),
                Err(error) => return Err(PlanError::invalid(place, format!("`{text}` is no base64: {error}"))),
            },
            SocketStep::Ping => CompiledStep::Ping,
            SocketStep::Expect(text) => CompiledStep::Expect(Needle::compile(text, slots, place)?),
            SocketStep::Await(text) => CompiledStep::Await(Needle::compile(text, slots, place)?),
        })
    }
}
