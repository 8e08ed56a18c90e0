//! The plan: everything one driver run needs to know, resolved to numbers. One JSON document, this schema.
//!
//! Written by the Python side from a workload, a profile and a target; read by the driver and the simulator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Nanos;

/// Version of this schema. A driver refuses any other.
pub const PLAN_SCHEMA: u32 = 5;

/// Everything a driver needs to know of a run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub schema: u32,
    pub name: String,
    pub seed: u64,
    pub phases: Phases,
    /// Driver threads, each with its own event loop and its share of the sessions.
    pub threads: u32,
    /// Workloads that are played at the same time.
    pub parts: Vec<Part>,
    /// Which share of the load this driver plays.
    #[serde(default)]
    pub member: Member,
    /// How many of the steady state's first starts each thread writes down one by one.
    #[serde(default)]
    pub log_starts: u32,
    /// How many operations each thread writes down one by one, from the start on.
    #[serde(default)]
    pub log_operations: u32,
    /// Whether every exchange is told as it was, and the run ends with its first visit.
    #[serde(default)]
    pub trace: bool,
}

/// One of the drivers that play a plan together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Member {
    pub index: u32,
    pub of: u32,
}

impl Default for Member {
    fn default() -> Self {
        Member { index: 0, of: 1 }
    }
}

impl Member {
    /// Whether this driver plays the session or arrival of this number, where each has so many threads: blocks of
    /// threads take turns, so that together all are played once, by however many.
    pub fn plays(self, number: u64, threads: u32) -> bool {
        let (index, of) = (u64::from(self.index), u64::from(self.of.max(1)));
        let threads = u64::from(threads.max(1));
        number % (threads * of) / threads == index
    }
}

/// One workload, its load and its target.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub load: Load,
    /// Machines alike, to which sessions are dealt in turn; empty when the plan is only simulated.
    pub targets: Vec<Target>,
    pub workload: Workload,
    /// How the load varies in time; even without one.
    #[serde(default)]
    pub curve: Option<Curve>,
}

/// A load that varies in time: a pause lasts until the factors of its time come to it, again and again from the start.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// How long each factor holds.
    pub step_ns: Nanos,
    /// How many times the mean load; their own mean should be 1.
    pub factors: Vec<f64>,
    /// Place on the curve at the start of the run.
    pub shift_ns: Nanos,
}

/// How much load: a number of sessions, or sessions that come by themselves.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Load {
    /// Closed: this many sessions at once, user after user.
    Population {
        /// How many; of a number that changes the largest.
        sessions: u32,
        /// How many there are over the steady state, where that changes; before it as many as at its beginning, after
        /// it as many as at its end.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        path: Vec<PopulationStage>,
    },
    /// Open: user sessions begin at their time, however many are still there.
    Arrivals {
        process: Process,
        path: Path,
        /// Most sessions at once; those that come beyond are errors of the driver.
        most_sessions: u32,
        /// How many owners of data the arriving sessions stand for, in turn.
        data_sessions: u64,
    },
}

impl Load {
    /// Whether it is a population whose number changes: only drivers play that.
    pub fn changes(&self) -> bool {
        matches!(self, Load::Population { path, .. } if !path.is_empty())
    }

    /// Whether nobody comes.
    pub fn is_none(&self) -> bool {
        matches!(self, Load::Population { sessions: 0, .. })
    }
}

/// A time over which the number of sessions changes evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PopulationStage {
    pub length_ns: Nanos,
    pub from: u32,
    pub to: u32,
}

/// How arrivals are spread at a given rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Process {
    /// Evenly spaced.
    Constant,
    /// Independent of each other: exponential gaps.
    Poisson,
    /// Poisson at a rate that jumps between nearly twice and a tenth of the mean, so that the variance of a long time's
    /// count is `dispersion` times its mean; above 1.
    Bursty { dispersion: f64 },
    /// The same with times between jumps of any length (Pareto): bursts on every scale; `hurst` between 0.5 and 1.
    SelfSimilar { hurst: f64 },
}

