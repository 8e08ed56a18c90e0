//! One of a user's connections: opened when needed, kept, opened again when the server closed an idle one.

use std::cell::RefCell;
use std::sync::Arc;

use loadstone_record::counts::ConnectionStats;
use loadstone_record::event::{Event, Exchange};
use loadstone_record::Fault;
use loadstone_schedule::line::Line;
use loadstone_schedule::plan::{Protocol, Scheme};
use rustls::ClientConfig;

use super::cookies::Jar;
use super::dealt::Dealt;
use crate::inspect::{Inspector, HEAD_BYTES};
use crate::server::Server;
use crate::shared::Shared;
use crate::transport::http2::{Http2, SharedHttp2};
use crate::transport::reader::Reader;
use crate::transport::stream::{connect, is_of_further_source, secure, Handshake, Idle, Intake, Stream};
use crate::transport::{Answer, Body, Connection, ExchangeContext, Failure, Message};

/// Time after which the kernel asks again for a connection (RFC 6298, section 2.1).
const ASKED_AGAIN_NS: u64 = 1_000_000_000;
/// How often a request that an HTTP/2 server declares unprocessed is sent again.
const MOST_DECLINED: u32 = 4;
/// Status by which servers end connections that have been idle.
const REQUEST_TIMEOUT: u16 = 408;

/// A connection of one user to one side of the target, with its share of the user's line.
pub struct ClientConnection {
    scheme: Scheme,
    connection: Option<Connection>,
    /// Whether another of the user's has opened it, and counts it.
    is_shared: bool,
    /// Messages sent on the connection.
    used: u32,
    /// The operation that sent the latest of them.
    latest: usize,
    /// The operation that sent the one before.
    before: usize,
    /// Under way to a connection that is not accepted yet.
    connecting: bool,
    pub line: Line,
    pub inspector: Inspector,
    pub reader: Reader,
    /// Whether the reader keeps the date of what comes.
    pub wants_date: bool,
    /// What is sent; kept for its memory.
    pub request: Vec<u8>,
}

/// What a user brings along to each of its connections.
#[derive(Clone, Copy)]
pub struct UserContext<'a> {
    pub server: &'a Server,
    pub tls: Option<&'a Arc<ClientConfig>>,
    pub jar: &'a RefCell<Jar>,
    pub dealt: &'a Dealt,
    /// The connection that lanes of HTTP/2 share, of the plain and of the secure side.
    pub shared_http2: &'a SharedConnections,
    /// The operation that is performed, by its number.
    pub operation: usize,
    /// Chooses among several addresses of the server.
    pub turn: u64,
}

/// The connections that a user's lanes share: that of the plain and that of the secure side.
pub type SharedConnections = [tokio::sync::Mutex<SharedHttp2>; 2];

impl ClientConnection {
    /// Not open yet; to the plain or the secure side of the target.
    pub fn new(scheme: Scheme) -> Self {
        ClientConnection {
            scheme,
            connection: None,
            is_shared: false,
            used: 0,
            latest: 0,
            before: 0,
            connecting: false,
            line: Line::new(None),
            inspector: Inspector::new(),
            reader: Reader::default(),
            wants_date: false,
            request: Vec::new(),
        }
    }

    /// Closes the connection.
    pub fn close(&mut self, shared: &Shared) {
        if self.connection.take().is_some() && !std::mem::take(&mut self.is_shared) {
            shared.open.set(shared.open.get().saturating_sub(1));
        }
    }

    /// Whether what was given up was still waiting for its connection to be accepted; asked once.
    pub fn was_connecting(&mut self) -> bool {
        std::mem::take(&mut self.connecting)
    }

