//! The idle role: a machine that is hardly used, and answers heartbeats so that its responsiveness can be seen.

use http::{Method, StatusCode};

use crate::content::Page;
use crate::front::answer::{html, refusal, Answer};
use crate::front::{Request, Role};

/// Where heartbeats are answered.
pub const HEARTBEAT: &str = "/heartbeat";

/// The role: it holds nothing.
#[derive(Debug, Default)]
pub struct Idle;

impl Role for Idle {
    async fn answer(&self, request: Request) -> Answer {
        match (&request.method, request.path.as_str()) {
            (&Method::GET, HEARTBEAT) => html(Page::new("Heartbeat", 0).finish(0)),
            _ => refusal(StatusCode::NOT_FOUND),
        }
    }
}