/// Rate over the time of the run, or the instants themselves.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Path {
    /// One after the other, from the start of the run.
    Stages { stages: Vec<Stage> },
    /// Instants in order, counted from the start of the run; the process has no say.
    Trace { at_ns: Vec<Nanos> },
}

/// A time over which the rate changes evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    pub length_ns: Nanos,
    /// Sessions per second at its beginning and at its end.
    pub from_per_s: f64,
    pub to_per_s: f64,
}

/// Lengths of the phases, in order.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Sessions start evenly over this time.
    pub ramp_up_ns: Nanos,
    /// All sessions run, nothing counts yet.
    pub warm_up_ns: Nanos,
    /// What is measured.
    pub steady_ns: Nanos,
    /// Sessions stop evenly over this time.
    pub ramp_down_ns: Nanos,
}

impl Phases {
    /// When the steady state begins, from the start of the run.
    pub fn steady_start(&self) -> Nanos {
        self.ramp_up_ns + self.warm_up_ns
    }

    /// When it ends.
    pub fn steady_end(&self) -> Nanos {
        self.steady_start() + self.steady_ns
    }

    /// When the run ends.
    pub fn end(&self) -> Nanos {
        self.steady_end() + self.ramp_down_ns
    }

    /// Whether instants of the run can be reckoned with: no phase takes longer than ten years.
    pub fn are_sane(&self) -> bool {
        const TEN_YEARS: Nanos = 3653 * 86_400 * crate::SECOND;
        [self.ramp_up_ns, self.warm_up_ns, self.steady_ns, self.ramp_down_ns].iter().all(|&length| length <= TEN_YEARS)
    }

    /// The phase at `at` nanoseconds after the start of the run.
    pub fn at(&self, at: Nanos) -> Phase {
        match at {
            _ if at < self.ramp_up_ns => Phase::RampUp,
            _ if at < self.steady_start() => Phase::WarmUp,
            _ if at < self.steady_end() => Phase::Steady,
            _ if at < self.end() => Phase::RampDown,
            _ => Phase::Done,
        }
    }
}

/// The phases of a run, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    RampUp,
    WarmUp,
    Steady,
    RampDown,
    Done,
}

/// One machine of the system under test, as users reach it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub http: Option<Endpoint>,
    pub https: Option<Endpoint>,
    pub trust: Trust,
    /// The client's certificate, for a server that demands one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// Which addresses of a name take load.
    #[serde(default)]
    pub addresses: Addresses,
}

/// Files of a client's certificate, in PEM form. The driver reads them; a plan holds their paths alone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The certificate, and those between it and its authority.
    pub certificate: String,
    pub key: String,
}

/// Which addresses of a name take load, of those that accept connections and are of one family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Addresses {
    /// Each session takes the next.
    #[default]
    All,
    /// The first takes all.
    First,
}

/// A host and a port.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    pub host: String,
    pub port: u16,
}

/// Which certificates the driver believes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Trust {
    /// The machine's own list.
    System,
    /// A private authority, in PEM form.
    Authority { pem: String },
    /// Any certificate; disclosed in the report.
    Anything,
}

/// What users do: values, operations, states, mix, pacing and connections.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    pub name: String,
    /// In the order they are drawn; a text may refer to those before it.
    pub values: Vec<Generator>,
    pub operations: Vec<Operation>,
    pub states: Vec<State>,
    pub mix: Mix,
    pub pacing: Pacing,
    pub connections: Connections,
    /// Of mail: what stands in the mailboxes.
    #[serde(default)]
    pub mailboxes: Option<Mailboxes>,
}

/// Users' mailboxes and what is in them before the run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mailboxes {
    /// What user names begin with; the session's number, from 1, follows.
    pub user: String,
    pub password: String,
    /// The first is where most mail is read.
    pub folders: Vec<String>,
    /// Messages of a user at first, over all folders.
    pub messages: u32,
    pub sizes: Vec<MessageSize>,
}

/// A length of messages and how often it comes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageSize {
    pub bytes: u32,
    pub weight: f64,
}

/// A named value and how it is drawn.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    pub name: String,
    pub scope: Scope,
    /// States before which a value of scope `states` is drawn.
    #[serde(default)]
    pub states: Vec<u32>,
    #[serde(flatten)]
    pub kind: GeneratorKind,
}

