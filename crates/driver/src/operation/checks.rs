//! Whether an operation's answer, and those to its files and pictures, are what they should be.

use std::borrow::Cow;
use std::sync::LazyLock;

use loadstone_record::Fault;
use loadstone_schedule::plan::{Decode, Images};
use loadstone_schedule::slots::Values;
use memchr::memmem;
use serde_json::Value;

use super::compiled::{Compiled, EmbeddedFile};
use crate::inspect::Inspector;
use crate::text::{decoded, find_tag, plain};
use crate::transport::{Answer, Failure};

/// Letters of what stood in a body that are told.
const MOST_TOLD: usize = 200;
/// Partial Content (RFC 9110, section 15.3.7).
pub const PARTIAL: u16 = 206;

impl Compiled {
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
                return Err(Failure::new(
                    Fault::Content,
                    format!("`{}` {found}{}", needle.text(values), inspector.unseen_told()),
                ));
            }
        }
        self.check_json(inspector, values)
    }

    fn check_json(&self, inspector: &Inspector, values: &Values) -> Result<(), Failure> {
        if self.json.is_empty() {
            return Ok(());
        }
        let wrong = |detail: String| Err(Failure::new(Fault::Content, detail + &inspector.unseen_told()));
        let Ok(document) = serde_json::from_slice::<Value>(&inspector.head) else {
            return wrong("the body is not valid JSON".into());
        };
        for (pointer, expected) in &self.json {
            let found = document.pointer(pointer).filter(|value| !value.is_null()).map(plain);
            let expected = expected.as_ref().map(|needle| needle.text(values).into_owned());
            if found != expected {
                let told = |text: &Option<String>| match text {
                    Some(text) => format!("`{}`", self.withheld.beginning(text, MOST_TOLD)),
                    None => "nothing".into(),
                };
                return wrong(format!("{} at `{pointer}` of the JSON instead of {}", told(&found), told(&expected)));
            }
        }
        Ok(())
    }

    /// Whether the answer to a request for the rest of a body is what it should be: the rest, or all of it from a server
    /// that knows no ranges (RFC 9110, section 14.2).
    pub fn check_rest(&self, answer: &Answer, inspector: &Inspector, values: &Values) -> Result<(), Failure> {
        match answer.status {
            PARTIAL => check_markers(inspector).and_then(|()| match self.body_bytes(values) {
                Some(bytes) => check_length(inspector, Some(bytes), &bytes),
                None => Ok(()),
            }),
            status if self.status.contains(&status) => Ok(()),
            status => Err(Failure::new(Fault::Status, format!("status {status} for the rest of a body"))),
        }
    }
}

/// Checks an embedded file's answer; true when the server said "not modified". As in a browser, any success is one: a
/// beacon is answered by 204, a video by 206.
pub fn check_embedded(
    file: &EmbeddedFile,
    asked_conditionally: bool,
    answer: &Answer,
    inspector: &Inspector,
) -> Result<bool, Failure> {
    match answer.status {
        304 if asked_conditionally => Ok(true),
        200..=299 => {
            check_markers(inspector)?;
            if let Some(bytes) = file.bytes {
                check_length(inspector, Some(bytes), &bytes)?;
            }
            Ok(false)
        }
        other if file.status.contains(&other) => Ok(false),
        other => Err(Failure::new(Fault::Status, format!("status {other} for an embedded file"))),
    }
}

/// Checks a picture that a page names.
pub fn check_image(images: &Images, answer: &Answer, inspector: &Inspector) -> Result<(), Failure> {
    if answer.status != 200 {
        return Err(Failure::new(Fault::Status, format!("status {} for a picture", answer.status)));
    }
    if inspector.bytes() < images.least_bytes {
        let detail = format!("a picture of {} bytes, less than {}", inspector.bytes(), images.least_bytes);
        return Err(Failure::new(Fault::Length, detail));
    }
    Ok(())
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
    let title = title_of(head).map(|title| title.trim_ascii());
    if title == Some(expected) || title.is_some_and(|title| shown(title) == shown(expected)) {
        return Ok(());
    }
    let found = title.map_or("no title".into(), |title| format!("title `{}`", String::from_utf8_lossy(&shown(title))));
    Err(Failure::new(Fault::Title, format!("{found} instead of `{}`", String::from_utf8_lossy(expected))))
}

/// What stands in the first title element of a page, whatever its case and attributes.
fn title_of(head: &[u8]) -> Option<&[u8]> {
    static OPEN: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"<title>"));
    static CLOSE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"</title>"));
    if let Some(at) = OPEN.find(head) {
        let text = &head[at + OPEN.needle().len()..];
        if let (Some(end), None) = (CLOSE.find(text), find_tag(&head[..at], b"<title")) {
            return Some(&text[..end]);
        }
    }
    let tag = &head[find_tag(head, b"<title")?..];
    let text = &tag[memchr::memchr(b'>', tag)? + 1..];
    find_tag(text, b"</title").map(|end| &text[..end])
}

/// A title as a browser shows it: character references decoded, space in one piece.
fn shown(title: &[u8]) -> Vec<u8> {
    let decoded = decoded(Cow::Borrowed(title), Some(Decode::Html));
    let words = decoded.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(&b' ')
}
