//! How messages reach the other side and answers come back: one file a protocol.
//!
//! A protocol has a connection type with `exchange` (a message out, its answer in, at the speed of the user's line) and
//! a word on whether a kept connection is still good. A command protocol with greetings and tagged answers fits the
//! same seam: the greeting is read when the connection is opened, and an answer is complete when its last line is.

pub mod echo;
mod exchange;
mod failure;
mod framing;
mod head;
pub mod http1;
pub mod http2;
pub mod reader;
pub mod secure;
mod session_memory;
pub mod stream;
pub mod tls;
pub mod websocket;

pub use exchange::{Answer, ExchangeContext, Message};
pub use failure::Failure;
pub use reader::Body;
use stream::{Idle, Stream};

/// A connection and the protocol spoken on it.
pub enum Connection {
    Http1(Stream),
    Http2(http2::Http2),
    Echo(Stream),
    /// To no one.
    Null,
}

impl Connection {
    /// Sends a message and reads its answer to the end.
    pub async fn exchange(
        &mut self,
        context: &mut ExchangeContext<'_>,
        message: &Message<'_>,
    ) -> Result<Answer, Failure> {
        match self {
            Connection::Http1(stream) => http1::exchange(stream, context, message).await,
            Connection::Http2(http2) => http2.exchange(context, message).await,
            Connection::Echo(stream) => echo::exchange(stream, context, message).await,
            Connection::Null => {
                tokio::task::yield_now().await; // others have their turn, as they would during a real answer
                let now = context.clock.now();
                Ok(Answer { status: 200, bytes: 0, body_bytes: 0, first_byte_ns: now, end_ns: now, keep_alive: true })
            }
        }
    }

    /// Gives back memory that a pause does not need.
    pub fn rest(&mut self) {
        if let Connection::Http1(stream) | Connection::Echo(stream) = self {
            stream.rest();
        }
    }

    /// What it is good for while nothing is under way on it.
    pub fn idle(&mut self) -> Idle {
        match self {
            Connection::Http1(stream) | Connection::Echo(stream) => stream.idle(),
            Connection::Http2(http2) => match http2.is_stale() {
                true => Idle::Closed,
                false => Idle::Quiet,
            },
            Connection::Null => Idle::Quiet,
        }
    }
}