    /// Lays the connection aside for a pause.
    pub fn park(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.rest();
        }
    }

    /// Gives back the memory of a request that was longer than usual.
    pub fn forget_long_request(&mut self, most_bytes: usize) {
        if self.request.capacity() > most_bytes {
            self.request = Vec::new();
        }
    }

    /// Uses the connection of another connection as well, where the protocol allows it.
    pub fn join(&mut self, other: &ClientConnection) {
        if let (None, Some(Connection::Http2(http2))) = (&self.connection, &other.connection) {
            self.connection = Some(Connection::Http2(http2.clone()));
            self.is_shared = true;
        }
    }

    /// Sends what stands in `request` and reads the answer; the inspector must be reset for it.
    pub async fn exchange(&mut self, shared: &Shared, user: UserContext<'_>, body: Body) -> Result<Answer, Failure> {
        match self.connection.as_mut().map(Connection::idle) {
            Some(Idle::Closed) => self.reopen(shared),
            Some(Idle::Unasked) => self.give_up_trailing(shared),
            Some(Idle::Quiet) | None => {}
        }
        let mut was_kept = self.connection.is_some();
        let begun_ns = shared.now();
        if shared.job.traces {
            self.reader.keeps_head = true;
            self.inspector.keep_at_least(HEAD_BYTES);
        }
        let mut declined = 0;
        let mut result = self.attempt(shared, user, body).await;
        loop {
            let failure = match &result {
                Ok(answer) if was_kept && self.gave_up(answer) => {
                    was_kept = false;
                    self.resend(shared, user.operation);
                    self.inspector.restart();
                    result = self.attempt(shared, user, body).await;
                    continue;
                }
                Ok(_) => break,
                Err(failure) => failure,
            };
            if failure.is_unprocessed && declined < MOST_DECLINED {
                declined += 1;
                self.count(shared, ConnectionStats { declined: 1, ..ConnectionStats::default() });
                if self.connection.as_mut().is_some_and(|connection| connection.idle() == Idle::Closed) {
                    self.reopen(shared);
                }
            } else if was_kept && self.met_the_end(failure) {
                was_kept = false;
                self.resend(shared, user.operation);
            } else {
                break;
            }
            result = self.attempt(shared, user, body).await;
        }
        self.before = std::mem::replace(&mut self.latest, user.operation);
        if was_kept {
            result = result.map_err(|failure| self.blamed(shared, failure));
        }
        shared.trace(|| self.told(begun_ns, &result, shared.now()));
        let most = shared.job.policy().requests_each.unwrap_or(u32::MAX);
        if !matches!(&result, Ok(answer) if answer.keep_alive && self.used < most) {
            self.close(shared);
        }
        result
    }

    /// A request and what came of it, for people.
    fn told(&self, at_ns: u64, result: &Result<Answer, Failure>, now_ns: u64) -> Event {
        let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD_BYTES)]).into_owned();
        let answer = result.as_ref().copied().unwrap_or_default();
        Event::Exchange(Box::new(Exchange {
            at_ns,
            first_byte_ns: answer.first_byte_ns,
            end_ns: now_ns,
            is_secure: self.scheme == Scheme::Https,
            request: text(&self.request),
            head: text(&self.reader.head),
            body: text(&self.inspector.head),
            bytes: answer.bytes,
            body_bytes: self.inspector.body_bytes(),
            fault: result.as_ref().err().map_or_else(String::new, |failure| failure.detail.clone()),
        }))
    }

    /// Gives up a connection that the server closed; the next attempt opens another.
    fn reopen(&mut self, shared: &Shared) {
        self.close(shared);
        self.count(shared, ConnectionStats { reconnects: 1, ..ConnectionStats::default() });
    }

    /// Gives up a connection on which bytes came behind the end of an answer, as browsers do, and notes it for the
    /// operation that asked for that answer. What came is no answer to the next request (RFC 9112, section 9.2).
    fn give_up_trailing(&mut self, shared: &Shared) {
        self.close(shared);
        self.count(shared, ConnectionStats { trailing: 1, ..ConnectionStats::default() });
        shared.trouble(self.latest, Fault::Malformed, "bytes came behind the end of the answer");
    }

    /// Prepares to send a request again that met the end of its connection. The server may have processed it: it is
    /// counted, and what is not idempotent is in doubt for an audit (RFC 9110, section 9.2.2).
    fn resend(&mut self, shared: &Shared, operation: usize) {
        self.close(shared);
        self.count(shared, ConnectionStats { resent: 1, ..ConnectionStats::default() });
        if self.request.starts_with(b"POST ") || self.request.starts_with(b"PATCH ") {
            shared.ledger.borrow_mut().doubted(operation);
        }
    }

    fn count(&self, shared: &Shared, change: ConnectionStats) {
        shared.recorder.borrow_mut().connections(shared.now(), change);
    }

    /// Whether a request on a kept connection met its end: nothing of an answer came. Browsers send any request again
    /// then, once, for the connection may have been closed before it arrived (RFC 9112, section 9.3.1, asks for no more
    /// than that of idempotent ones); its response time goes on.
    fn met_the_end(&self, failure: &Failure) -> bool {
        let is_http = matches!(self.connection, Some(Connection::Http1(_) | Connection::Http2(_)));
        matches!(failure.fault, Fault::ClosedEarly | Fault::Reset) && is_http && self.reader.received() == 0
    }

    /// Whether an answer says that the server waited too long for a request on a kept connection, which it closes: that
    /// crossed the request, and browsers send this again (RFC 9110, section 15.5.9).
    fn gave_up(&self, answer: &Answer) -> bool {
        answer.status == REQUEST_TIMEOUT && !answer.keep_alive && matches!(self.connection, Some(Connection::Http1(_)))
    }

    /// A failure to read the beginning of an answer, with the operation whose answer may not have ended before.
    fn blamed(&self, shared: &Shared, failure: Failure) -> Failure {
        if failure.fault != Fault::Malformed || self.reader.status != 0 || self.used < 2 {
            return failure;
        }
        let before = &shared.job.operations[self.before].name;
        let detail =
            format!("{}; it may be the end of the answer to `{before}`, on the same connection", failure.detail);
        Failure { detail, ..failure }
    }

    async fn attempt(&mut self, shared: &Shared, user: UserContext<'_>, body: Body) -> Result<Answer, Failure> {
        if self.connection.is_none() {
            self.connecting = true;
            // On the heap, since a session would else take memory for it at all times.
            let opened = Box::pin(open(shared, self.scheme, user, &mut self.connecting)).await;
            self.connecting = false;
            let (connection, is_shared) = opened?;
            (self.connection, self.is_shared) = (Some(connection), is_shared);
            self.used = 0;
            shared.open.set(shared.open.get() + u64::from(!is_shared));
        }
        let Some(connection) = self.connection.as_mut() else {
            return Err(Failure::new(Fault::Driver, "no connection"));
        };
        if self.used == 0 && connection.idle() == Idle::Unasked {
            return Err(Failure::new(Fault::Malformed, "an answer began before its request was sent"));
        }
        shared.recorder.borrow_mut().request(shared.now());
        self.used += 1;
        let mut context = ExchangeContext {
            clock: shared.timer.clock(),
            timer: &shared.timer,
            scratch: &shared.scratch,
            line: &mut self.line,
            reader: &mut self.reader,
            inspector: &mut self.inspector,
            jar: user.jar,
        };
        let is_secure = self.scheme == Scheme::Https;
        let message = Message { bytes: &self.request, body, wants_date: self.wants_date, is_secure };
        connection.exchange(&mut context, &message).await
    }
}

