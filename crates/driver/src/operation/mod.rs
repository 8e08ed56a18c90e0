//! Operations compiled for the hot path: templates for the request, what the answer must be, what is embedded.

mod checks;
mod extraction;
mod grade;
pub mod websocket;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use loadstone_schedule::line::{page_line_time, Rates};
use loadstone_schedule::plan::{Embedded, Field, Images, Limit, Method, Operation, Request, Scheme};
use loadstone_schedule::session::Script;
use loadstone_schedule::slots::{Slot, Slots, Values};
use loadstone_schedule::template::{form_encode, Encoding, Template};
use loadstone_schedule::PlanError;

pub use checks::{check_embedded, check_image, find_tag, PARTIAL};
use extraction::CompiledExtract;
pub use grade::{allowed_ns, grade};

use crate::client::cookies::Jar;
use crate::ending::CompiledEnding;
use crate::needle::Needle;
use crate::upload::{self, CompiledUpload};
use crate::withheld::Withheld;
use websocket::CompiledStep;

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
    /// Whether it goes out over TLS.
    pub is_secure: bool,
    pub jar: &'a RefCell<Jar>,
    /// Byte of the body to begin at.
    pub from: u64,
}

/// An operation ready to be performed.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub name: String,
    pub withheld: Arc<Withheld>,
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
    declared: DeclaredFields,
    body: Option<Template>,
    status: Vec<u16>,
    title: Option<Needle>,
    contains: Vec<Needle>,
    absent: Vec<Needle>,
    bytes: Option<Needle>,
    /// Pointers into a body of JSON, with what must stand there; nothing where there is none.
    json: Vec<(String, Option<Needle>)>,
    usual_bytes: Option<u64>,
    extract: Vec<CompiledExtract>,
    /// Header fields that values are taken from; none where they are taken from none.
    pub wanted: Option<Arc<[Box<str>]>>,
    set: Vec<(Slot, Template)>,
    uploads: Vec<CompiledUpload>,
    pub endings: Vec<CompiledEnding>,
    /// Requests around its page, by their place among those of the operation.
    pub before: Vec<CompiledRequest>,
    pub after: Vec<CompiledRequest>,
    pub images: Option<Images>,
    /// Steps of an exchange over a WebSocket; none for a page.
    pub websocket: Vec<CompiledStep>,
}

/// Header fields of a workload that take the place of the driver's.
#[derive(Clone, Debug, Default)]
struct DeclaredFields {
    host: Option<Template>,
    /// Cookies that are sent before those of the server, and in place of its cookies of the same names.
    cookies: Vec<Template>,
    has_user_agent: bool,
    has_accept: bool,
    has_modified_since: bool,
    has_range: bool,
    has_content_type: bool,
}

impl DeclaredFields {
    /// Notes which fields are declared, and takes out of `headers` those that the driver writes at a place of their own
    /// and those that say how long a body is, which it knows better.
    fn take_out_of(headers: &mut Vec<Pair>) -> Self {
        let has = |name: &str| headers.iter().any(|header| header.0.eq_ignore_ascii_case(name));
        let mut declared = DeclaredFields {
            has_user_agent: has("user-agent"),
            has_accept: has("accept"),
            has_modified_since: has("if-modified-since"),
            has_range: has("range"),
            has_content_type: has("content-type"),
            ..DeclaredFields::default()
        };
        headers.retain(|(name, value)| match name.to_ascii_lowercase().as_str() {
            "host" => {
                declared.host = Some(value.clone());
                false
            }
            "cookie" => {
                declared.cookies.push(value.clone());
                false
            }
            "content-length" | "transfer-encoding" => false,
            _ => true,
        });
        declared
    }

    fn write_cookies(&self, values: &Values, out: &mut Vec<u8>) {
        for (index, cookies) in self.cookies.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b"; ");
            }
            cookies.render(values, Encoding::Raw, out);
        }
    }
}

/// A request around an operation's page.
#[derive(Clone, Debug)]
pub struct CompiledRequest {
    /// Its place among those of the operation.
    pub number: usize,
    pub forgets: bool,
    pub page: Compiled,
    when: Vec<Template>,
}

impl CompiledRequest {
    /// Whether it is made by a session that knows these values.
    pub fn is_made(&self, values: &Values) -> bool {
        self.when.iter().all(|when| !when.text(values).is_empty())
    }
}

/// A file that belongs to a page.
#[derive(Clone, Debug)]
pub struct EmbeddedFile {
    pub path: Template,
    pub bytes: Option<u64>,
    pub conditional: f64,
    pub markers_every: u32,
    /// Where this file's date is remembered, and its conditional requests are dealt; none for paths with values in
    /// them.
    pub memory: Option<usize>,
    /// The same number for the same path on any page; none for paths with values in them.
    pub file: Option<usize>,
    /// Status codes that are accepted beside those of success.
    pub status: Vec<u16>,
}

