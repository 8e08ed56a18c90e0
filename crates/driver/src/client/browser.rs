//! Performing one operation as a browser does: the page, its redirects, then its embedded files in parallel.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use futures_util::future::try_join_all;
use loadstone_record::outcome::Before;
use loadstone_record::Fault;
use loadstone_schedule::line::page_line_time;
use loadstone_schedule::plan::{Method, Protocol, Scheme};
use loadstone_schedule::slots::Values;
use rustls::ClientConfig;

use super::cache::Cache;
use super::connection::{ClientConnection, SharedConnections, UserContext};
use super::cookies::Jar;
use super::dealt::Dealt;
use super::extent::Extent;
use super::host::host;
use super::page::{File, Page, What};
use super::progress::Progress;
use super::redirect::{becomes_get, follow, redirection};
use crate::ending::ended;
use crate::inspect::HEAD_BYTES;
use crate::operation::{Compiled, CompiledRequest, EmbeddedFile, Sending, PARTIAL};
use crate::server::Server;
use crate::shared::Shared;
use crate::transport::{tls, Body, Failure};

/// What a user has open in its browser.
pub struct Browser {
    pub http: Vec<ClientConnection>,
    pub https: Vec<ClientConnection>,
    pub(super) person: Person,
    /// The machine it talks to, by its number.
    pub(super) server: usize,
    files: RefCell<Vec<File>>,
    /// Pictures that the page under way names, as far as the browser lacks them.
    images: Vec<Box<str>>,
    cache: Cache,
}

/// What a user brings along to each connection.
pub(super) struct Person {
    pub(super) jar: RefCell<Jar>,
    tls: Option<Arc<ClientConfig>>,
    dealt: Dealt,
    shared_http2: SharedConnections,
    /// The operation that is performed, by its number.
    operation: usize,
    /// Chooses among several addresses of the server: the session's number and the visits before.
    turn: u64,
}

impl Person {
    /// The same for a connection to this server.
    pub(super) fn context<'a>(&'a self, server: &'a Server) -> UserContext<'a> {
        let Person { jar, dealt, shared_http2, operation, turn, .. } = self;
        UserContext { server, tls: self.tls.as_ref(), jar, dealt, shared_http2, operation: *operation, turn: *turn }
    }
}

/// Longest request whose memory is kept for the next.
const MOST_KEPT_BYTES: usize = 64 * 1024;

impl Browser {
    /// Nothing is open yet.
    pub fn new(shared: &Shared, who: u64) -> Self {
        // The others come with the first page that has files for them.
        let connections = |scheme| match shared.job.uses(scheme) {
            true => vec![ClientConnection::new(scheme)],
            false => Vec::new(),
        };
        Browser {
            http: connections(Scheme::Http),
            https: connections(Scheme::Https),
            person: Person {
                jar: RefCell::default(),
                tls: None,
                dealt: Dealt::new(shared.job.seed, who, shared.job.operations.len()),
                shared_http2: SharedConnections::default(),
                operation: 0,
                turn: who,
            },
            server: 0,
            files: RefCell::default(),
            images: Vec::new(),
            cache: Cache::default(),
        }
    }

    /// A new user of a server sits down: no cookies, no TLS session, no connections unless they are handed on.
    pub fn renew(&mut self, shared: &Shared, server: usize) {
        self.person.jar.borrow_mut().clear();
        self.person.turn += 1;
        self.cache.renew(&self.person.dealt, shared.job.policy().warm_caches);
        let common = &shared.job.servers[server].tls;
        let handed_on = shared.job.policy().kept_between_users && self.server == server;
        if handed_on && self.person.tls.is_some() == common.is_some() {
            return;
        }
        self.close(shared);
        self.server = server;
        self.person.tls = common.as_ref().map(|common| match shared.job.policy().full_handshakes < 1.0 {
            true => tls::user_config(common),
            false => common.clone(),
        });
    }

    /// Another user than the one before, by its number.
    pub fn arrive(&mut self, who: u64) {
        self.person.dealt.renew(who);
        self.person.turn = who;
    }

    /// Closes all its connections.
    pub fn close(&mut self, shared: &Shared) {
        self.http.iter_mut().chain(&mut self.https).for_each(|connection| connection.close(shared));
    }

    /// Whether what was given up was still waiting for a connection to be accepted; asked once.
    pub fn was_connecting(&mut self) -> bool {
        let connections = self.http.iter_mut().chain(&mut self.https);
        connections.filter_map(|connection| connection.was_connecting().then_some(())).count() > 0
    }

    /// Lays its connections aside for a pause; the time that the bytes of the page and its files need on the line.
    pub fn rest(&mut self, shared: &Shared, page_bytes: u64) -> u64 {
        self.https.iter_mut().for_each(|connection| connection.park());
        self.line_time(shared, page_bytes)
    }

