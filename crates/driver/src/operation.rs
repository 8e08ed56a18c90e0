//! Operations compiled for the hot path: templates for the request, what the answer must be, what is embedded.

use std::cell::RefCell;
use std::io::Write;
use std::sync::LazyLock;

use loadstone_record::recorder::Grade;
use loadstone_record::Fault;
use loadstone_schedule::plan::{Embedded, Extract, Field, Limit, Method, Operation, Scheme};
use loadstone_schedule::session::Script;
use loadstone_schedule::slots::{Slot, Slots, Values};
use loadstone_schedule::template::{form_encode, Encoding, Template};
use loadstone_schedule::PlanError;
use memchr::memmem;

use crate::cookies::Jar;
use crate::ending::CompiledEnding;
use crate::inspect::Inspector;
use crate::needle::Needle;
use crate::transport::{Answer, Failure};

/// Bytes sent to an echo service where the operation does not say.
const PING_BYTES: usize = 64;
/// Most bytes sent to an echo service in one operation.
const MOST_PAYLOAD: usize = 64 << 20;

/// A name and its compiled value.
type Pair = (String, Template);

/// What every request of a user is written with.
pub struct Sending<'a> {
    pub values: &'a Values,
    pub host: &'a str,
    pub jar: &'a RefCell<Jar>,
}

/// An operation ready to be performed.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub name: String,
    pub scheme: Scheme,
    pub method: Method,
    pub redirects: u8,
    pub markers_every: u32,
    pub embedded: Vec<EmbeddedFile>,
    pub timeout_ns: u64,
    pub limit: Limit,
    path: Template,
    query: Vec<Pair>,
    form: Vec<Pair>,
    headers: Vec<Pair>,
    names_content_type: bool,
    body: Option<Template>,
    status: Vec<u16>,
    title: Option<Needle>,
    contains: Vec<Needle>,
    absent: Vec<Needle>,
    bytes: Option<Needle>,
    extract: Vec<(Slot, Extract)>,
    pub endings: Vec<CompiledEnding>,
}

/// A file that belongs to a page.
#[derive(Clone, Debug)]
pub struct EmbeddedFile {
    pub path: Template,
    pub bytes: Option<u64>,
    pub conditional: f64,
    pub markers_every: u32,
    /// Where the thread remembers this file's date and deals its conditional requests; none for paths with
    /// values in them.
    pub memory: Option<usize>,
}

impl Compiled {
    /// Compiles all operations of a workload; returns them and how many file dates a thread remembers.
    pub fn all(operations: &[Operation], script: &Script) -> Result<(Vec<Compiled>, usize), PlanError> {
        let mut remembered = 0;
        let compiled = operations.iter().map(|operation| Self::new(operation, &script.slots, &mut remembered));
        Ok((compiled.collect::<Result<_, _>>()?, remembered))
    }

