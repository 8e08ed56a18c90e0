//! Performing one operation as a browser does: the page, its redirects, then its embedded files in parallel.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use futures_util::future::try_join_all;
use loadstone_record::recorder::{Grade, Outcome, Window, WireCounts};
use loadstone_record::Fault;
use loadstone_schedule::line::{page_line_time, Rates};
use loadstone_schedule::plan::{Method, Protocol, Scheme};
use loadstone_schedule::slots::Values;
use loadstone_schedule::template::Encoding;
use rustls::ClientConfig;

use crate::cookies::Jar;
use crate::ending::{ended, Ended};
use crate::lane::{Belongings, Lane};
use crate::mail::{Delivery, Post, Postman};
use crate::operation::{check_embedded, grade, Compiled, Sending};
use crate::server::Server;
use crate::shared::Shared;
use crate::transport::http1::Reader;
use crate::transport::{tls, Answer, Failure};

/// What a user has open in its browser.
pub struct Browser {
    pub http: Vec<Lane>,
    pub https: Vec<Lane>,
    pub jar: RefCell<Jar>,
    pub tls: Option<Arc<ClientConfig>>,
    /// The machine it talks to, by its number.
    server: usize,
    files: RefCell<Vec<File>>,
    /// Of a mail user: its mailboxes.
    post: Option<Postman>,
}

/// An embedded file of the page under way.
#[derive(Clone, Copy)]
struct File {
    /// Whether it is asked for conditionally.
    asks: bool,
    bytes: u64,
}

/// What performing an operation amounted to so far, kept when it fails half-way.
#[derive(Default)]
struct Progress {
    bytes: Cell<u64>,
    end_ns: Cell<u64>,
    first_byte_ns: Cell<Option<u64>>,
    page_bytes: Cell<u64>,
    embedded: Cell<u32>,
    conditional: Cell<u32>,
    not_modified: Cell<u32>,
    redirects: Cell<u32>,
    ended: RefCell<Option<Ended>>,
}

impl Browser {
    /// Of session number `session`.
    pub fn new(shared: &Shared, session: u64) -> Self {
        let parallel = usize::from(shared.job.connections().parallel.max(1));
        let lanes = |scheme| match shared.job.uses(scheme) {
            true => (0..parallel).map(|_| Lane::new(scheme)).collect(),
            false => Vec::new(),
        };
        Browser {
            http: lanes(Scheme::Http),
            https: lanes(Scheme::Https),
            jar: RefCell::default(),
            server: 0,
            tls: None,
            files: RefCell::default(),
            post: shared.job.post.as_ref().map(|post| Postman::new(post, session)),
        }
    }

    /// A new user of a server sits down: no cookies, no TLS session, no connections unless they are handed on.
    pub fn renew(&mut self, shared: &Shared, server: usize) {
        self.jar.borrow_mut().clear();
        let common = &shared.job.servers[server].tls;
        let handed_on = shared.job.connections().kept_between_users && self.server == server;
        if handed_on && self.tls.is_some() == common.is_some() {
            return;
        }
        self.close(shared);
        self.server = server;
        self.tls = common.as_ref().map(|common| match shared.job.connections().full_handshakes < 1.0 {
            true => tls::user_config(common),
            false => common.clone(),
        });
    }

    pub fn close(&mut self, shared: &Shared) {
        self.http.iter_mut().chain(&mut self.https).for_each(|lane| lane.close(shared));
        if self.post.as_mut().is_some_and(Postman::close) {
            shared.open.set(shared.open.get().saturating_sub(1));
        }
    }

