//! How messages reach the other side and answers come back: one file a protocol.
//!
//! A protocol has a connection type with `exchange` (a message out, its answer in, at the speed of the user's line) and
//! a word on whether a kept connection is still good. A command protocol with greetings and tagged answers fits the
//! same seam: the greeting is read when the connection is opened, and an answer is complete when its last line is.

pub mod echo;
pub mod http1;
pub mod http2;
pub mod secure;
pub mod stream;
pub mod tls;
pub mod websocket;

use std::cell::RefCell;

use loadstone_record::Fault;
use loadstone_schedule::line::Line;

use crate::client::cookies::Jar;
use crate::clock::Clock;
use crate::inspect::Inspector;
use crate::scratch::Scratch;
use crate::timer::Timer;
use http1::{Cookies, Reader};
use stream::{Idle, Stream};

/// Whether an answer may have a body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Body {
    /// As its head says.
    #[default]
    Expected,
    /// None, whatever its head says (HEAD; RFC 9112, section 6.3).
    Never,
}

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// For HTTP the request as HTTP/1.1 writes it, whatever the version spoken.
    pub bytes: &'a [u8],
    pub body: Body,
    /// Whether the answer's date of last change is of interest.
    pub wants_date: bool,
    /// Whether it goes out over TLS.
    pub is_secure: bool,
}

impl Message<'_> {
    /// Where the cookies of its answer go.
    fn cookies<'a>(&'a self, jar: &'a mut Jar) -> Cookies<'a> {
        Cookies { jar, request: self.bytes, is_secure: self.is_secure }
    }
}

/// What every user reacts to in an answer. Times on the run's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer {
    pub status: u16,
    /// Bytes received, head included.
    pub bytes: u64,
    /// Bytes of the body, decoded where it came compressed.
    pub body_bytes: u64,
    pub first_byte_ns: u64,
    pub end_ns: u64,
    /// Whether the connection is good for another message.
    pub keep_alive: bool,
}

/// What an exchange needs beside the connection.
pub struct ExchangeContext<'a> {
    pub clock: Clock,
    pub timer: &'a Timer,
    pub scratch: &'a RefCell<Scratch>,
    pub line: &'a mut Line,
    pub reader: &'a mut Reader,
    pub inspector: &'a mut Inspector,
    pub jar: &'a RefCell<Jar>,
}

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

/// Why an exchange did not work.
#[derive(Clone, Debug)]
pub struct Failure {
    pub fault: Fault,
    pub detail: String,
    /// Whether it is certain that the server has not processed the request.
    pub is_unprocessed: bool,
}

impl Failure {
    /// A fault with what was seen of it, for people.
    pub fn new(fault: Fault, detail: impl Into<String>) -> Self {
        Failure { fault, detail: detail.into(), is_unprocessed: false }
    }

    /// The same of a file, by its path.
    pub fn of(self, path: &str) -> Self {
        Failure { detail: format!("{}: {path}", self.detail), ..self }
    }

    /// An operation that was given up after so many seconds.
    pub fn too_late(seconds: f64, was_connecting: bool) -> Self {
        match was_connecting {
            false => Failure::new(Fault::TimeOut, format!("no complete answer within {seconds} s")),
            true => Failure::new(Fault::Backlog, format!("the connection was not accepted within {seconds} s")),
        }
    }

    /// Names a system error, separating what the driver itself ran out of from what the server did.
    pub fn from_io(error: &std::io::Error) -> Self {
        use rustix::io::Errno;
        use std::io::ErrorKind;
        let fault = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::CONNREFUSED) => Fault::Refused,
            Some(Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED) => Fault::Reset,
            Some(Errno::TIMEDOUT) => Fault::TimeOut,
            Some(Errno::HOSTUNREACH | Errno::NETUNREACH) => Fault::Unreachable,
            Some(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => Fault::NoPorts,
            Some(Errno::MFILE | Errno::NFILE) => Fault::NoFiles,
            Some(_) => Fault::Driver,
            None => match error.kind() {
                ErrorKind::UnexpectedEof => Fault::ClosedEarly,
                ErrorKind::InvalidData => Fault::Tls,
                _ => Fault::Reset,
            },
        };
        Failure::new(fault, error.to_string())
    }
}