    fn line_time(&self, shared: &Shared, page_bytes: u64) -> u64 {
        page_line_time(&shared.job.rates(), page_bytes, self.files.borrow().iter().map(|file| file.bytes))
    }

    /// Loads a page, its redirects, then its embedded files in parallel.
    pub async fn load(
        &mut self,
        shared: &Shared,
        number: usize,
        values: &mut Values,
        (extent, progress): (Extent, &Progress),
    ) -> Result<(), Failure> {
        self.files.borrow_mut().clear();
        self.images.clear();
        self.person.operation = number;
        let operation = &shared.job.operations[number];
        for request in &operation.before {
            self.ask(shared, request, values, (extent, progress)).await?;
        }
        let scheme = match operation.websocket.is_empty() {
            true => {
                progress.compared.set(shared.compares(number).then_some(number));
                self.load_page(shared, operation, values, (extent, progress)).await?
            }
            false => Box::pin(self.converse(shared, operation, values, progress)).await?,
        };
        let status = progress.status.get();
        for request in &operation.after {
            self.ask(shared, request, values, (extent, progress)).await?;
        }
        progress.status.set(status);
        if extent == Extent::Page {
            self.keep_files(operation); // they came before the run
            return Ok(());
        }
        if operation.embedded.is_empty() && self.images.is_empty() {
            return Ok(());
        }
        let turn = self.person.dealt.perform(number);
        self.load_files(shared, (number, turn), scheme, values, progress).await
    }

    /// Makes a request around an operation's page, where it is due.
    async fn ask(
        &mut self,
        shared: &Shared,
        request: &CompiledRequest,
        values: &mut Values,
        (extent, progress): (Extent, &Progress),
    ) -> Result<(), Failure> {
        if !request.is_made(values) {
            return Ok(());
        }
        let whole = if extent == Extent::Page { Extent::Page } else { Extent::Whole };
        self.load_page(shared, &request.page, values, (whole, progress)).await?;
        progress.asked(request.number);
        if request.forgets {
            self.close(shared);
            self.renew(shared, self.server);
        }
        Ok(())
    }

    /// The byte of the body at which an operation is taken up; 0 where it has to be asked for as a whole.
    fn taken_up_at(&self, shared: &Shared, operation: &Compiled, values: &Values, extent: Extent) -> u64 {
        let Extent::Rest(midway) = extent else { return 0 };
        if !operation.can_be_taken_up(&shared.job.rates()) {
            return 0;
        }
        let done = midway.done_ns as f64 / midway.of_ns.max(1) as f64;
        operation.body_bytes(values).map_or(0, |bytes| (bytes as f64 * done) as u64)
    }

    async fn load_page(
        &mut self,
        shared: &Shared,
        operation: &Compiled,
        values: &mut Values,
        (extent, progress): (Extent, &Progress),
    ) -> Result<Scheme, Failure> {
        let mut scheme = operation.scheme;
        let from = self.taken_up_at(shared, operation, values, extent);
        progress.take_up(extent, from);
        let mut request = std::mem::take(&mut self.page_connection(scheme).request);
        let server = &shared.job.servers[self.server];
        let with = Sending {
            values,
            host: host(shared.job.policy().protocol, server, scheme)?,
            is_secure: scheme == Scheme::Https,
            jar: &self.person.jar,
            from,
        };
        match shared.job.policy().protocol {
            Protocol::Echo => operation.write_payload(values, &mut request),
            _ => operation.write_request(&with, None, &mut request),
        }
        let mut body = if operation.method == Method::Head { Body::Never } else { Body::Expected };
        let mut method = operation.method;
        // Fields that were wanted and stood in redirects: the first of all is the last that came.
        let mut passed = Vec::new();
        loop {
            let user = self.person.context(server);
            let connections = if scheme == Scheme::Http { &mut self.http } else { &mut self.https };
            let connection = &mut connections[0];
            connection.request = request;
            // What is caught up with took its time before the run.
            let rate = shared.job.policy().page_bytes_per_s.filter(|_| extent != Extent::Page);
            connection.line.set_rate(rate);
            connection.inspector.reset(operation.markers_every, operation.keeps());
            connection.inspector.begin_at(from);
            if operation.seeks_title() {
                connection.inspector.seek_title();
            }
            if progress.compared.get().is_some() {
                connection.inspector.keep_at_least(HEAD_BYTES);
            }
            connection.reader.wanted.clone_from(&operation.wanted);
            connection.inspector.lend(&mut shared.heads.borrow_mut());
            let answer = connection.exchange(shared, user, body).await?;
            progress.take(&answer);
            if connection.reader.sets_cookie {
                progress.sets_cookie.set(true);
            }
            progress.status.set(answer.status);
            progress.page_bytes.set(progress.page_bytes.get() + answer.bytes);
            if progress.first_byte_ns.get().is_none() {
                progress.first_byte_ns.set(Some(answer.first_byte_ns));
            }
            let Some(location) = redirection(&answer, &mut connection.reader, operation.redirects) else {
                if from > 0 {
                    if answer.status != PARTIAL {
                        progress.before.set(Before::default()); // all of it came
                    }
                    return operation.check_rest(&answer, &connection.inspector, values).map(|()| scheme);
                }
                operation.check(&answer, &connection.inspector, values)?;
                if let Some(number) = progress.compared.take() {
                    let head = &connection.inspector.head;
                    shared.recorder.borrow_mut().words(number, &head[..head.len().min(HEAD_BYTES)]);
                }
                let mut fields = std::mem::take(&mut connection.reader.told);
                fields.extend(passed.drain(..).rev());
                operation.extract(&connection.inspector, (&fields, &self.person.jar.borrow()), values)?;
                let named = operation.named_images(&connection.inspector);
                progress.named(named.len());
                self.images.extend(named.into_iter().filter(|path| !self.cache.has_image(path)));
                connection.forget_long_request(MOST_KEPT_BYTES);
                progress.ended.replace(ended(&operation.endings, &connection.inspector, values)?);
                connection.inspector.give_back(&mut shared.heads.borrow_mut());
                return Ok(scheme);
            };
            let taken = progress.tally.get().redirects + 1;
            if taken > u64::from(operation.redirects) {
                return Err(Failure::new(Fault::Redirect, format!("redirect number {taken}, to `{location}`")));
            }
            progress.count(|tally| tally.redirects = taken);
            passed.append(&mut connection.reader.told);
            request = std::mem::take(&mut connection.request);
            let (next, path) = follow(server, scheme, &request, &location)?;
            scheme = next;
            let server = &shared.job.servers[self.server];
            let with = Sending {
                values,
                host: host(shared.job.policy().protocol, server, scheme)?,
                is_secure: scheme == Scheme::Https,
                jar: &self.person.jar,
                from,
            };
            if becomes_get(method, answer.status) {
                method = Method::Get;
            }
            match method == operation.method {
                true => operation.write_request(&with, Some(&path), &mut request),
                false => {
                    body = Body::Expected;
                    operation.write_get(&with, None, &mut request, |out| out.extend_from_slice(&path));
                }
            }
        }
    }

