//! Performing one operation as a browser does: the page, its redirects, then its embedded files in parallel.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use futures_util::future::join_all;
use loadstone_record::recorder::{Grade, Outcome};
use loadstone_record::Fault;
use loadstone_schedule::line::{page_line_time, Rates};
use loadstone_schedule::plan::{Method, Scheme};
use loadstone_schedule::slots::Values;
use loadstone_schedule::template::Encoding;
use rustls::ClientConfig;

use crate::cookies::Jar;
use crate::lane::{Call, Lane};
use crate::operation::{check_embedded, Compiled, Sending};
use crate::shared::Shared;
use crate::transport::http1::Answer;
use crate::transport::Failure;

/// What a user has open in its browser.
pub struct Browser {
    pub http: Vec<Lane>,
    pub https: Vec<Lane>,
    pub jar: Jar,
    pub tls: Option<Arc<ClientConfig>>,
    request: Vec<u8>,
}

/// What performing an operation amounted to so far, kept when it fails half-way.
#[derive(Default)]
struct Progress {
    bytes: Cell<u64>,
    end_ns: Cell<u64>,
    first_byte_ns: Cell<Option<u64>>,
    page_bytes: Cell<u64>,
    embedded_bytes: RefCell<Vec<u64>>,
    embedded: Cell<u32>,
    conditional: Cell<u32>,
    not_modified: Cell<u32>,
    redirects: Cell<u32>,
}

impl Browser {
    pub fn new(shared: &Shared) -> Self {
        let parallel = usize::from(shared.job.plan.workload.connections.parallel.max(1));
        let lanes = |scheme| (0..parallel).map(|_| Lane::new(scheme)).collect();
        Browser {
            http: lanes(Scheme::Http),
            https: lanes(Scheme::Https),
            jar: Jar::default(),
            tls: None,
            request: Vec::new(),
        }
    }

    /// A new user sits down: no cookies, no connections, no TLS session.
    pub fn renew(&mut self, shared: &Shared) {
        self.close(shared);
        self.jar.clear();
        self.tls = shared.job.tls.as_ref().map(crate::transport::tls::user_config);
    }

    pub fn close(&mut self, shared: &Shared) {
        self.http.iter_mut().chain(&mut self.https).for_each(|lane| lane.close(shared));
    }

    /// Performs an operation; the outcome says how it went, errors included.
    pub async fn perform(
        &mut self,
        shared: &Shared,
        operation: usize,
        intended_ns: u64,
        values: &mut Values,
    ) -> Outcome {
        let compiled = &shared.job.operations[operation];
        let sent_ns = shared.clock.now();
        let progress = Progress::default();
        let deadline = sent_ns.saturating_add(compiled.timeout_ns);
        let result = tokio::select! {
            biased;
            result = self.load(shared, compiled, values, &progress) => result,
            () = shared.timer.sleep_until(deadline) => {
                let seconds = compiled.timeout_ns as f64 / 1e9;
                Err(Failure::new(Fault::TimeOut, format!("no complete answer within {seconds} s")))
            }
        };
        let fault = result.as_ref().err().map(|failure| failure.fault);
        if let Err(failure) = &result {
            shared.trouble(operation, failure.fault, &failure.detail);
        }
        let end_ns = if fault.is_some() { shared.clock.now() } else { progress.end_ns.get() };
        let connections = &shared.job.plan.workload.connections;
        let rates = Rates {
            page: connections.page_bytes_per_s,
            embedded: connections.embedded_bytes_per_s,
            parallel: usize::from(connections.parallel),
        };
        let bytes = progress.bytes.get();
        let line_ns = page_line_time(&rates, progress.page_bytes.get(), &progress.embedded_bytes.take());
        let grade = match fault {
            Some(_) => Grade::Fail,
            None => compiled.grade(end_ns.saturating_sub(intended_ns), bytes),
        };
        Outcome {
            operation,
            intended_ns,
            sent_ns,
            end_ns,
            first_byte_ns: progress.first_byte_ns.get().map(|at| at.saturating_sub(sent_ns)),
            line_ns,
            bytes,
            embedded: progress.embedded.get(),
            conditional: progress.conditional.get(),
            not_modified: progress.not_modified.get(),
            redirects: progress.redirects.get(),
            grade,
            fault,
        }
    }