/// How long a drawn value holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Drawn anew for every operation.
    Operation,
    /// Drawn once when a user session begins.
    Session,
    /// Drawn before certain states only, and held until then.
    States,
}

/// How a value is drawn.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum GeneratorKind {
    /// A whole number from min to max, zero-padded to `digits`.
    Uniform {
        min: i64,
        max: i64,
        digits: u8,
    },
    /// A whole number from 1 to max, the smaller the likelier: exponential, its mean this share of max.
    Exponential {
        max: u64,
        mean_share: f64,
    },
    /// A rank by Zipf's law, counted from `first`.
    Zipf {
        n: u64,
        alpha: f64,
        first: u64,
        digits: u8,
    },
    Choice {
        values: Vec<String>,
        weights: Option<Vec<f64>>,
    },
    /// One row; fills `{name.column}` for every column.
    Table {
        columns: Vec<String>,
        rows: Vec<Vec<String>>,
        weights: Option<Vec<f64>>,
        /// The row of the session's number, instead of one that is drawn.
        #[serde(default)]
        own: bool,
    },
    Words {
        words: Vec<String>,
        count: u32,
        separator: String,
    },
    /// A date, in days since 1970-01-01, written YYYY-MM-DD.
    Date {
        from_days: i64,
        to_days: i64,
    },
    /// User ids: each session owns `per_session` of them and takes the next at each new user session.
    User {
        per_session: u64,
        first: u64,
        digits: u8,
        /// Any of them at each draw, instead of the next.
        #[serde(default)]
        any: bool,
    },
    Text {
        text: String,
    },
    /// What a variable of the lab's environment holds. `value` is in the plan that a driver plays, and in no record of it;
    /// simulations do without.
    Secret {
        variable: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// A number that grows by one at each draw of a session.
    Counter {
        first: u64,
        digits: u8,
    },
    /// A text that no other draw gives, of this run or of another one with another salt.
    Unique {
        form: UniqueForm,
        prefix: String,
        salt: u64,
    },
    /// The time at which the operation is due.
    Now {
        form: TimeForm,
    },
}

/// How a unique text is written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UniqueForm {
    /// 13 letters and digits.
    Text,
    /// A random UUID (RFC 9562, section 5.4).
    Uuid,
}

/// How a moment is written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeForm {
    /// Seconds since 1970-01-01 (UTC).
    S,
    /// Milliseconds since then.
    Ms,
    /// ISO 8601 in UTC with milliseconds, as JavaScript's `toISOString` writes it.
    Iso,
}

impl Generator {
    /// The text that must not be written down, if it is one.
    pub fn secret(&self) -> Option<&str> {
        match &self.kind {
            GeneratorKind::Secret { value, .. } => value.as_deref(),
            _ => None,
        }
    }
}

/// A timed unit: a page with its embedded files, or one request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    pub name: String,
    pub scheme: Scheme,
    pub method: Method,
    pub path: String,
    pub query: Vec<Field>,
    pub form: Vec<Field>,
    /// A body as it is sent, instead of a form.
    pub body: Option<String>,
    pub headers: Vec<Field>,
    /// How many redirects may be followed as part of the operation.
    pub redirects: u8,
    pub expect: Expect,
    pub extract: Vec<Extract>,
    pub embedded: Vec<Embedded>,
    pub limit: Limit,
    pub timeout_ns: Nanos,
    /// About how long its body is, where that is not checked: tells how far users are found in their visits.
    #[serde(default)]
    pub usual_bytes: Option<u64>,
    /// Ways it may end well, of which exactly one must be told by its answer; none where there is but one.
    #[serde(default)]
    pub endings: Vec<Ending>,
    /// What the session knows once it has been performed.
    #[serde(default)]
    pub set: Vec<Field>,
    /// Files sent with the form, which is then in parts (RFC 7578).
    #[serde(default)]
    pub uploads: Vec<Upload>,
    /// Requests that belong to it and come first, one after the other.
    #[serde(default)]
    pub before: Vec<Request>,
    /// Those that come after its page and before the files of it.
    #[serde(default)]
    pub after: Vec<Request>,
    /// Pictures that the page itself names.
    #[serde(default)]
    pub images: Option<Images>,
    /// An exchange over a WebSocket that its path asks for, step by step; none for a page.
    #[serde(default)]
    pub websocket: Vec<SocketStep>,
}