    pub(super) fn page_connection(&mut self, scheme: Scheme) -> &mut ClientConnection {
        match scheme {
            Scheme::Http => &mut self.http[0],
            Scheme::Https => &mut self.https[0],
        }
    }

    async fn load_files(
        &mut self,
        shared: &Shared,
        (number, turn): (usize, u64),
        scheme: Scheme,
        values: &Values,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let operation = &shared.job.operations[number];
        self.list_files(operation, turn, shared.job.policy().warm_caches.is_some());
        let server = &shared.job.servers[self.server];
        let page = Page {
            number,
            operation,
            values,
            host: host(shared.job.policy().protocol, server, scheme)?,
            scheme,
            user: self.person.context(server),
            files: &self.files,
            images: &self.images,
            dates: shared.job.dates.get().map(|all| &all[self.server]),
            next: Cell::new(0),
            progress,
        };
        let connections = if scheme == Scheme::Http { &mut self.http } else { &mut self.https };
        let lanes = usize::from(shared.job.policy().parallel).min(self.files.borrow().len()).max(1);
        if connections.len() < lanes {
            connections.resize_with(lanes, || ClientConnection::new(scheme));
        }
        if let Some((first, others)) = connections[..lanes].split_first_mut() {
            others.iter_mut().for_each(|connection| connection.join(first));
        }
        try_join_all(connections[..lanes].iter_mut().map(|connection| page.fetch(shared, connection))).await?;
        self.keep_files(operation);
        Ok(())
    }

    /// The page's files and pictures are in the browser from now on.
    fn keep_files(&mut self, operation: &Compiled) {
        self.cache.keep(operation.embedded.iter().filter_map(|file| file.file), self.images.drain(..));
    }

    /// What is to be fetched for a page: its files, unless the browser has them and asks no more, and its pictures.
    fn list_files(&mut self, operation: &Compiled, turn: u64, has_cache: bool) {
        let asks = |file: &EmbeddedFile| match has_cache {
            true => self.cache.is_warm(),
            false => file
                .memory
                .is_some_and(|memory| self.person.dealt.is_conditional(memory as u64, turn, file.conditional)),
        };
        let is_had = |file: &EmbeddedFile| file.file.is_some_and(|file| self.cache.has(file));
        let embedded = operation.embedded.iter().enumerate().filter(|(_, file)| !is_had(file));
        let embedded = embedded.map(|(at, file)| What::Embedded { at, asks: asks(file) });
        let images = (0..self.images.len()).map(|at| What::Image { at });
        self.files.borrow_mut().extend(embedded.chain(images).map(|what| File { what, bytes: 0 }));
    }
}