/// Whether a limited line takes what comes: connections serve pages and their files alike.
fn intake(shared: &Shared) -> Intake {
    let policy = shared.job.policy();
    match policy.page_bytes_per_s.or(policy.embedded_bytes_per_s) {
        Some(_) => Intake::Limited,
        None => Intake::Unlimited,
    }
}

/// Opens a connection, or takes that of the user's other lanes; whether it is theirs.
async fn open(
    shared: &Shared,
    scheme: Scheme,
    user: UserContext<'_>,
    connecting: &mut bool,
) -> Result<(Connection, bool), Failure> {
    let protocol = shared.job.policy().protocol;
    if protocol == Protocol::Null {
        return Ok((Connection::Null, false));
    }
    if protocol == Protocol::Http2 {
        return open_http2(shared, scheme, user, connecting).await;
    }
    let stream = open_stream(shared, scheme, user, connecting).await?;
    let connection = match protocol {
        Protocol::Echo => Connection::Echo(stream),
        _ => Connection::Http1(stream),
    };
    Ok((connection, false))
}

/// Shares the connection of the user's other lanes, or opens one that they share from now on.
async fn open_http2(
    shared: &Shared,
    scheme: Scheme,
    user: UserContext<'_>,
    connecting: &mut bool,
) -> Result<(Connection, bool), Failure> {
    let (place, name) = if scheme == Scheme::Https { (1, "https") } else { (0, "http") };
    let mut common = user.shared_http2[place].lock().await;
    if let Some(http2) = common.get(name) {
        return Ok((Connection::Http2(http2), true));
    }
    let http2 = Http2::open(open_stream(shared, scheme, user, connecting).await?).await?;
    common.set(&http2);
    Ok((Connection::Http2(http2), false))
}

/// Opens a connection's bytes, plain or over TLS.
pub async fn open_stream(
    shared: &Shared,
    scheme: Scheme,
    user: UserContext<'_>,
    connecting: &mut bool,
) -> Result<Stream, Failure> {
    let missing = || Failure::new(Fault::Driver, format!("the target has no {scheme:?} side"));
    let destination = user.server.destination(scheme).ok_or_else(missing)?;
    let begun_ns = shared.now();
    let sources = shared.job.policy().source_addresses;
    let tcp = connect(destination.address(user.turn), intake(shared), sources).await?;
    *connecting = false;
    let late = shared.now() - begun_ns >= ASKED_AGAIN_NS;
    let mut change = ConnectionStats {
        connections: 1,
        connected_late: u64::from(late),
        further_sources: u64::from(is_of_further_source(&tcp)),
        ..ConnectionStats::default()
    };
    let stream = match (&destination.name, user.tls) {
        (Some(name), Some(own)) => {
            let is_full = user.dealt.full_handshake(shared.job.policy().full_handshakes);
            let config = if is_full { user.server.tls.as_ref().unwrap_or(own) } else { own };
            let (stream, handshake) = secure(tcp, name.clone(), config.clone()).await?;
            match handshake {
                Handshake::Resumed => change.handshakes_resumed = 1,
                Handshake::Full => change.handshakes_full = 1,
            }
            stream
        }
        _ => Stream::Plain(tcp),
    };
    shared.recorder.borrow_mut().connections(shared.now(), change);
    Ok(stream)
}
