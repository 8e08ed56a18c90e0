//! What is exchanged over a connection, whatever the protocol: a message, its answer, and what both need.

use std::cell::RefCell;

use loadstone_schedule::line::Line;

use super::reader::{Body, Cookies, Reader};
use crate::client::cookies::Jar;
use crate::clock::Clock;
use crate::inspect::Inspector;
use crate::scratch::Scratch;
use crate::timer::Timer;

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
    pub fn cookies<'a>(&'a self, jar: &'a mut Jar) -> Cookies<'a> {
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