    async fn load(
        &mut self,
        shared: &Shared,
        operation: &Compiled,
        values: &mut Values,
        progress: &Progress,
    ) -> Result<(), Failure> {
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
        let mut request = std::mem::take(&mut self.request);
        let with = Sending { values, host: host(shared, scheme)?, jar: &self.jar };
        operation.write_request(&with, None, &mut request);
        let mut bodiless = operation.method == Method::Head;
        loop {
            let lanes = if scheme == Scheme::Http { &mut self.http } else { &mut self.https };
            let lane = &mut lanes[0];
            lane.line.set_rate(shared.job.plan.workload.connections.page_bytes_per_s);
            lane.inspector.reset(operation.markers_every, operation.keeps());
            let answer = lane
                .exchange(shared, Call { tls: self.tls.as_ref(), jar: &mut self.jar, request: &request, bodiless })
                .await?;
            progress.take(&answer);
            progress.page_bytes.set(progress.page_bytes.get() + answer.bytes);
            if progress.first_byte_ns.get().is_none() {
                progress.first_byte_ns.set(Some(answer.first_byte_ns));
            }
            let Some(location) = redirection(&answer, operation.redirects) else {
                operation.check(&answer, &lane.inspector, values)?;
                operation.extract(&lane.inspector, values)?;
                self.request = request;
                return Ok(scheme);
            };
            let taken = progress.redirects.get() + 1;
            if taken > u32::from(operation.redirects) {
                return Err(Failure::new(Fault::Redirect, format!("redirect number {taken}, to `{location}`")));
            }
            progress.redirects.set(taken);
            let from = path_of(&request);
            let (next, path) = follow(shared, scheme, from, &location)?;
            scheme = next;
            let with = Sending { values, host: host(shared, scheme)?, jar: &self.jar };
            // 307 and 308 keep the method and the body (RFC 9110, section 15.4).
            if matches!(answer.status, 307 | 308) {
                operation.write_request(&with, Some(&path), &mut request);
            } else {
                bodiless = false;
                operation.write_get(&path, &with, None, &mut request);
            }
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
        let files = &operation.embedded;
        let asks: Vec<bool> = files.iter().map(|file| shared.deal(file.memory, file.conditional)).collect();
        *progress.embedded_bytes.borrow_mut() = vec![0; files.len()];
        let next = Cell::new(0usize);
        let host = host(shared, scheme)?;
        let lanes = if scheme == Scheme::Http { &mut self.http } else { &mut self.https };
        let (tls, jar) = (self.tls.as_ref(), &self.jar);
        let workers = lanes.iter_mut().map(|lane| {
            let (next, asks) = (&next, &asks);
            async move {
                lane.line.set_rate(shared.job.plan.workload.connections.embedded_bytes_per_s);
                let mut request = Vec::new();
                let mut jar = jar.clone();
                while let Some(file) = files.get(next.get()) {
                    let at = next.replace(next.get() + 1);
                    let date = if asks[at] { shared.date(file.memory) } else { None };
                    let mut path = Vec::new();
                    file.path.render(values, Encoding::Raw, &mut path);
                    let with = Sending { values, host, jar: &jar };
                    operation.write_get(&path, &with, date.as_deref(), &mut request);
                    lane.inspector.reset(file.markers_every, 0);
                    let answer =
                        lane.exchange(shared, Call { tls, jar: &mut jar, request: &request, bodiless: false }).await?;
                    progress.take(&answer);
                    progress.embedded_bytes.borrow_mut()[at] = answer.bytes;
                    let not_modified = check_embedded(file, date.is_some(), &answer, &lane.inspector)?;
                    progress.embedded(date.is_some(), not_modified);
                    shared.remember_date(file.memory, answer.last_modified);
                }
                Ok::<Jar, Failure>(jar)
            }
        });
        let jars: Vec<Jar> = join_all(workers).await.into_iter().collect::<Result<_, _>>()?;
        jars.iter().for_each(|jar| self.jar.merge(jar));
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

fn host(shared: &Shared, scheme: Scheme) -> Result<&str, Failure> {
    let missing = || Failure::new(Fault::Redirect, format!("the target has no {scheme:?} side"));
    Ok(&shared.job.destination(scheme).ok_or_else(missing)?.host)
}

fn redirection(answer: &Answer, allowed: u8) -> Option<String> {
    let is_redirect = matches!(answer.status, 301 | 302 | 303 | 307 | 308) && allowed > 0;
    is_redirect.then(|| answer.location.clone()).flatten()
}

/// Scheme and path a `Location` leads to, from a request for `from`; only the target's own two sides are followed.
fn follow(shared: &Shared, current: Scheme, from: &str, location: &str) -> Result<(Scheme, Vec<u8>), Failure> {
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
    let known = shared.job.destination(scheme).is_some_and(|to| to.is_called(&rest[..cut]));
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
