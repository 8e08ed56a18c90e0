//! Performing one operation as a browser does: the page, its redirects, then its embedded files in parallel.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use futures_util::future::try_join_all;
use loadstone_record::detail::FileSample;
use loadstone_record::recorder::{Before, Beside};
use loadstone_record::Fault;
use loadstone_schedule::line::page_line_time;
use loadstone_schedule::plan::{Method, Protocol, Scheme};
use loadstone_schedule::slots::Values;
use loadstone_schedule::template::Encoding;
use rustls::ClientConfig;
use url::{Position, Url};

use super::cache::Cache;
use super::connection::{ClientConnection, SharedConnections, UserContext};
use super::cookies::{Jar, Origin};
use super::dates::Dates;
use super::dealt::Dealt;
use super::{Extent, Progress};
use crate::ending::ended;
use crate::inspect::HEAD_BYTES;
use crate::operation::{check_embedded, check_image, Compiled, CompiledRequest, EmbeddedFile, Sending, PARTIAL};
use crate::server::Server;
use crate::shared::Shared;
use crate::transport::http1::Reader;
use crate::transport::{tls, Answer, Body, Failure};

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

/// A file of the page under way.
#[derive(Clone, Copy)]
struct File {
    what: What,
    bytes: u64,
}

/// What a page's file is, by its place.
#[derive(Clone, Copy)]
enum What {
    /// Declared as part of the page; whether it is asked for conditionally.
    Embedded { at: usize, asks: bool },
    /// Named by the page.
    Image { at: usize },
}

/// Longest request whose memory is kept for the next.
const MOST_KEPT_BYTES: usize = 64 * 1024;

impl Browser {
    /// Nothing is open yet.
    pub fn new(shared: &Shared, who: u64) -> Self {
        let parallel = usize::from(shared.job.policy().parallel.max(1));
        let connections = |scheme| match shared.job.uses(scheme) {
            true => (0..parallel).map(|_| ClientConnection::new(scheme)).collect(),
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
            false => self.converse(shared, operation, values, progress).await?,
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
            host: host(shared, server, scheme)?,
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
            let taken = progress.redirects.get() + 1;
            if taken > u32::from(operation.redirects) {
                return Err(Failure::new(Fault::Redirect, format!("redirect number {taken}, to `{location}`")));
            }
            progress.redirects.set(taken);
            passed.append(&mut connection.reader.told);
            request = std::mem::take(&mut connection.request);
            let (next, path) = follow(server, scheme, &request, &location)?;
            scheme = next;
            let server = &shared.job.servers[self.server];
            let with = Sending {
                values,
                host: host(shared, server, scheme)?,
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
            host: host(shared, server, scheme)?,
            scheme,
            user: self.person.context(server),
            files: &self.files,
            images: &self.images,
            dates: shared.job.dates.get().map(|all| &all[self.server]),
            next: Cell::new(0),
            progress,
        };
        let connections = if scheme == Scheme::Http { &mut self.http } else { &mut self.https };
        if let Some((first, others)) = connections.split_first_mut() {
            others.iter_mut().for_each(|connection| connection.join(first, shared));
        }
        try_join_all(connections.iter_mut().map(|connection| page.fetch(shared, connection))).await?;
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

/// A page whose embedded files are being fetched, over all connections at once.
struct Page<'a> {
    /// Of its operation.
    number: usize,
    operation: &'a Compiled,
    values: &'a Values,
    host: &'a str,
    scheme: Scheme,
    user: UserContext<'a>,
    files: &'a RefCell<Vec<File>>,
    images: &'a [Box<str>],
    dates: Option<&'a Dates>,
    next: Cell<usize>,
    progress: &'a Progress,
}

impl Page<'_> {
    /// The date that a file is known by.
    fn date(&self, file: &EmbeddedFile) -> Option<&str> {
        self.dates?[file.memory?].as_deref()
    }

    /// Fetches the next file over `connection` until there is none left.
    async fn fetch(&self, shared: &Shared, connection: &mut ClientConnection) -> Result<(), Failure> {
        connection.line.set_rate(shared.job.policy().embedded_bytes_per_s);
        loop {
            let number = self.next.replace(self.next.get() + 1);
            let Some(File { what, .. }) = self.files.borrow().get(number).copied() else { return Ok(()) };
            let bytes = match what {
                What::Embedded { at, asks } => self.fetch_embedded(shared, connection, at, asks).await?,
                What::Image { at } => self.fetch_image(shared, connection, &self.images[at]).await?,
            };
            self.files.borrow_mut()[number].bytes = bytes;
        }
    }

    async fn fetch_embedded(
        &self,
        shared: &Shared,
        connection: &mut ClientConnection,
        at: usize,
        asks: bool,
    ) -> Result<u64, Failure> {
        let (file, begun_ns) = (&self.operation.embedded[at], shared.now());
        let date = if asks { self.date(file) } else { None };
        let path = |out: &mut Vec<u8>| file.path.render(self.values, Encoding::Target, out);
        self.operation.write_get(&self.sending(), date, &mut connection.request, path);
        connection.inspector.reset(file.markers_every, 0);
        let answer = connection.exchange(shared, self.user, Body::Expected).await?;
        self.progress.take(&answer);
        let checked = check_embedded(file, date.is_some(), &answer, &connection.inspector);
        let not_modified = checked.map_err(|wrong| wrong.of(&file.path.text(self.values)))?;
        self.progress.embedded(date.is_some(), not_modified);
        let (operation, bytes, end_ns) = (self.number, answer.bytes, answer.end_ns);
        let sample = FileSample { operation, file: at, begun_ns, end_ns, bytes, not_modified };
        shared.recorder.borrow_mut().file(&sample);
        Ok(answer.bytes)
    }

    async fn fetch_image(
        &self,
        shared: &Shared,
        connection: &mut ClientConnection,
        path: &str,
    ) -> Result<u64, Failure> {
        let Some(images) = &self.operation.images else { return Ok(0) };
        let write_path = |out: &mut Vec<u8>| out.extend_from_slice(path.as_bytes());
        self.operation.write_get(&self.sending(), None, &mut connection.request, write_path);
        connection.inspector.reset(0, 0);
        let answer = connection.exchange(shared, self.user, Body::Expected).await?;
        self.progress.take(&answer);
        check_image(images, &answer, &connection.inspector)?;
        self.progress.loaded(connection.inspector.bytes());
        Ok(answer.bytes)
    }

    fn sending(&self) -> Sending<'_> {
        let is_secure = self.scheme == Scheme::Https;
        Sending { values: self.values, host: self.host, is_secure, jar: self.user.jar, from: 0 }
    }
}