/// What operations of a workload have in common: how many files' dates are remembered, the numbers of their paths, and
/// secrets.
#[derive(Debug, Default)]
struct Files {
    remembered: usize,
    paths: HashMap<String, usize>,
    withheld: Arc<Withheld>,
}

impl Files {
    fn remember(&mut self) -> usize {
        self.remembered += 1;
        self.remembered - 1
    }

    fn number(&mut self, path: &str) -> usize {
        let next = self.paths.len();
        *self.paths.entry(path.to_owned()).or_insert(next)
    }
}

impl Compiled {
    /// Compiles all operations of a workload; returns them and of how many files the date is remembered.
    pub fn all(operations: &[Operation], script: &Script) -> Result<(Vec<Compiled>, usize), PlanError> {
        let mut files = Files { withheld: Arc::new(Withheld::new(&script.secrets)), ..Files::default() };
        let compiled = operations.iter().map(|operation| Self::new(operation, &script.slots, &mut files));
        Ok((compiled.collect::<Result<_, _>>()?, files.remembered))
    }

    fn new(operation: &Operation, slots: &Slots, files: &mut Files) -> Result<Self, PlanError> {
        let place = format!("operation {}", operation.name);
        let compile = |text: &String| Template::compile(text, slots, &place);
        let needle = |text: &String| Needle::compile(text, slots, &place);
        let pairs = |fields: &[Field]| -> Result<Vec<Pair>, PlanError> {
            fields.iter().map(|field| Ok((field.name.clone(), compile(&field.value)?))).collect()
        };
        let mut embed = |file: &Embedded| -> Result<EmbeddedFile, PlanError> {
            let path = compile(&file.path)?;
            let fixed = path.fixed();
            let (memory, number) = (fixed.map(|_| files.remember()), fixed.map(|fixed| files.number(fixed)));
            let Embedded { bytes, conditional, markers_every, .. } = *file;
            let status = file.status.clone();
            Ok(EmbeddedFile { path, bytes, conditional, markers_every, memory, file: number, status })
        };
        let embedded = operation.embedded.iter().map(&mut embed).collect::<Result<_, _>>()?;
        let around = |requests: &[Request], first: usize, files: &mut Files| -> Result<Vec<_>, PlanError> {
            let compiled = (first..).zip(requests).map(|(number, request)| {
                let when = request.when.iter().map(compile).collect::<Result<_, _>>()?;
                let page = Self::new(&request.page, slots, files)?;
                Ok(CompiledRequest { number, forgets: request.forgets, page, when })
            });
            compiled.collect()
        };
        let before = around(&operation.before, 0, files)?;
        let after = around(&operation.after, before.len(), files)?;
        let known = |field: &Field| Ok((slots.get(&field.name).unwrap_or(usize::MAX), compile(&field.value)?));
        let expect = &operation.expect;
        let mut wanted = Vec::new();
        let extract = operation.extract.iter().map(|rule| CompiledExtract::new(rule, slots, &mut wanted, &place));
        let extract = extract.collect::<Result<_, _>>()?;
        let mut headers = pairs(&operation.headers)?;
        let declared = DeclaredFields::take_out_of(&mut headers);
        Ok(Compiled {
            name: operation.name.clone(),
            withheld: files.withheld.clone(),
            scheme: operation.scheme,
            method: operation.method,
            redirects: operation.redirects,
            markers_every: expect.markers_every,
            embedded,
            timeout_ns: operation.timeout_ns,
            limit: operation.limit,
            path: compile(&operation.path)?,
            query: pairs(&operation.query)?,
            form: pairs(&operation.form)?,
            headers,
            declared,
            status: expect.status.clone(),
            body: operation.body.as_ref().map(compile).transpose()?,
            title: expect.title.as_ref().map(needle).transpose()?,
            contains: expect.contains.iter().map(needle).collect::<Result<_, _>>()?,
            absent: expect.absent.iter().map(needle).collect::<Result<_, _>>()?,
            bytes: expect.bytes.as_ref().map(needle).transpose()?,
            json: expect
                .json
                .iter()
                .map(|one| Ok((one.pointer.clone(), one.is.as_ref().map(needle).transpose()?)))
                .collect::<Result<_, PlanError>>()?,
            usual_bytes: operation.usual_bytes,
            extract,
            wanted: (!wanted.is_empty()).then(|| wanted.into()),
            set: operation.set.iter().map(known).collect::<Result<_, _>>()?,
            uploads: operation
                .uploads
                .iter()
                .map(|one| CompiledUpload::new(one, slots, &place))
                .collect::<Result<_, _>>()?,
            before,
            after,
            images: operation.images.clone(),
            websocket: operation
                .websocket
                .iter()
                .map(|step| CompiledStep::new(step, slots, &place))
                .collect::<Result<_, _>>()?,
            endings: operation
                .endings
                .iter()
                .map(|one| CompiledEnding::new(one, slots, &place))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The fields that the workload declares, as far as `is_wanted` wants their names.
    fn write_headers(&self, values: &Values, out: &mut Vec<u8>, is_wanted: impl Fn(&str) -> bool) {
        for (name, value) in self.headers.iter().filter(|header| is_wanted(&header.0)) {
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b": ");
            value.render(values, Encoding::Header, out);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// The request line's end and the fields every request has, as far as the workload does not declare its own.
    fn write_common(&self, with: &Sending<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
        match &self.declared.host {
            Some(host) => host.render(with.values, Encoding::Raw, out),
            None => out.extend_from_slice(with.host.as_bytes()),
        }
        out.extend_from_slice(b"\r\n");
        if !self.declared.has_user_agent {
            out.extend_from_slice(b"User-Agent: loadstone\r\n");
        }
        if !self.declared.has_accept {
            out.extend_from_slice(b"Accept: */*\r\n");
        }
        let jar = with.jar.borrow();
        if !jar.is_empty() || !self.declared.cookies.is_empty() {
            jar.write(with.is_secure, |out| self.declared.write_cookies(with.values, out), out);
        }
        if with.from > 0 {
            let _ = write!(out, "Range: bytes={}-\r\n", with.from); // a Vec takes all
        }
    }

    /// Writes a GET for something the page leads to: a redirect's goal or an embedded file. It has no body, so it has no
    /// fields about one either (Fetch, HTTP-redirect fetch).
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
        self.write_common(with, out);
        self.write_headers(with.values, out, |name| !is_about_body(name));
        if let Some(date) = modified_since.filter(|_| !self.declared.has_modified_since) {
            out.extend_from_slice(b"If-Modified-Since: ");
            out.extend_from_slice(date.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }

    /// The length of the body where it is declared.
    pub fn body_bytes(&self, values: &Values) -> Option<u64> {
        self.bytes.as_ref().and_then(|bytes| bytes.text(values).parse().ok())
    }

    /// How long its bytes alone need on the user's line, as far as they are known beforehand.
    pub fn line_ns(&self, values: &Values, rates: &Rates) -> u64 {
        let files = self.embedded.iter().map(|file| file.bytes.unwrap_or(0));
        page_line_time(rates, self.body_bytes(values).or(self.usual_bytes).unwrap_or(0), files)
    }

    /// Whether the rest of it can be asked for where a user is found half-way: a body of known length on a limited line, of
    /// which nothing else is wanted.
    pub fn can_be_taken_up(&self, rates: &Rates) -> bool {
        let is_alone = self.before.is_empty() && self.after.is_empty();
        // Bytes of a coded body are none of the body's (RFC 9110, section 14.1.2).
        let is_plain = !self.headers.iter().any(|one| one.0.eq_ignore_ascii_case("accept-encoding"));
        is_plain
            && is_alone
            && !self.declared.has_range
            && self.method == Method::Get
            && self.bytes.is_some()
            && rates.page.is_some()
            && self.keeps() == 0
    }

    /// Whether the server remembers something of it, or the user does: not so of what is only looked at (RFC 9110,
    /// section 9.2.1). A visit's first request brings the cookies; which others do is learned from their answers.
    pub fn leaves_traces(&self, is_first: bool) -> bool {
        let is_looked_at = matches!(self.method, Method::Get | Method::Head);
        let is_alone = self.before.is_empty() && self.after.is_empty();
        is_first
            || !is_looked_at
            || !is_alone
            || !self.websocket.is_empty()
            || !self.extract.is_empty()
            || !self.set.is_empty()
            || self.redirects > 0
    }

    /// Whether the title of its page is looked for.
    pub fn seeks_title(&self) -> bool {
        self.title.is_some()
    }

    /// How much of the body's beginning the checks need.
    pub fn keeps(&self) -> usize {
        let looks =
            self.title.is_some() || !self.contains.is_empty() || !self.absent.is_empty() || !self.endings.is_empty();
        match looks {
            _ if !self.extract.is_empty() || !self.json.is_empty() => crate::inspect::BODY_BYTES,
            _ if self.images.is_some() => crate::inspect::PAGE_BYTES,
            true => crate::inspect::HEAD_BYTES,
            false => 0,
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
                self.path.render(values, Encoding::Target, out);
                let has_query = !self.query.is_empty() && out.contains(&b'?');
                write_pairs(&self.query, values, if has_query { b'&' } else { b'?' }, out);
            }
        }
        self.write_common(with, out);
        // The boundary between the parts of an upload is the driver's.
        let is_written = |name: &str| self.uploads.is_empty() || !name.eq_ignore_ascii_case("content-type");
        self.write_headers(values, out, is_written);
        if self.form.is_empty()
            && self.uploads.is_empty()
            && self.body.is_none()
            && !matches!(self.method, Method::Post | Method::Put | Method::Patch)
        {
            out.extend_from_slice(b"\r\n");
            return;
        }
        if !self.uploads.is_empty() {
            return upload::write(&self.form, &self.uploads, values, out);
        }
        let mut body = Vec::new();
        match &self.body {
            Some(text) => text.render(values, Encoding::Raw, &mut body),
            None => write_pairs(&self.form, values, 0, &mut body),
        }
        let has_body = self.body.is_some() || !self.form.is_empty();
        if has_body && !self.declared.has_content_type {
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
        let bytes = self.body_bytes(values).map_or(PING_BYTES, |bytes| bytes as usize);
        out.extend((0..bytes.min(MOST_PAYLOAD)).map(|at| (at % 251) as u8));
    }
}

/// Whether a field says something of a body (Fetch, "request-body-header name").
fn is_about_body(name: &str) -> bool {
    ["content-type", "content-encoding", "content-language", "content-location"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
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

#[cfg(test)]
mod tests {
    use loadstone_schedule::plan::Workload;
    use serde_json::{json, Value};

    use loadstone_record::recorder::Grade;
    use loadstone_record::Fault;

    use super::*;
    use crate::client::cookies::Origin;
    use crate::inspect::Inspector;
    use crate::transport::Answer;

    /// An operation with these fields beside the usual ones, and a script that knows the values `user` and `token`.
    fn compiled(fields: Value) -> (Compiled, Values) {
        let mut operation = json!({
            "name": "page", "scheme": "http", "method": "GET", "path": "/of/{user}", "query": [], "form": [],
            "body": null, "headers": [], "redirects": 0, "extract": [], "embedded": [],
            "expect": {
                "status": [200], "title": null, "contains": [], "absent": [], "markers_every": 0, "bytes": null,
            },
            "limit": { "kind": "none" }, "timeout_ns": 1, "images": null, "uploads": [], "set": [],
        });
        merge(&mut operation, &fields);
        let field = |name: &str, value: &str| json!({ "name": name, "value": value });
        let workload: Workload = serde_json::from_value(json!({
            "name": "test", "values": [], "operations": [operation],
            "states": [{
                "name": "page", "operation": 0, "pause": "drawn",
                "set": [field("user", "a b&c"), field("token", "")],
            }],
            "mix": { "kind": "sequence", "states": [0] },
            "pacing": { "kind": "think", "distribution": "fixed", "mean_ns": 0, "cap_ns": null },
            "connections": {
                "protocol": "http1", "parallel": 1, "page_bytes_per_s": null, "embedded_bytes_per_s": null,
                "requests_each": null, "kept_between_users": true, "full_handshakes": 0.0,
            },
        }))
        .expect("a workload");
        let script = Script::compile(&workload).expect("a script");
        let (mut all, _) = Compiled::all(&workload.operations, &script).expect("an operation");
        let mut session = loadstone_schedule::session::Session::new(&script, 1, 0);
        session.begin(&script);
        session.next(&script);
        session.prepare(&script);
        (all.remove(0), session.values)
    }

    fn merge(into: &mut Value, from: &Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                from.iter().for_each(|(key, value)| merge(&mut into[key], value));
            }
            (into, from) => *into = from.clone(),
        }
    }

    fn request(fields: Value, elsewhere: Option<&[u8]>) -> String {
        let (operation, values) = compiled(fields);
        let mut out = Vec::new();
        let with =
            Sending { values: &values, host: "shop.example", is_secure: false, jar: &RefCell::default(), from: 0 };
        operation.write_request(&with, elsewhere, &mut out);
        String::from_utf8(out).expect("text")
    }

    fn seen(body: &str) -> Inspector {
        let mut inspector = Inspector::new();
        inspector.reset(0, crate::inspect::HEAD_BYTES);
        inspector.take(body.as_bytes());
        inspector
    }

    fn answer(status: u16) -> Answer {
        Answer { status, bytes: 0, body_bytes: 0, first_byte_ns: 0, end_ns: 0, keep_alive: true }
    }

    /// What is found wrong with an answer of 200 with this body.
    fn fault(fields: Value, body: &str) -> Option<Fault> {
        let (operation, values) = compiled(fields);
        operation.check(&answer(200), &seen(body), &values).err().map(|failure| failure.fault)
    }

    #[test]
    fn a_get_has_what_cannot_stand_in_its_path_encoded_and_its_query_as_a_form() {
        let query = json!([{ "name": "q", "value": "{user}" }, { "name": "n", "value": "1" }]);
        let text = request(json!({ "query": query }), None);
        assert!(text.starts_with("GET /of/a%20b&c?q=a+b%26c&n=1 HTTP/1.1\r\nHost: shop.example\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\n") && !text.contains("Content-Length"), "{text}");
    }

    #[test]
    fn a_query_follows_that_of_its_path() {
        let query = json!([{ "name": "q", "value": "1" }]);
        let text = request(json!({ "path": "/of?ids=3&ids=4", "query": query }), None);
        assert!(text.starts_with("GET /of?ids=3&ids=4&q=1 HTTP/1.1\r\n"), "{text}");
    }

    #[test]
    fn a_value_never_begins_a_header_of_its_own() {
        let (operation, mut values) = compiled(json!({ "headers": [{ "name": "X-Name", "value": "{token}" }] }));
        let token = operation.headers[0].1.slots().next().expect("a value");
        values.set(token, "one\r\nX-Injected: yes");
        let mut out = Vec::new();
        let with = Sending { values: &values, host: "h", is_secure: false, jar: &RefCell::default(), from: 0 };
        operation.write_request(&with, None, &mut out);
        let text = String::from_utf8(out).expect("text");
        assert!(text.ends_with("\r\nX-Name: one  X-Injected: yes\r\n\r\n"), "{text}");
    }

    #[test]
    fn a_form_is_sent_with_its_length_and_kind_unless_a_header_names_another() {
        let form = json!([{ "name": "who", "value": "{user}" }]);
        let text = request(json!({ "method": "POST", "form": form }), None);
        assert!(text.contains("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 11\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\nwho=a+b%26c"), "{text}");
        let headers = json!([{ "name": "CONTENT-TYPE", "value": "text/plain" }]);
        let text = request(json!({ "method": "POST", "body": "{user}", "headers": headers }), None);
        assert!(!text.contains("x-www-form-urlencoded") && text.ends_with("\r\n\r\na b&c"), "{text}");
    }

    /// The lines of a request that begin with this name, whatever its case.
    fn lines(text: &str, name: &str) -> Vec<String> {
        let is = |line: &&str| line.split(':').next().is_some_and(|begin| begin.eq_ignore_ascii_case(name));
        text.lines().filter(is).map(str::to_owned).collect()
    }

    #[test]
    fn fields_that_a_workload_declares_take_the_place_of_the_drivers() {
        let headers = json!([
            { "name": "host", "value": "virtual.example" }, { "name": "USER-AGENT", "value": "Mozilla" },
            { "name": "Accept", "value": "application/json" }, { "name": "Cookie", "value": "consent={user}" },
            { "name": "Content-Length", "value": "99" }, { "name": "Content-Type", "value": "text/plain" },
        ]);
        for fields in [json!({ "headers": headers, "method": "POST", "body": "x" }), json!({ "headers": headers })] {
            let text = request(fields, None);
            assert!(text.contains(" HTTP/1.1\r\nHost: virtual.example\r\n"), "{text}");
            for (name, line) in [
                ("user-agent", "USER-AGENT: Mozilla"),
                ("accept", "Accept: application/json"),
                ("cookie", "Cookie: consent=a b&c"),
            ] {
                assert_eq!(lines(&text, name), [line], "{text}");
            }
            assert!(lines(&text, "content-length").len() < 2 && !text.contains("99"), "{text}");
        }
    }

    #[test]
    fn a_get_that_a_page_leads_to_says_nothing_of_a_body() {
        let headers = json!([{ "name": "Content-Type", "value": "text/plain" }, { "name": "X-Kept", "value": "1" }]);
        let (operation, values) = compiled(json!({ "method": "POST", "headers": headers }));
        let (mut out, jar) = (Vec::new(), RefCell::default());
        let with = Sending { values: &values, host: "h", is_secure: false, jar: &jar, from: 0 };
        operation.write_get(&with, None, &mut out, |out| out.extend_from_slice(b"/f"));
        let text = String::from_utf8(out).expect("text");
        assert!(text.contains("X-Kept: 1\r\n") && !text.contains("Content-Type"), "{text}");
    }

    #[test]
    fn an_upload_has_the_boundary_of_the_driver_alone() {
        let uploads = json!([{ "field": "f", "file_name": "a", "content": "filler", "bytes": 3 }]);
        let headers = json!([{ "name": "Content-Type", "value": "multipart/form-data; boundary=other" }]);
        let text = request(json!({ "method": "POST", "uploads": uploads, "headers": headers }), None);
        assert_eq!(lines(text.split("\r\n\r\n").next().expect("a head"), "content-type").len(), 1, "{text}");
        assert!(!text.contains("boundary=other"), "{text}");
    }

    #[test]
    fn a_post_without_anything_still_says_that_it_has_no_body() {
        assert!(request(json!({ "method": "POST" }), None).contains("Content-Length: 0\r\n"));
    }

    #[test]
    fn a_redirected_post_keeps_its_body_and_leaves_its_own_path() {
        let query = json!([{ "name": "q", "value": "1" }]);
        let text = request(json!({ "method": "POST", "query": query, "body": "x" }), Some(b"/there"));
        assert!(text.starts_with("POST /there HTTP/1.1\r\n") && text.ends_with("\r\n\r\nx"), "{text}");
    }

    #[test]
    fn a_conditional_get_says_since_when() {
        let (operation, values) = compiled(json!({}));
        let (mut out, jar) = (b"old".to_vec(), RefCell::default());
        let with = Sending { values: &values, host: "h", is_secure: false, jar: &jar, from: 0 };
        operation.write_get(&with, Some("Thu"), &mut out, |out| out.extend_from_slice(b"/f"));
        let text = String::from_utf8(out).expect("text");
        assert!(text.starts_with("GET /f HTTP/1.1\r\n") && text.ends_with("If-Modified-Since: Thu\r\n\r\n"), "{text}");
    }

    #[test]
    fn an_echo_is_as_long_as_is_expected_back_within_bounds() {
        let length = |bytes: Value| {
            let (operation, values) = compiled(json!({ "expect": { "bytes": bytes } }));
            let mut out = Vec::new();
            operation.write_payload(&values, &mut out);
            out.len()
        };
        assert_eq!([json!("1000"), json!(null), json!("99999999999")].map(length), [1000, PING_BYTES, MOST_PAYLOAD]);
    }

    #[test]
    fn every_check_finds_its_own_fault_and_nothing_else() {
        let title = json!({ "expect": { "title": "Hello {user}" } });
        assert_eq!(fault(title.clone(), "<title> Hello a b&c </title>"), None);
        assert_eq!(fault(title.clone(), "<title>Hello</title>"), Some(Fault::Title));
        assert_eq!(fault(title.clone(), "Hello a b&c"), Some(Fault::Title));
        for body in [
            "<TITLE>Hello a b&amp;c</TITLE>",
            "<title data-x=\"1\">Hello a b&c</title >",
            "<head><title>\n  Hello a\n b&#38;c\t</title></head>",
            "<titlebar>no</titlebar><Title\nid=t>Hello a b&c</tiTLE>",
        ] {
            assert_eq!(fault(title.clone(), body), None, "{body}");
        }
        for body in
            ["<TITLE>Other</TITLE><title>Hello a b&c</title>", "<title>Hello a b&c", "<titles>Hello a b&c</title>"]
        {
            assert_eq!(fault(title.clone(), body), Some(Fault::Title), "{body}");
        }
        let contains = json!({ "expect": { "contains": ["cart of {user}"] } });
        assert_eq!(fault(contains.clone(), "the cart of a b&c"), None);
        assert_eq!(fault(contains, "the cart"), Some(Fault::Content));
        let absent = json!({ "expect": { "absent": ["error"] } });
        assert_eq!(fault(absent.clone(), "fine"), None);
        assert_eq!(fault(absent, "an error"), Some(Fault::Content));
        let bytes = json!({ "expect": { "bytes": "4" } });
        assert_eq!(fault(bytes.clone(), "four"), None);
        assert_eq!(fault(bytes, "five!"), Some(Fault::Length));
    }

    #[test]
    fn a_wrong_status_is_one_however_good_the_body() {
        let (operation, values) = compiled(json!({ "expect": { "status": [200, 201] } }));
        let failed = |status| operation.check(&answer(status), &seen(""), &values).err().map(|failure| failure.fault);
        assert_eq!([200, 201, 404].map(failed), [None, None, Some(Fault::Status)]);
    }

    #[test]
    fn a_value_is_taken_from_between_its_texts_or_missed() {
        let extract = json!([{ "value": "token", "after": "id=\"", "before": "\"" }]);
        let (operation, mut values) = compiled(json!({ "extract": extract, "body": "{token}" }));
        operation.extract(&seen("<a id=\"17\" id=\"18\">"), (&[], &Jar::default()), &mut values).expect("it is there");
        let mut out = Vec::new();
        operation.write_payload(&values, &mut out);
        assert_eq!(out, b"17");
        let pick = json!([{ "value": "token", "after": "id=\"", "before": "\"", "pick": "4" }]);
        let (picking, mut picked) = compiled(json!({ "extract": pick, "body": "{token}" }));
        picking
            .extract(&seen("<a id=\"17\" id=\"18\" id=\"19\">"), (&[], &Jar::default()), &mut picked)
            .expect("it is there");
        let mut chosen = Vec::new();
        picking.write_payload(&picked, &mut chosen);
        assert_eq!(chosen, b"18", "the fourth, counted round from 0");
        let missed =
            operation.extract(&seen("<a id=\"17"), (&[], &Jar::default()), &mut values).expect_err("it has no end");
        assert_eq!(missed.fault, Fault::Extract);
    }

    /// What a rule takes out of an answer; none where it misses.
    fn taken(rule: Value, body: &str, told: &[(usize, String)]) -> Option<String> {
        let mut whole = rule;
        whole["value"] = json!("token");
        let (operation, mut values) = compiled(json!({ "extract": [whole], "body": "{token}" }));
        let mut jar = Jar::default();
        jar.take("XSRF=a%3Db; Path=/", &Origin::of(b"GET / HTTP/1.1\r\nHost: h\r\n", false));
        operation.extract(&seen(body), (told, &jar), &mut values).ok()?;
        let mut out = Vec::new();
        operation.write_payload(&values, &mut out);
        Some(String::from_utf8(out).expect("text"))
    }

    #[test]
    fn a_value_is_taken_from_json_by_a_pointer() {
        let body = r#"{"items": [{"id": 7}, {"id": "a/b"}], "none": null}"#;
        let at = |pointer: &str| taken(json!({ "json": pointer }), body, &[]);
        assert_eq!(at("/items/1/id").as_deref(), Some("a/b"));
        assert_eq!(at("/items/0/id").as_deref(), Some("7"));
        assert_eq!(at("/items").as_deref(), Some(r#"{"id":7}"#), "the first of a list");
        assert_eq!(taken(json!({ "json": "/items", "pick": "3" }), body, &[]).as_deref(), Some(r#"{"id":"a/b"}"#));
        assert_eq!([at("/none"), at("/else")], [None, None]);
        assert_eq!(taken(json!({ "json": "/a" }), "<html>", &[]), None);
    }

    #[test]
    fn a_value_is_taken_from_a_form_whatever_the_order_and_quotes_of_its_attributes() {
        let page =
            "<meta name=csrf content='m&amp;m'><input value=\"a&quot;b\" type=hidden name='token'><!-- name=no -->";
        let named = |name: &str| taken(json!({ "field": name }), page, &[]);
        assert_eq!(named("token").as_deref(), Some("a\"b"));
        assert_eq!(named("csrf").as_deref(), Some("m&m"));
        assert_eq!(named("no"), None);
    }

    #[test]
    fn a_value_is_taken_by_a_pattern_or_from_a_header_and_decoded() {
        let body = "cart 12 of 3, cart 13 of 4; to=/a%20b&amp;c\"";
        let by = |rule: Value| taken(rule, body, &[(0, "Bearer x".to_owned())]);
        assert_eq!(by(json!({ "regex": "cart (\\d+)" })).as_deref(), Some("12"));
        assert_eq!(by(json!({ "regex": "of \\d", "pick": "1" })).as_deref(), Some("of 4"));
        assert_eq!(by(json!({ "regex": "cart x" })), None);
        assert_eq!(by(json!({ "header": "Authorization" })).as_deref(), Some("Bearer x"));
        assert_eq!(by(json!({ "header": "Authorization", "after": "Bearer " })).as_deref(), Some("x"));
        assert_eq!(by(json!({ "header": "Authorization", "after": "Basic " })), None);
        let led = [(0, "/orders/8f/pay?a=1".to_owned()), (0, "/carts/7".to_owned())];
        let in_location = |after: &str, before: &str| {
            taken(json!({ "header": "Location", "after": after, "before": before }), body, &led)
        };
        assert_eq!(in_location("/orders/", "/").as_deref(), Some("8f"));
        assert_eq!(in_location("/carts/", "").as_deref(), Some("7"), "of several, the first that has it");
        assert_eq!(in_location("/carts/", "/"), None);
        assert_eq!(by(json!({ "cookie": "XSRF", "decode": "url" })).as_deref(), Some("a=b"));
        assert_eq!(by(json!({ "cookie": "other" })), None);
        let between = |how: &str| json!({ "after": "to=", "before": "\"", "decode": how });
        assert_eq!(by(between("html")).as_deref(), Some("/a%20b&c"));
        assert_eq!(by(between("url")).as_deref(), Some("/a b&amp;c"));
        let told = |text: &str, how: &str| taken(json!({ "after": "[", "before": "]", "decode": how }), text, &[]);
        assert_eq!(told("[a\\/b\\u002bc]", "json").as_deref(), Some("a/b+c"));
        assert_eq!(told("[YS9iPz4_]", "base64").as_deref(), Some("a/b?>?"));
        assert_eq!(told("[YQ==]", "base64").as_deref(), Some("a"));
    }

    #[test]
    fn a_value_is_taken_from_the_element_that_a_css_selector_finds_in_the_page_as_browsers_build_it() {
        let page = "<table><tr><td class='price sale'> 12 &euro; <b>net</b></td></table><a rel=next href='/p?a=1&amp;b=2'>on</a><a rel=next href=/last>";
        let by = |rule: Value| taken(rule, page, &[]);
        assert_eq!(by(json!({ "css": "table > tbody .sale" })).as_deref(), Some("12 € net"));
        assert_eq!(by(json!({ "css": "a[rel=next]", "attribute": "href" })).as_deref(), Some("/p?a=1&b=2"));
        assert_eq!(by(json!({ "css": "a", "attribute": "href", "pick": "1" })).as_deref(), Some("/last"));
        assert_eq!(by(json!({ "css": ".gone" })), None);
    }

    #[test]
    fn pictures_that_a_page_names_are_found_once_each() {
        let images = json!({ "after": "<img src=\"", "before": "\"", "least_bytes": 10 });
        let (operation, _) = compiled(json!({ "images": images }));
        let page = "<img src=\"/a.jpg\"> <img src=\"/b.jpg\"> <img src=\"/a.jpg\"> <img src=\"http://else/c.jpg\"> <img src=\"/cut";
        assert_eq!(operation.named_images(&seen(page)), ["/a.jpg".into(), "/b.jpg".into()]);
        let images = operation.images.expect("declared");
        let check = |status, body: &str| check_image(&images, &answer(status), &seen(body)).map_err(|one| one.fault);
        assert_eq!(check(200, "ten bytes!"), Ok(()));
        assert_eq!(check(200, "nine byte"), Err(Fault::Length));
        assert_eq!(check(404, "ten bytes!"), Err(Fault::Status));
    }

    #[test]
    fn a_form_with_files_is_sent_in_parts() {
        let form = json!([{ "name": "title", "value": "{user}" }]);
        let uploads = json!([{ "field": "picture", "file_name": "p.jpg", "content": "filler", "bytes": 5 }]);
        let text = request(json!({ "method": "POST", "form": form, "uploads": uploads }), None);
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains("Content-Type: multipart/form-data; boundary="), "{head}");
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        assert!(body.contains("name=\"title\"\r\n\r\na b&c\r\n"), "{body}");
        assert!(body.contains("name=\"picture\"; filename=\"p.jpg\"\r\nContent-Type: application/octet-stream\r\n\r\n"));
        assert!(body.ends_with("--\r\n"), "{body}");
    }

    #[test]
    fn what_is_set_is_known_after_the_answer_alone() {
        let (operation, mut values) =
            compiled(json!({ "set": [{ "name": "token", "value": "of {user}" }], "body": "{token}" }));
        let payload = |values: &Values| {
            let mut out = Vec::new();
            operation.write_payload(values, &mut out);
            String::from_utf8(out).expect("text")
        };
        assert_eq!(payload(&values), "");
        operation.extract(&seen(""), (&[], &Jar::default()), &mut values).expect("nothing to extract");
        assert_eq!(payload(&values), "of a b&c");
    }

    #[test]
    fn an_answer_as_late_as_its_limit_is_still_good() {
        let limit = Limit::Time { good_ns: 10, tolerable_ns: 20 };
        assert_eq!(
            [10, 11, 20, 21].map(|response_ns| grade(&limit, response_ns, 0)),
            [Grade::Good, Grade::Tolerable, Grade::Tolerable, Grade::Fail],
        );
        assert_eq!([None, Some(7)].map(|bytes| allowed_ns(&limit, bytes)), [Some(20); 2]);
    }

    #[test]
    fn a_download_is_graded_by_its_speed() {
        let limit = Limit::Rate { good_bytes_per_s: 100.0, tolerable_bytes_per_s: 50.0 };
        let second = 1_000_000_000;
        assert_eq!([Some(150), None].map(|bytes| allowed_ns(&limit, bytes)), [Some(3 * second), None]);
        assert_eq!(
            [100, 99, 50, 49].map(|bytes| grade(&limit, second, bytes)),
            [Grade::Good, Grade::Tolerable, Grade::Tolerable, Grade::Fail],
        );
        assert_eq!(grade(&Limit::None, u64::MAX, 0), Grade::Good);
    }

    #[test]
    fn an_embedded_file_may_be_unchanged_only_where_that_was_asked() {
        let file = EmbeddedFile {
            path: Template::compile("/f", &Slots::default(), "here").expect("a path"),
            bytes: Some(4),
            conditional: 1.0,
            markers_every: 0,
            memory: None,
            file: None,
            status: vec![302],
        };
        let check = |asked, status, body: &str| {
            check_embedded(&file, asked, &answer(status), &seen(body)).map_err(|failure| failure.fault)
        };
        assert_eq!(check(true, 304, ""), Ok(true));
        assert_eq!(check(false, 304, ""), Err(Fault::Status));
        assert_eq!(check(true, 200, "four"), Ok(false));
        assert_eq!(check(true, 200, "five!"), Err(Fault::Length));
        assert_eq!(check(false, 302, ""), Ok(false));
        assert_eq!(check(false, 301, ""), Err(Fault::Status));
        let file = EmbeddedFile { bytes: None, ..file };
        for status in [200, 204, 206] {
            assert_eq!(check_embedded(&file, false, &answer(status), &seen("")).ok(), Some(false));
        }
        assert!(check_embedded(&file, false, &answer(404), &seen("")).is_err());
    }
}