/// A step of an exchange over a WebSocket (RFC 6455).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SocketStep {
    /// A message of text, which may hold values.
    Send(String),
    /// A message of bytes, by base64.
    SendBytes(String),
    /// A ping, whose pong is waited for.
    Ping,
    /// The next message must hold this text.
    Expect(String),
    /// One of the next messages must; the others are passed over.
    Await(String),
}

impl SocketStep {
    /// Its text that may hold values.
    pub fn text(&self) -> Option<&String> {
        match self {
            SocketStep::Send(text) | SocketStep::Expect(text) | SocketStep::Await(text) => Some(text),
            SocketStep::SendBytes(_) | SocketStep::Ping => None,
        }
    }
}

/// A request that an operation consists of, besides its page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Made only where none of these texts, filled in, is empty.
    pub when: Vec<String>,
    /// Whether the user's browser forgets all it has afterwards: cookies, files, connections.
    pub forgets: bool,
    /// What is asked for; its limit, its files and its own requests count for nothing.
    pub page: Operation,
}

/// A file that is sent with a form.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Upload {
    pub field: String,
    pub file_name: String,
    pub content: UploadContent,
    /// Its exact length.
    pub bytes: u64,
}

/// What is in a file that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UploadContent {
    /// A picture that can be looked at.
    Jpeg,
    /// Bytes that nobody looks at.
    Filler,
}

/// Pictures whose paths stand in a page; a browser fetches each once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Images {
    /// What a path stands behind, and before.
    pub after: String,
    pub before: String,
    /// A shorter one is an error.
    pub least_bytes: u64,
}

/// A way in which an operation ends well.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ending {
    pub name: String,
    /// A text of the answer that tells it.
    pub contains: String,
    /// What the server must then hold, once: it goes into the ledger that an audit is held against.
    #[serde(default)]
    pub ledger: Option<String>,
}

/// A name and its value, which may hold other values.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Field {
    pub name: String,
    pub value: String,
}

/// Over which side of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    Http,
    Https,
}

/// The request's method (RFC 9110, section 9).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
    Head,
}

impl Method {
    /// As it is written in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
            Method::Head => "HEAD",
        }
    }
}

/// What a right answer looks like. Anything else is a validation error.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    pub status: Vec<u16>,
    pub title: Option<String>,
    pub contains: Vec<String>,
    pub absent: Vec<String>,
    /// Spacing of the markers in the body, in bytes; 0 for none.
    pub markers_every: u32,
    /// Length of the body in bytes, as a text that may hold a value.
    pub bytes: Option<String>,
    /// What must stand in a body of JSON, and what must not.
    #[serde(default)]
    pub json: Vec<JsonExpect>,
}

/// What must stand at a place of a body of JSON.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonExpect {
    /// RFC 6901.
    pub pointer: String,
    /// A text that may hold values, as it stands there without quotes; none where nothing may stand but null.
    pub is: Option<String>,
}

/// Takes something of an answer into a session value: what stands between two texts of the body, or in one other place.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extract {
    pub value: String,
    #[serde(default)]
    pub after: String,
    #[serde(default)]
    pub before: String,
    /// A pointer into a body of JSON (RFC 6901); of a list, its entries.
    #[serde(default)]
    pub json: Option<String>,
    /// A field of the head.
    #[serde(default)]
    pub header: Option<String>,
    /// A pattern: its first group, or all of it.
    #[serde(default)]
    pub regex: Option<String>,
    /// Name of a form's field or of a meta element, in HTML.
    #[serde(default)]
    pub field: Option<String>,
    /// Name of a cookie that the user holds then.
    #[serde(default)]
    pub cookie: Option<String>,
    /// A CSS selector of an element, in HTML.
    #[serde(default)]
    pub css: Option<String>,
    /// The element's attribute that is meant; none for its text.
    #[serde(default)]
    pub attribute: Option<String>,
    /// How what stands there is encoded.
    #[serde(default)]
    pub decode: Option<Decode>,
    /// Which of several: a number, as a text that may hold a value, reckoned round their count. None for the first.
    #[serde(default)]
    pub pick: Option<String>,
    /// Whether it may be missing: the value is empty then.
    #[serde(default)]
    pub optional: bool,
}