impl Progress {
    pub(super) fn take(&self, answer: &Answer) {
        self.bytes.set(self.bytes.get() + answer.bytes);
        self.body_bytes.set(self.body_bytes.get() + answer.body_bytes);
        self.end_ns.set(self.end_ns.get().max(answer.end_ns));
    }

    /// Notes what lay before the run of an operation whose rest is asked for.
    fn take_up(&self, extent: Extent, from: u64) {
        if let (Extent::Rest(midway), true) = (extent, from > 0) {
            self.before.set(Before { ns: midway.done_ns, bytes: from });
        }
    }

    fn beside(&self, change: impl FnOnce(&mut Beside)) {
        let mut beside = self.beside.get();
        change(&mut beside);
        self.beside.set(beside);
    }

    /// A request around the page was answered, by its place.
    fn asked(&self, number: usize) {
        self.beside(|beside| beside.requests |= 1u64.checked_shl(number as u32).unwrap_or(0));
    }

    fn named(&self, images: usize) {
        self.beside(|beside| beside.images_named += images as u32);
    }

    fn loaded(&self, bytes: u64) {
        self.beside(|beside| {
            beside.images_loaded += 1;
            beside.image_bytes += bytes;
        });
    }

    fn embedded(&self, conditional: bool, not_modified: bool) {
        self.embedded.set(self.embedded.get() + 1);
        self.conditional.set(self.conditional.get() + u32::from(conditional));
        self.not_modified.set(self.not_modified.get() + u32::from(not_modified));
    }
}

/// The name of a machine's side.
pub(super) fn host<'a>(shared: &Shared, server: &'a Server, scheme: Scheme) -> Result<&'a str, Failure> {
    if shared.job.policy().protocol == Protocol::Null {
        return Ok("");
    }
    let missing = || Failure::new(Fault::Redirect, format!("the target has no {scheme:?} side"));
    Ok(&server.destination(scheme).ok_or_else(missing)?.host)
}

fn redirection(answer: &Answer, reader: &mut Reader, allowed: u8) -> Option<String> {
    let is_redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308) && allowed > 0;
    is_redirect.then(|| reader.location.take()).flatten()
}

/// Whether a redirect turns the method into GET (Fetch, HTTP-redirect fetch): POST after 301 and 302, after 303 all but
/// GET and HEAD. All else keeps its method and its body.
fn becomes_get(method: Method, status: u16) -> bool {
    match status {
        301 | 302 => method == Method::Post,
        303 => !matches!(method, Method::Get | Method::Head),
        _ => false,
    }
}

/// Scheme and path a `Location` leads to, from a request, resolved as browsers do (RFC 3986, section 5.2); only the
/// target's own two sides are followed, by their addresses or by the name that the request's field `Host` has.
fn follow(server: &Server, current: Scheme, from: &[u8], location: &str) -> Result<(Scheme, Vec<u8>), Failure> {
    let stray = |why: &str| Failure::new(Fault::Redirect, format!("{why}: `{location}`"));
    let own = server.destination(current).map_or("", |side| &side.host);
    let name = if current == Scheme::Https { "https" } else { "http" };
    let base =
        Url::parse(&format!("{name}://{own}{}", path_of(from))).map_err(|_| stray("from a page without a name"))?;
    let goal = base.join(location).map_err(|_| stray("to no address"))?;
    let scheme = match goal.scheme() {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        _ => return Err(stray("to another scheme")),
    };
    let host = goal.host_str().unwrap_or("");
    let authority = format!("{host}:{}", goal.port_or_known_default().unwrap_or(0));
    let is_declared = host_field(from) != own && host.eq_ignore_ascii_case(Origin::of(from, false).host);
    if !server.destination(scheme).is_some_and(|to| to.is_called(&authority) || is_declared) {
        return Err(stray("to another host"));
    }
    Ok((scheme, goal[Position::BeforePath..Position::AfterQuery].into()))
}