    /// Performs an operation that begins at `sent_ns`; the outcome says how it went, errors included.
    pub async fn perform(
        &mut self,
        shared: &Shared,
        operation: usize,
        (intended_ns, sent_ns): (u64, u64),
        values: &mut Values,
    ) -> Outcome {
        let compiled = &shared.job.operations[operation];
        let progress = Progress::default();
        self.files.borrow_mut().clear();
        let deadline = sent_ns.saturating_add(compiled.timeout_ns);
        let result = tokio::select! {
            biased;
            result = self.load(shared, operation, values, &progress) => Some(result),
            () = shared.timer.deadline(deadline) => None,
        };
        let result = result.unwrap_or_else(|| Err(self.too_late(compiled.timeout_ns as f64 / 1e9)));
        self.https.iter_mut().for_each(|lane| lane.park());
        let fault = result.as_ref().err().map(|failure| failure.fault);
        if let Err(failure) = &result {
            shared.trouble(operation, failure.fault, &failure.detail);
        }
        let end_ns = if fault.is_some() { shared.clock.now() } else { progress.end_ns.get() };
        let bytes = progress.bytes.get();
        let grade = match fault {
            Some(_) => {
                shared.books.borrow_mut().doubted(operation);
                Grade::Fail
            }
            None => grade(&compiled.limit, end_ns.saturating_sub(intended_ns), bytes),
        };
        if let Some(ended) = progress.ended.take().filter(|_| fault.is_none()) {
            let steady = shared.job.phases.steady_start()..shared.job.phases.steady_end();
            let is_inside = Window::of(intended_ns, Some(end_ns), steady) == Window::Inside;
            shared.books.borrow_mut().kept(operation, &ended, is_inside);
        }
        Outcome {
            operation,
            intended_ns,
            sent_ns,
            end_ns,
            first_byte_ns: progress.first_byte_ns.get().map(|at| at.saturating_sub(sent_ns)),
            line_ns: self.line_time(shared, progress.page_bytes.get()),
            bytes,
            embedded: progress.embedded.get(),
            conditional: progress.conditional.get(),
            not_modified: progress.not_modified.get(),
            redirects: progress.redirects.get(),
            grade,
            fault,
        }
    }

    /// What an operation that was given up had been waiting for.
    fn too_late(&mut self, seconds: f64) -> Failure {
        let lanes = self.http.iter_mut().chain(&mut self.https);
        match lanes.filter_map(|lane| lane.was_connecting().then_some(())).count() {
            0 => Failure::new(Fault::TimeOut, format!("no complete answer within {seconds} s")),
            _ => Failure::new(Fault::Backlog, format!("the connection was not accepted within {seconds} s")),
        }
    }

    fn line_time(&self, shared: &Shared, page_bytes: u64) -> u64 {
        let connections = shared.job.connections();
        let rates = Rates {
            page: connections.page_bytes_per_s,
            embedded: connections.embedded_bytes_per_s,
            parallel: usize::from(connections.parallel),
        };
        page_line_time(&rates, page_bytes, self.files.borrow().iter().map(|file| file.bytes))
    }

    async fn load(
        &mut self,
        shared: &Shared,
        number: usize,
        values: &mut Values,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let operation = &shared.job.operations[number];
        if let (Some(postman), Some(post)) = (&mut self.post, &shared.job.post) {
            return mail(shared, (post, postman, self.server), number, progress).await;
        }
        let scheme = self.load_page(shared, operation, values, progress).await?;
        if operation.embedded.is_empty() {
            return Ok(());
        }
        self.load_embedded(shared, operation, scheme, values, progress).await
    }

