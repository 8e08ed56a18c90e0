//! Operations: what is requested, what the answer must be, what belongs to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Nanos;

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
    /// Media type of its part, by default that of its content.
    #[serde(default)]
    pub content_type: Option<String>,
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