    fn new(operation: &Operation, slots: &Slots, remembered: &mut usize) -> Result<Self, PlanError> {
        let place = format!("operation {}", operation.name);
        let compile = |text: &String| Template::compile(text, slots, &place);
        let needle = |text: &String| Needle::compile(text, slots, &place);
        let pairs = |fields: &[Field]| -> Result<Vec<Pair>, PlanError> {
            fields.iter().map(|field| Ok((field.name.clone(), compile(&field.value)?))).collect()
        };
        let mut embed = |file: &Embedded| -> Result<EmbeddedFile, PlanError> {
            let path = compile(&file.path)?;
            let memory = path.fixed().map(|_| {
                *remembered += 1;
                *remembered - 1
            });
            let Embedded { bytes, conditional, markers_every, .. } = *file;
            Ok(EmbeddedFile { path, bytes, conditional, markers_every, memory })
        };
        let expect = &operation.expect;
        let extract = operation
            .extract
            .iter()
            .filter_map(|extract| slots.get(&extract.value).map(|slot| (slot, extract.clone())));
        Ok(Compiled {
            name: operation.name.clone(),
            scheme: operation.scheme,
            method: operation.method,
            redirects: operation.redirects,
            markers_every: expect.markers_every,
            embedded: operation.embedded.iter().map(&mut embed).collect::<Result<_, _>>()?,
            timeout_ns: operation.timeout_ns,
            limit: operation.limit,
            path: compile(&operation.path)?,
            query: pairs(&operation.query)?,
            form: pairs(&operation.form)?,
            headers: pairs(&operation.headers)?,
            status: expect.status.clone(),
            names_content_type: operation.headers.iter().any(|one| one.name.eq_ignore_ascii_case("content-type")),
            body: operation.body.as_ref().map(compile).transpose()?,
            title: expect.title.as_ref().map(needle).transpose()?,
            contains: expect.contains.iter().map(needle).collect::<Result<_, _>>()?,
            absent: expect.absent.iter().map(needle).collect::<Result<_, _>>()?,
            bytes: expect.bytes.as_ref().map(needle).transpose()?,
            extract: extract.collect(),
            endings: operation
                .endings
                .iter()
                .map(|one| CompiledEnding::new(one, slots, &place))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The operation's own header fields.
    fn write_headers(&self, values: &Values, out: &mut Vec<u8>) {
        for (name, value) in &self.headers {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            value.render(values, Encoding::Raw, out);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Writes a GET for something the page leads to: a redirect's goal or an embedded file.
    pub fn write_get(
        &self,
        with: &Sending<'_>,
        modified_since: Option<&str>,
        out: &mut Vec<u8>,
        path: impl FnOnce(&mut Vec<u8>),
    ) {
        out.clear();
        out.extend_from_slice(b"GET ");
        path(out);
        write_common(with, out);
        self.write_headers(with.values, out);
        if let Some(date) = modified_since {
            out.extend_from_slice(b"If-Modified-Since: ");
            out.extend_from_slice(date.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// How much of the body's beginning the checks need.
    pub fn keeps(&self) -> usize {
        let looks = self.title.is_some()
            || !self.contains.is_empty()
            || !self.absent.is_empty()
            || !self.extract.is_empty()
            || !self.endings.is_empty();
        if looks {
            crate::inspect::HEAD_BYTES
        } else {
            0
        }
    }

    /// Writes the request for the page itself; `elsewhere` is the path a redirect leads to.
    pub fn write_request(&self, with: &Sending<'_>, elsewhere: Option<&[u8]>, out: &mut Vec<u8>) {
        let values = with.values;
        out.clear();
        out.extend_from_slice(self.method.as_str().as_bytes());
        out.push(b' ');
        match elsewhere {
            Some(path) => out.extend_from_slice(path),
            None => {
                self.path.render(values, Encoding::Raw, out);
                write_pairs(&self.query, values, b'?', out);
            }
        }
        write_common(with, out);
        self.write_headers(values, out);
        if self.form.is_empty() && self.body.is_none() && !matches!(self.method, Method::Post | Method::Put) {
            out.extend_from_slice(b"\r\n");
            return;
        }
        let mut body = Vec::new();
        match &self.body {
            Some(text) => text.render(values, Encoding::Raw, &mut body),
            None => write_pairs(&self.form, values, 0, &mut body),
        }
        let has_body = self.body.is_some() || !self.form.is_empty();
        if has_body && !self.names_content_type {
            out.extend_from_slice(b"Content-Type: application/x-www-form-urlencoded\r\n");
        }
        let _ = write!(out, "Content-Length: {}\r\n\r\n", body.len()); // a Vec takes all
        out.extend_from_slice(&body);
    }

    /// What an echo service is sent: the body, or as many bytes as are expected back.
    pub fn write_payload(&self, values: &Values, out: &mut Vec<u8>) {
        out.clear();
        if let Some(text) = &self.body {
            return text.render(values, Encoding::Raw, out);
        }
        let bytes = self.bytes.as_ref().and_then(|bytes| bytes.text(values).parse().ok()).unwrap_or(PING_BYTES);
        out.extend((0..bytes.min(MOST_PAYLOAD)).map(|at| (at % 251) as u8));
    }

    /// Whether the answer is what it should be.
    pub fn check(&self, answer: &Answer, inspector: &Inspector, values: &Values) -> Result<(), Failure> {
        if !self.status.contains(&answer.status) {
            let detail = format!("status {} instead of {:?}", answer.status, self.status);
            return Err(Failure::new(Fault::Status, detail));
        }
        check_markers(inspector)?;
        if let Some(bytes) = &self.bytes {
            let expected = bytes.text(values);
            check_length(inspector, expected.parse().ok(), &expected)?;
        }
        if let Some(title) = &self.title {
            check_title(&inspector.head, title.text(values).as_bytes())?;
        }
        let wanted = self.contains.iter().map(|needle| (needle, true));
        for (needle, wanted) in wanted.chain(self.absent.iter().map(|needle| (needle, false))) {
            if needle.is_in(&inspector.head, values) != wanted {
                let found = if wanted { "is missing" } else { "must not be there" };
                return Err(Failure::new(Fault::Content, format!("`{}` {found}", needle.text(values))));
            }
        }
        Ok(())
    }

    /// Takes values for later requests out of the answer.
    pub fn extract(&self, inspector: &Inspector, values: &mut Values) -> Result<(), Failure> {
        for (slot, extract) in &self.extract {
            let found = between(&inspector.head, extract.after.as_bytes(), extract.before.as_bytes());
            let Some(found) = found else {
                let detail = format!("no `{}` between `{}` and `{}`", extract.value, extract.after, extract.before);
                return Err(Failure::new(Fault::Extract, detail));
            };
            values.set(*slot, &String::from_utf8_lossy(found));
        }
        Ok(())
    }
}

/// Whether an operation that has taken `so_far_ns` can no longer be tolerable.
pub fn is_overdue(limit: &Limit, so_far_ns: u64) -> bool {
    matches!(limit, Limit::Time { tolerable_ns, .. } if so_far_ns > *tolerable_ns)
}

/// Sorts a performed operation by its limit.
pub fn grade(limit: &Limit, response_ns: u64, bytes: u64) -> Grade {
    let (good, tolerable) = match *limit {
        Limit::Time { good_ns, tolerable_ns } => (response_ns <= good_ns, response_ns <= tolerable_ns),
        Limit::Rate { good_bytes_per_s, tolerable_bytes_per_s } => {
            let rate = bytes as f64 * 1e9 / response_ns.max(1) as f64;
            (rate >= good_bytes_per_s, rate >= tolerable_bytes_per_s)
        }
        Limit::None => (true, true),
    };
    match (good, tolerable) {
        (true, _) => Grade::Good,
        (false, true) => Grade::Tolerable,
        (false, false) => Grade::Fail,
    }
}

/// Checks an embedded file's answer; true when the server said "not modified".
pub fn check_embedded(
    file: &EmbeddedFile,
    asked_conditionally: bool,
    answer: &Answer,
    inspector: &Inspector,
) -> Result<bool, Failure> {
    match answer.status {
        304 if asked_conditionally => Ok(true),
        200 => {
            check_markers(inspector)?;
            if let Some(bytes) = file.bytes {
                check_length(inspector, Some(bytes), &bytes)?;
            }
            Ok(false)
        }
        other => Err(Failure::new(Fault::Status, format!("status {other} for an embedded file"))),
    }
}

/// The request line's end and the fields every request has.
fn write_common(with: &Sending<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    out.extend_from_slice(with.host.as_bytes());
    out.extend_from_slice(b"\r\nUser-Agent: loadstone\r\nAccept: */*\r\n");
    with.jar.borrow().write(out);
}

fn write_pairs(pairs: &[Pair], values: &Values, opening: u8, out: &mut Vec<u8>) {
    for (index, (name, value)) in pairs.iter().enumerate() {
        match index {
            0 if opening == 0 => {}
            0 => out.push(opening),
            _ => out.push(b'&'),
        }
        form_encode(name, out);
        out.push(b'=');
        value.render(values, Encoding::Form, out);
    }
}

fn check_markers(inspector: &Inspector) -> Result<(), Failure> {
    match inspector.misplaced() {
        None => Ok(()),
        Some(at) => Err(Failure::new(Fault::Marker, format!("the marker at byte {at} is wrong"))),
    }
}

fn check_length(inspector: &Inspector, expected: Option<u64>, text: &dyn std::fmt::Display) -> Result<(), Failure> {
    match expected {
        Some(expected) if expected == inspector.bytes() => Ok(()),
        _ => Err(Failure::new(Fault::Length, format!("{} bytes instead of {text}", inspector.bytes()))),
    }
}

fn check_title(head: &[u8], expected: &[u8]) -> Result<(), Failure> {
    static OPEN: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"<title>"));
    static CLOSE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"</title>"));
    let behind = OPEN.find(head).map(|at| &head[at + OPEN.needle().len()..]);
    let title = behind.and_then(|text| CLOSE.find(text).map(|length| text[..length].trim_ascii()));
    if title == Some(expected) {
        return Ok(());
    }
    let shown = title.map_or("no title".into(), |title| format!("title `{}`", String::from_utf8_lossy(title)));
    Err(Failure::new(Fault::Title, format!("{shown} instead of `{}`", String::from_utf8_lossy(expected))))
}

fn between<'a>(text: &'a [u8], after: &[u8], before: &[u8]) -> Option<&'a [u8]> {
    let from = memmem::find(text, after)? + after.len();
    let length = memmem::find(&text[from..], before)?;
    Some(&text[from..from + length])
}
