//! Operations as a plan declares them, compiled: templates, needles, rules, files.

use std::collections::HashMap;
use std::sync::Arc;

use loadstone_schedule::line::{page_line_time, Rates};
use loadstone_schedule::plan::{Embedded, Field, Images, Limit, Method, Operation, Request, Scheme};
use loadstone_schedule::session::Script;
use loadstone_schedule::slots::{Slot, Slots, Values};
use loadstone_schedule::template::Template;
use loadstone_schedule::PlanError;

use super::rule::CompiledExtract;
use super::websocket::CompiledStep;
use crate::ending::CompiledEnding;
use crate::inspect::{BODY_BYTES, HEAD_BYTES, PAGE_BYTES};
use crate::needle::Needle;
use crate::upload::CompiledUpload;
use crate::withheld::Withheld;

/// A name and its compiled value.
pub(super) type Pair = (String, Template);

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
    pub(super) path: Template,
    pub(super) query: Vec<Pair>,
    pub(super) form: Vec<Pair>,
    pub(super) headers: Vec<Pair>,
    pub(super) declared: DeclaredFields,
    pub(super) body: Option<Template>,
    pub(super) status: Vec<u16>,
    pub(super) title: Option<Needle>,
    pub(super) contains: Vec<Needle>,
    pub(super) absent: Vec<Needle>,
    pub(super) bytes: Option<Needle>,
    /// Pointers into a body of JSON, with what must stand there; nothing where there is none.
    pub(super) json: Vec<(String, Option<Needle>)>,
    pub(super) usual_bytes: Option<u64>,
    pub(super) extract: Vec<CompiledExtract>,
    /// Header fields that values are taken from; none where they are taken from none.
    pub wanted: Option<Arc<[Box<str>]>>,
    pub(super) set: Vec<(Slot, Template)>,
    pub(super) uploads: Vec<CompiledUpload>,
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
pub(super) struct DeclaredFields {
    pub(super) host: Option<Template>,
    /// Cookies that are sent before those of the server, and in place of its cookies of the same names.
    pub(super) cookies: Vec<Template>,
    pub(super) has_user_agent: bool,
    pub(super) has_accept: bool,
    pub(super) has_modified_since: bool,
    pub(super) has_range: bool,
    pub(super) has_content_type: bool,
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
            _ if !self.extract.is_empty() || !self.json.is_empty() => BODY_BYTES,
            _ if self.images.is_some() => PAGE_BYTES,
            true => HEAD_BYTES,
            false => 0,
        }
    }
}
