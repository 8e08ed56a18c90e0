//! Performing an operation that is an exchange over a WebSocket, on a connection of its own.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use loadstone_record::event::{Event, Exchange};
use loadstone_record::Fault;
use loadstone_schedule::plan::Scheme;
use loadstone_schedule::slots::Values;

use super::browser::Browser;
use super::connection::{open_stream, UserContext};
use super::host::host;
use super::progress::Progress;
use crate::ending::ended;
use crate::operation::{Compiled, Sending};
use crate::shared::Shared;
use crate::transport::http2::translate;
use crate::transport::websocket::Socket;
use crate::transport::{Answer, Failure};

impl Browser {
    /// Opens a WebSocket and takes its steps; its latest message is checked as the body of a page is.
    pub(super) async fn converse(
        &mut self,
        shared: &Shared,
        operation: &Compiled,
        values: &mut Values,
        progress: &Progress,
    ) -> Result<Scheme, Failure> {
        let (scheme, begun_ns) = (operation.scheme, shared.now());
        let server = &shared.job.servers[self.server];
        let mut request = std::mem::take(&mut self.page_connection(scheme).request);
        let with = Sending {
            values,
            host: host(shared.job.policy().protocol, server, scheme)?,
            is_secure: scheme == Scheme::Https,
            jar: &self.person.jar,
            from: 0,
        };
        operation.write_request(&with, None, &mut request);
        let user = self.person.context(server);
        let transcript = shared.job.traces.then(Rc::<RefCell<String>>::default);
        let mut unfinished = transcript.clone().map(|transcript| {
            let request = request.clone();
            Unfinished { shared, scheme, begun_ns, request, transcript, is_over: false }
        });
        let talked = talk(shared, (operation, user), &request, values, (transcript.clone(), progress)).await;
        if let Some(unfinished) = &mut unfinished {
            unfinished.is_over = true;
        }
        let told = transcript.map(|transcript| transcript.take()).filter(|told| talked.is_ok() || !told.is_empty());
        shared.trace(|| exchange_told(scheme, (begun_ns, shared.now()), &request, told, &talked));
        let connection = self.page_connection(scheme);
        connection.request = request;
        let (latest, mut answer) = talked?;
        connection.line.set_rate(shared.job.policy().page_bytes_per_s);
        if connection.line.is_limited() {
            connection.line.deliver(answer.first_byte_ns, answer.bytes as usize);
            answer.end_ns = answer.end_ns.max(connection.line.free_at());
            shared.timer.sleep_until(answer.end_ns).await;
        }
        connection.inspector.reset(operation.markers_every, operation.keeps());
        connection.inspector.take(&latest);
        progress.take(&answer);
        progress.status.set(answer.status);
        progress.page_bytes.set(progress.page_bytes.get() + answer.bytes);
        progress.first_byte_ns.set(Some(answer.first_byte_ns));
        let connection = self.page_connection(scheme);
        operation.check(&answer, &connection.inspector, values)?;
        let ending = ended(&operation.endings, &connection.inspector, values)?;
        let inspector = std::mem::take(&mut connection.inspector);
        operation.extract(&inspector, (&[], &self.person.jar.borrow()), values)?;
        progress.ended.replace(ending);
        Ok(scheme)
    }
}

/// Tells an exchange of a traced visit that is given up: what went to and fro until then.
struct Unfinished<'a> {
    shared: &'a Shared,
    scheme: Scheme,
    begun_ns: u64,
    request: Vec<u8>,
    transcript: Rc<RefCell<String>>,
    is_over: bool,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let given_up = Err(Failure::new(Fault::TimeOut, "given up"));
            let told = Some(self.transcript.take()).filter(|told| !told.is_empty());
            let times = (self.begun_ns, self.shared.now());
            self.shared.trace(|| exchange_told(self.scheme, times, &self.request, told, &given_up));
        }
    }
}

/// Shakes hands and takes an operation's steps; the latest message, and what stands for an answer.
async fn talk(
    shared: &Shared,
    (operation, user): (&Compiled, UserContext<'_>),
    request: &[u8],
    values: &Values,
    (transcript, progress): (Option<Rc<RefCell<String>>>, &Progress),
) -> Result<(Bytes, Answer), Failure> {
    let stream = open_stream(shared, operation.scheme, user, &mut false).await?;
    shared.recorder.borrow_mut().request(shared.now());
    let scheme = if operation.scheme == Scheme::Https { "wss" } else { "ws" };
    let (request, _) = translate(request, scheme)?;
    let mut socket = Socket::open(stream, request, transcript, operation.withheld.clone()).await?;
    let first_byte_ns = shared.now();
    let mut taken = Ok(());
    for (number, step) in (1..).zip(&operation.websocket) {
        progress.step.set(number);
        taken = socket.take(step, values).await;
        if taken.is_err() {
            break;
        }
    }
    taken?;
    progress.step.set(0);
    let (end_ns, bytes) = (shared.now(), socket.received);
    let latest = socket.latest.clone();
    socket.leave().await;
    Ok((latest, Answer { status: 101, bytes, body_bytes: bytes, first_byte_ns, end_ns, keep_alive: false }))
}

/// An exchange over a WebSocket, for people.
fn exchange_told(
    scheme: Scheme,
    (at_ns, end_ns): (u64, u64),
    request: &[u8],
    told: Option<String>,
    talked: &Result<(Bytes, Answer), Failure>,
) -> Event {
    let answer = talked.as_ref().map(|(_, answer)| *answer).unwrap_or_default();
    Event::Exchange(Box::new(Exchange {
        at_ns,
        first_byte_ns: answer.first_byte_ns,
        end_ns,
        is_secure: scheme == Scheme::Https,
        request: String::from_utf8_lossy(request).into_owned(),
        head: if told.is_some() { "HTTP/1.1 101 Switching Protocols\r\n\r\n".into() } else { String::new() },
        body: told.unwrap_or_default(),
        bytes: answer.bytes,
        body_bytes: answer.body_bytes,
        fault: talked.as_ref().err().map_or_else(String::new, |failure| failure.detail.clone()),
    }))
}