/// How a value is encoded where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decode {
    /// With character references, as `&amp;`.
    Html,
    /// With percent signs.
    Url,
    /// As in a text of JSON or of a program, with `\\u002b` and `\\/`.
    Json,
    /// By 64 letters, of either alphabet (RFC 4648).
    Base64,
}

/// A file that belongs to a page.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Embedded {
    pub path: String,
    /// Length of the body in bytes where it is known.
    pub bytes: Option<u64>,
    /// Probability that the client has it and asks with If-Modified-Since.
    pub conditional: f64,
    pub markers_every: u32,
    /// Status codes that are accepted beside 200 to 299, such as that of a redirect to another site.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<u16>,
}

/// Bounds that sort one operation into good, tolerable or fail.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Limit {
    Time { good_ns: Nanos, tolerable_ns: Nanos },
    Rate { good_bytes_per_s: f64, tolerable_bytes_per_s: f64 },
    None,
}

/// A node of the mix: an operation, and what is set before it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct State {
    pub name: String,
    pub operation: u32,
    pub pause: Pause,
    pub set: Vec<Field>,
    /// Texts of which none may be empty, or the sequence passes it over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<String>,
    /// What a cycle time that begins with it lasts at least: the rest of the mean is drawn.
    #[serde(default)]
    pub least_pause_ns: Nanos,
}

/// Whether users pause before a state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// The user pauses before it.
    Drawn,
    /// It follows at once.
    None,
}

/// In what order users pass through the states.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Mix {
    Matrix { start: u32, rows: Vec<Row> },
    Flat { shares: Vec<f64>, operations_per_session: Option<u32> },
    Sequence { states: Vec<u32> },
}

/// A row of the matrix. What is missing to 1 is the user who leaves without a word.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub to: Vec<Edge>,
    pub finish: f64,
}

/// A state and the chance to come to it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    pub state: u32,
    pub probability: f64,
}

/// How pauses are drawn and what they count from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    pub kind: PacingKind,
    pub distribution: Distribution,
    pub mean_ns: Nanos,
    pub cap_ns: Option<Nanos>,
}

/// What a pause counts from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PacingKind {
    Think,
    Cycle,
}

/// How pauses are spread around their mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    Exponential,
    Uniform,
    Fixed,
}

/// How users open and keep connections, and at what speed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Connections {
    pub protocol: Protocol,
    /// Connections a session opens at most per scheme; the page uses the first, embedded files all.
    pub parallel: u8,
    /// Speed of the page's connection, bytes per second.
    pub page_bytes_per_s: Option<f64>,
    /// Speed of each connection while embedded files come.
    pub embedded_bytes_per_s: Option<f64>,
    /// Requests after which a connection is given up; none for as many as the server likes.
    pub requests_each: Option<u32>,
    /// Whether a new user takes over the connections of the one before.
    pub kept_between_users: bool,
    /// Share of a user's TLS connections, after the first, that do not resume its session.
    pub full_handshakes: f64,
    /// Share of users whose browsers have all files of the pages already and ask for them conditionally, each time; the
    /// others fetch each file once. None where each file has a share of its own.
    #[serde(default)]
    pub warm_caches: Option<f64>,
    /// Source addresses that connections to the loopback network take in turn, from 127.0.0.1 on. A driver that has no
    /// ports left takes further ones.
    #[serde(default = "one_source")]
    pub source_addresses: u8,
}

fn one_source() -> u8 {
    1
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    Http1,
    /// HTTP/2: over TLS by negotiation, without TLS by prior knowledge. A user's lanes share one connection.
    Http2,
    /// Bytes sent come back unchanged (RFC 862).
    Echo,
    /// Mail (RFC 3501): an operation's path is its command.
    Imap,
    /// No server at all: every operation is answered at once. Measures the driver itself.
    Null,
}

#[cfg(test)]
mod tests;
