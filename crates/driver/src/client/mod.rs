//! A user's end of the conversation with its server, whatever protocol its workload speaks: one kind of client a
//! protocol family, and what all of them have in common - the deadline, the grade, the audit ledger.

pub mod browser;
pub mod cache;
pub mod connection;
pub mod conversation;
pub mod cookies;
pub mod dates;
pub mod dealt;
pub mod extent;
mod host;
mod page;
pub mod progress;
mod redirect;

use loadstone_record::event::Event;
use loadstone_record::outcome::{Grade, Outcome, Window};
use loadstone_record::Fault;
use loadstone_schedule::slots::Values;

use crate::mail::client::MailClient;
use crate::operation::{grade, Compiled};
use crate::shared::Shared;
use crate::transport::Failure;
use browser::Browser;
use extent::Extent;
use progress::Progress;

/// What a user has open towards its server.
pub enum Client {
    /// Pages, their files, cookies and connections: HTTP, and what is spoken over connections alike.
    Browser(Browser),
    /// Mailboxes over IMAP.
    Mail(MailClient),
}

/// What errors of operations that are caught up with begin with: they are not of the measurement.
const PLACING: &str = "as its user was placed part-way through a visit";

/// A failure in a step of an exchange over a WebSocket.
fn in_step(failure: Failure, operation: &Compiled, step: usize, values: &Values) -> Failure {
    let steps = operation.websocket.len();
    let waited = match operation.websocket.get(step - 1) {
        Some(step) if failure.fault == Fault::TimeOut => format!(" waited for {}", step.told(values)),
        _ => String::new(),
    };
    Failure::new(failure.fault, format!("step {step} of {steps}{waited}: {}", failure.detail))
}

impl Client {
    /// Of session number `session`, for the protocol of its workload.
    pub fn new(shared: &Shared, session: u64) -> Self {
        match &shared.job.mail {
            Some(mail) => Client::Mail(MailClient::new(mail, session)),
            None => Client::Browser(Browser::new(shared, session)),
        }
    }

    /// A new user of a server sits down.
    pub fn renew(&mut self, shared: &Shared, server: usize) {
        match self {
            Client::Browser(browser) => browser.renew(shared, server),
            Client::Mail(mail) => mail.renew(shared, server),
        }
    }

    /// A user of another session sits down: the one that arrived as number `who`.
    pub fn arrive(&mut self, who: u64) {
        if let Client::Browser(browser) = self {
            browser.arrive(who);
        }
    }

    /// Closes all that is open.
    pub fn close(&mut self, shared: &Shared) {
        match self {
            Client::Browser(browser) => browser.close(shared),
            Client::Mail(mail) => mail.close(shared),
        }
    }

    /// Performs an operation that begins at `sent_ns`; the outcome says how it went, errors included.
    pub async fn perform(
        &mut self,
        shared: &Shared,
        operation: usize,
        (intended_ns, sent_ns): (u64, u64),
        (extent, values): (Extent, &mut Values),
    ) -> Outcome {
        let compiled = &shared.job.operations[operation];
        let progress = Progress::default();
        let deadline = sent_ns.saturating_add(compiled.timeout_ns);
        let result = tokio::select! {
            biased;
            result = self.exchange(shared, operation, (extent, &mut *values), &progress) => Some(result),
            () = shared.timer.deadline(deadline) => None,
        };
        let result = result.unwrap_or_else(|| Err(self.too_late(compiled.timeout_ns as f64 / 1e9)));
        let result = result.map_err(|failure| match progress.step.get() {
            0 => failure,
            step => in_step(failure, compiled, step, values),
        });
        let line_ns = self.rest(shared, &progress);
        let fault = result.as_ref().err().map(|failure| failure.fault);
        if let Err(failure) = &result {
            match extent {
                Extent::Page => shared.trouble(operation, failure.fault, &format!("{PLACING}: {}", failure.detail)),
                _ => shared.trouble(operation, failure.fault, &failure.detail),
            }
            shared.ledger.borrow_mut().doubted(operation);
        }
        shared.trace(|| Event::Performed {
            operation: compiled.name.clone(),
            at_ns: sent_ns,
            end_ns: shared.now(),
            kind: result.as_ref().err().map(|failure| failure.fault),
            detail: result.as_ref().err().map_or_else(String::new, |failure| failure.detail.clone()),
            values: compiled.taken(values),
        });
        shared.learn_cookies(operation, progress.sets_cookie.get(), fault.is_none());
        let end_ns = if fault.is_some() { shared.now() } else { progress.end_ns.get() };
        let bytes = progress.bytes.get();
        let grade = match fault {
            Some(_) => Grade::Fail,
            None => grade(&compiled.limit, end_ns.saturating_sub(intended_ns), bytes),
        };
        if let Some(ended) = progress.ended.take().filter(|_| fault.is_none()) {
            let steady = shared.job.phases.steady_start()..shared.job.phases.steady_end();
            let is_inside = extent != Extent::Page && Window::of(intended_ns, Some(end_ns), steady) == Window::Inside;
            shared.ledger.borrow_mut().kept(operation, &ended, is_inside);
        }
        Outcome {
            operation,
            intended_ns,
            sent_ns,
            end_ns,
            first_byte_ns: progress.first_byte_ns.get().map(|at| at.saturating_sub(sent_ns)),
            line_ns,
            bytes,
            tally: progress.tally.get(),
            requests_beside: progress.requests_beside.get(),
            grade,
            fault,
            status: progress.status.get(),
            before: progress.before.get(),
        }
    }

    async fn exchange(
        &mut self,
        shared: &Shared,
        operation: usize,
        (extent, values): (Extent, &mut Values),
        progress: &Progress,
    ) -> Result<(), Failure> {
        match self {
            Client::Browser(browser) => browser.load(shared, operation, values, (extent, progress)).await,
            Client::Mail(mail) => mail.command(shared, operation, progress).await,
        }
    }

    /// What an operation that was given up had been waiting for.
    fn too_late(&mut self, seconds: f64) -> Failure {
        let was_connecting = match self {
            Client::Browser(browser) => browser.was_connecting(),
            Client::Mail(_) => false,
        };
        Failure::too_late(seconds, was_connecting)
    }

    /// Lays all aside for a pause; the time that the operation's bytes need on the user's line.
    fn rest(&mut self, shared: &Shared, progress: &Progress) -> u64 {
        match self {
            Client::Browser(browser) => browser.rest(shared, progress.page_bytes.get()),
            Client::Mail(_) => 0,
        }
    }
}