    async fn load_page(
        &mut self,
        shared: &Shared,
        operation: &Compiled,
        values: &mut Values,
        progress: &Progress,
    ) -> Result<Scheme, Failure> {
        let mut scheme = operation.scheme;
        let mut request = std::mem::take(&mut self.page_lane(scheme).request);
        let server = &shared.job.servers[self.server];
        let with = Sending { values, host: host(shared, server, scheme)?, jar: &self.jar };
        match shared.job.connections().protocol {
            Protocol::Echo => operation.write_payload(values, &mut request),
            _ => operation.write_request(&with, None, &mut request),
        }
        let mut bodiless = operation.method == Method::Head;
        loop {
            let user = Belongings { server, tls: self.tls.as_ref(), jar: &self.jar };
            let lanes = if scheme == Scheme::Http { &mut self.http } else { &mut self.https };
            let lane = &mut lanes[0];
            lane.request = request;
            lane.line.set_rate(shared.job.connections().page_bytes_per_s);
            lane.inspector.reset(operation.markers_every, operation.keeps());
            lane.inspector.lend(&mut shared.heads.borrow_mut());
            let answer = lane.exchange(shared, user, bodiless, false).await?;
            progress.take(&answer);
            progress.page_bytes.set(progress.page_bytes.get() + answer.bytes);
            if progress.first_byte_ns.get().is_none() {
                progress.first_byte_ns.set(Some(answer.first_byte_ns));
            }
            let Some(location) = redirection(&answer, &mut lane.reader, operation.redirects) else {
                operation.check(&answer, &lane.inspector, values)?;
                operation.extract(&lane.inspector, values)?;
                progress.ended.replace(ended(&operation.endings, &lane.inspector, values)?);
                lane.inspector.give_back(&mut shared.heads.borrow_mut());
                return Ok(scheme);
            };
            let taken = progress.redirects.get() + 1;
            if taken > u32::from(operation.redirects) {
                return Err(Failure::new(Fault::Redirect, format!("redirect number {taken}, to `{location}`")));
            }
            progress.redirects.set(taken);
            request = std::mem::take(&mut lane.request);
            let (next, path) = follow(server, scheme, path_of(&request), &location)?;
            scheme = next;
            let server = &shared.job.servers[self.server];
            let with = Sending { values, host: host(shared, server, scheme)?, jar: &self.jar };
            // 307 and 308 keep the method and the body (RFC 9110, section 15.4).
            if matches!(answer.status, 307 | 308) {
                operation.write_request(&with, Some(&path), &mut request);
            } else {
                bodiless = false;
                operation.write_get(&with, None, &mut request, |out| out.extend_from_slice(&path));
            }
        }
    }

    fn page_lane(&mut self, scheme: Scheme) -> &mut Lane {
        match scheme {
            Scheme::Http => &mut self.http[0],
            Scheme::Https => &mut self.https[0],
        }
    }

    async fn load_embedded(
        &mut self,
        shared: &Shared,
        operation: &Compiled,
        scheme: Scheme,
        values: &Values,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let dealt = operation.embedded.iter().map(|file| shared.deal(file.memory, file.conditional));
        self.files.borrow_mut().extend(dealt.map(|asks| File { asks, bytes: 0 }));
        let server = &shared.job.servers[self.server];
        let page = Page {
            operation,
            values,
            host: host(shared, server, scheme)?,
            user: Belongings { server, tls: self.tls.as_ref(), jar: &self.jar },
            files: &self.files,
            next: Cell::new(0),
            progress,
        };
        let lanes = if scheme == Scheme::Http { &mut self.http } else { &mut self.https };
        if let Some((first, others)) = lanes.split_first_mut() {
            others.iter_mut().for_each(|lane| lane.join(first, shared));
        }
        try_join_all(lanes.iter_mut().map(|lane| page.fetch(shared, lane))).await.map(drop)
    }
}

/// Performs a mail command.
async fn mail(
    shared: &Shared,
    (post, postman, server): (&Post, &mut Postman, usize),
    operation: usize,
    progress: &Progress,
) -> Result<(), Failure> {
    let destination = shared.job.servers[server].destination(Scheme::Http);
    let address = destination.map(|to| to.address).ok_or_else(|| Failure::new(Fault::Driver, "there is no server"))?;
    let had = postman.is_connected();
    let delivery = Delivery::default();
    shared.recorder.borrow_mut().request(shared.clock.now());
    let done = postman.perform(post, post.verbs[operation], address, &delivery).await;
    let now_ns = shared.clock.now();
    let change = WireCounts { connections: delivery.connections.get(), ..WireCounts::default() };
    shared.recorder.borrow_mut().wires(now_ns, change);
    let (before, after) = (u64::from(had), u64::from(postman.is_connected()));
    shared.open.set((shared.open.get() + after).saturating_sub(before));
    progress.bytes.set(delivery.bytes.get());
    progress.end_ns.set(now_ns);
    done
}

