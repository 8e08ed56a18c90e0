//! Operations compiled for the hot path: templates for the request, what the answer must be, what is embedded.

mod checks;
mod compiled;
mod extraction;
mod grade;
mod request;
mod rule;
pub mod websocket;

pub use checks::{check_embedded, check_image, PARTIAL};
pub use compiled::{Compiled, CompiledRequest, EmbeddedFile};
pub use grade::{allowed_ns, grade};
pub use request::Sending;

#[cfg(test)]
mod tests;