/// The field `Host` of a request.
fn host_field(request: &[u8]) -> &str {
    let line = request.split(|&byte| byte == b'\n').nth(1).unwrap_or_default();
    line.strip_prefix(b"Host: ").and_then(|host| std::str::from_utf8(host).ok()).map_or("", str::trim_end)
}

/// The path in a request line.
fn path_of(request: &[u8]) -> &str {
    let mut words = request.split(|&byte| byte == b' ');
    words.nth(1).and_then(|path| std::str::from_utf8(path).ok()).unwrap_or("/")
}

#[cfg(test)]
mod tests {
    use loadstone_schedule::plan::{Addresses, Endpoint, Target, Trust};

    use super::*;

    fn server() -> Server {
        let side = |port| Some(Endpoint { host: "127.0.0.1".into(), port });
        let (trust, addresses) = (Trust::Anything, Addresses::All);
        let target = Target { http: side(8080), https: side(8443), trust, identity: None, addresses };
        Server::all(&[target], Protocol::Http1).expect("an address").remove(0)
    }

    /// Where a `Location` leads to from a page of the plain side.
    fn led(from: &str, location: &str) -> Option<(Scheme, String)> {
        led_of("127.0.0.1:8080", from, location)
    }

    /// The same of a request with this field `Host`.
    fn led_of(host: &str, from: &str, location: &str) -> Option<(Scheme, String)> {
        let request = format!("GET {from} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let followed = follow(&server(), Scheme::Http, request.as_bytes(), location).ok();
        followed.map(|(scheme, path)| (scheme, String::from_utf8(path).expect("text")))
    }

    #[test]
    fn a_location_is_read_as_browsers_do() {
        let plain = |path: &str| Some((Scheme::Http, path.to_owned()));
        assert_eq!(led("/a/b?q=/c", "/d"), plain("/d"));
        assert_eq!(led("/a/b?q=/c", "d?e=1"), plain("/a/d?e=1"));
        assert_eq!(led("/a", " /d#top "), plain("/d"));
        assert_eq!(led("/a/b?c", "?d"), plain("/a/b?d"));
        assert_eq!(led("/a/b", "/../index.html"), plain("/index.html"));
        assert_eq!(led("/a/b/c", "../d/./e"), plain("/a/d/e"));
        assert_eq!(led("/a", "/a b\u{e9}"), plain("/a%20b%C3%A9"));
        assert_eq!(led("/a", "//127.0.0.1:8080?x"), plain("/?x"));
        assert_eq!(led("/a", "http://127.0.0.1:8080"), plain("/"));
        assert_eq!(led("/a", "https://127.0.0.1:8443/pay"), Some((Scheme::Https, "/pay".to_owned())));
    }

    #[test]
    fn other_hosts_ports_and_schemes_are_not_followed() {
        for location in [
            "http://example.com/",
            "https://127.0.0.1:8080/",
            "http://127.0.0.1:8443/",
            "//127.0.0.1.example/",
            "http:///",
            "mailto:someone@127.0.0.1:8080",
        ] {
            assert_eq!(led("/a", location), None, "{location}");
        }
    }

    #[test]
    fn a_location_may_name_the_host_that_a_workload_declares() {
        let led = |location: &str| led_of("shop.example", "/a", location);
        assert_eq!(led("http://SHOP.example/b"), Some((Scheme::Http, "/b".to_owned())));
        assert_eq!(led("https://shop.example/b"), Some((Scheme::Https, "/b".to_owned())));
        assert_eq!(led("http://other.example/b"), None);
    }

    #[test]
    fn methods_survive_redirects_as_fetch_has_it() {
        use Method::*;
        let becomes = |method| [301, 302, 303, 307, 308].map(|status| becomes_get(method, status));
        assert_eq!(becomes(Post), [true, true, true, false, false]);
        assert_eq!(becomes(Put), [false, false, true, false, false]);
        assert_eq!(becomes(Delete), [false, false, true, false, false]);
        assert_eq!(becomes(Head), [false; 5]);
    }

    #[test]
    fn the_path_of_a_request_is_its_second_word() {
        assert_eq!(path_of(b"GET /a?b HTTP/1.1\r\n"), "/a?b");
        assert_eq!(path_of(b""), "/");
        assert_eq!(path_of(b"GET \xff HTTP/1.1"), "/");
    }
}