/// A page whose embedded files are being fetched, over all lanes at once.
struct Page<'a> {
    operation: &'a Compiled,
    values: &'a Values,
    host: &'a str,
    user: Belongings<'a>,
    files: &'a RefCell<Vec<File>>,
    next: Cell<usize>,
    progress: &'a Progress,
}

impl Page<'_> {
    /// Fetches the next file over `lane` until there is none left.
    async fn fetch(&self, shared: &Shared, lane: &mut Lane) -> Result<(), Failure> {
        lane.line.set_rate(shared.job.connections().embedded_bytes_per_s);
        while let Some(file) = self.operation.embedded.get(self.next.get()) {
            let at = self.next.replace(self.next.get() + 1);
            let date = if self.files.borrow()[at].asks { shared.date(file.memory) } else { None };
            let with = Sending { values: self.values, host: self.host, jar: self.user.jar };
            let path = |out: &mut Vec<u8>| file.path.render(self.values, Encoding::Raw, out);
            self.operation.write_get(&with, date.as_deref(), &mut lane.request, path);
            lane.inspector.reset(file.markers_every, 0);
            let wants_date = file.memory.is_some() && file.conditional > 0.0;
            let answer = lane.exchange(shared, self.user, false, wants_date).await?;
            self.progress.take(&answer);
            self.files.borrow_mut()[at].bytes = answer.bytes;
            let not_modified = check_embedded(file, date.is_some(), &answer, &lane.inspector)?;
            self.progress.embedded(date.is_some(), not_modified);
            shared.remember_date(file.memory, lane.reader.last_modified.take());
        }
        Ok(())
    }
}

impl Progress {
    fn take(&self, answer: &Answer) {
        self.bytes.set(self.bytes.get() + answer.bytes);
        self.end_ns.set(self.end_ns.get().max(answer.end_ns));
    }

    fn embedded(&self, conditional: bool, not_modified: bool) {
        self.embedded.set(self.embedded.get() + 1);
        self.conditional.set(self.conditional.get() + u32::from(conditional));
        self.not_modified.set(self.not_modified.get() + u32::from(not_modified));
    }
}

fn host<'a>(shared: &Shared, server: &'a Server, scheme: Scheme) -> Result<&'a str, Failure> {
    if shared.job.connections().protocol == Protocol::Null {
        return Ok("");
    }
    let missing = || Failure::new(Fault::Redirect, format!("the target has no {scheme:?} side"));
    Ok(&server.destination(scheme).ok_or_else(missing)?.host)
}

fn redirection(answer: &Answer, reader: &mut Reader, allowed: u8) -> Option<String> {
    let is_redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308) && allowed > 0;
    is_redirect.then(|| reader.location.take()).flatten()
}

/// Scheme and path a `Location` leads to, from a request for `from`; only the target's own two sides are followed.
fn follow(server: &Server, current: Scheme, from: &str, location: &str) -> Result<(Scheme, Vec<u8>), Failure> {
    let location = location.split('#').next().unwrap_or("").trim();
    let (scheme, rest) = match location.split_once("//") {
        Some(("https:", rest)) => (Scheme::Https, rest),
        Some(("http:", rest)) => (Scheme::Http, rest),
        Some(("", rest)) => (current, rest),
        _ if location.starts_with('/') => return Ok((current, location.as_bytes().to_vec())),
        _ => {
            let folder = &from[..from.split('?').next().unwrap_or("").rfind('/').map_or(0, |at| at + 1)];
            return Ok((current, format!("{folder}{location}").into_bytes()));
        }
    };
    let cut = rest.find(['/', '?']).unwrap_or(rest.len());
    let known = server.destination(scheme).is_some_and(|to| to.is_called(&rest[..cut]));
    if !known {
        return Err(Failure::new(Fault::Redirect, format!("to another host: `{location}`")));
    }
    let path = &rest[cut..];
    Ok((scheme, if path.starts_with('/') { path.into() } else { format!("/{path}").into_bytes() }))
}

/// The path in a request line.
fn path_of(request: &[u8]) -> &str {
    let mut words = request.split(|&byte| byte == b' ');
    words.nth(1).and_then(|path| std::str::from_utf8(path).ok()).unwrap_or("/")
}
