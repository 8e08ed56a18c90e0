//! One of a user's connections: opened when needed, kept, opened again when the server closed an idle one.

use std::sync::Arc;

use loadstone_record::recorder::WireCounts;
use loadstone_record::Fault;
use loadstone_schedule::line::Line;
use loadstone_schedule::plan::Scheme;
use rustls::ClientConfig;

use crate::cookies::Jar;
use crate::inspect::Inspector;
use crate::shared::Shared;
use crate::transport::http1::{exchange, Answer, Ways};
use crate::transport::stream::{connect, connect_tls, Handshake, Stream};
use crate::transport::Failure;

/// A connection of one user to one side of the target, with its share of the user's line.
pub struct Lane {
    scheme: Scheme,
    stream: Option<Stream>,
    pub line: Line,
    pub inspector: Inspector,
}

/// One request and what its user brings along.
pub struct Call<'a> {
    pub tls: Option<&'a Arc<ClientConfig>>,
    pub jar: &'a mut Jar,
    pub request: &'a [u8],
    /// The answer has no body whatever its head says (HEAD).
    pub bodiless: bool,
}

impl Lane {
    pub fn new(scheme: Scheme) -> Self {
        Lane { scheme, stream: None, line: Line::new(None), inspector: Inspector::new() }
    }

    /// Closes the connection.
    pub fn close(&mut self, shared: &Shared) {
        if self.stream.take().is_some() {
            shared.open.set(shared.open.get().saturating_sub(1));
        }
    }

    /// Sends a request and reads its answer; the inspector must be reset for it.
    pub async fn exchange(&mut self, shared: &Shared, mut call: Call<'_>) -> Result<Answer, Failure> {
        let mut buffer = shared.buffer();
        if self.stream.as_mut().is_some_and(Stream::is_stale) {
            self.close(shared);
            let change = WireCounts { reconnects: 1, ..WireCounts::default() };
            shared.recorder.borrow_mut().wires(shared.clock.now(), change);
        }
        let result = self.attempt(shared, &mut call, &mut buffer).await;
        shared.keep_buffer(buffer);
        if !matches!(&result, Ok(answer) if answer.keep_alive) {
            self.close(shared);
        }
        result
    }

    async fn attempt(&mut self, shared: &Shared, call: &mut Call<'_>, buffer: &mut Vec<u8>) -> Result<Answer, Failure> {
        if self.stream.is_none() {
            self.stream = Some(open(shared, self.scheme, call.tls).await?);
            shared.open.set(shared.open.get() + 1);
        }
        let Some(stream) = self.stream.as_mut() else {
            return Err(Failure::new(Fault::Driver, "no stream"));
        };
        let change = WireCounts { http_requests: 1, ..WireCounts::default() };
        shared.recorder.borrow_mut().wires(shared.clock.now(), change);
        let mut ways = Ways {
            clock: shared.clock,
            timer: &shared.timer,
            line: &mut self.line,
            buffer,
            inspector: &mut self.inspector,
            jar: call.jar,
        };
        let answer = exchange(stream, &mut ways, call.request, call.bodiless).await?;
        if self.line.is_limited() {
            let now = shared.clock.now();
            shared.recorder.borrow_mut().lag(now, now.saturating_sub(answer.end_ns));
        }
        Ok(answer)
    }
}

async fn open(shared: &Shared, scheme: Scheme, tls: Option<&Arc<ClientConfig>>) -> Result<Stream, Failure> {
    let missing = || Failure::new(Fault::Driver, format!("the target has no {scheme:?} side"));
    let destination = shared.job.destination(scheme).ok_or_else(missing)?;
    let mut change = WireCounts { connections: 1, ..WireCounts::default() };
    let stream = match (&destination.name, tls) {
        (Some(name), Some(config)) => {
            let (stream, handshake) = connect_tls(destination.address, name.clone(), config.clone()).await?;
            match handshake {
                Handshake::Resumed => change.handshakes_resumed = 1,
                _ => change.handshakes_full = 1,
            }
            stream
        }
        _ => connect(destination.address).await?,
    };
    shared.recorder.borrow_mut().wires(shared.clock.now(), change);
    Ok(stream)
}
