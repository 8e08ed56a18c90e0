//! Texts with holes: `/check?no={check_no}`. Compiled once, rendered into a reused buffer.

use crate::slots::{Slot, Slots, Values};
use crate::PlanError;

#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// A text, and the same as it stands in a target.
    Text(String, Box<[u8]>),
    /// A value; whether it stands within the path of a target, behind some of it and before any query.
    Value(Slot, bool),
}

/// A compiled text. `{{` and `}}` stand for literal braces.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Template(Vec<Part>);

/// How a text is written for its place, what is declared and what is filled in alike: both are data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoding {
    /// As it is: bodies, headers.
    Raw,
    /// As a field of a form or a query.
    Form,
    /// As the target of a request: what may stand there stays, percent signs too, and all else is encoded. In a query
    /// that is declared all stays that browsers leave there. A value that stands within a path begins no query: its
    /// question marks are encoded.
    Target,
    /// As the value of a header field: control characters, which would end it, become blanks (RFC 9110, section 5.5).
    Header,
    /// As a quoted name in the head of a form's part (HTML, multipart/form-data encoding algorithm).
    PartName,
}

/// What a path does not hold as it is, besides what is not printable (WHATWG URL, section 1.3).
const OUTSIDE_PATHS: &[u8] = b"\"#<>\\^`{}";
/// The same of a query. Browsers leave braces, bars and accents there.
const OUTSIDE_QUERIES: &[u8] = b"\"#<>";
/// The same of values that are filled in, as programs encode them.
const OUTSIDE_VALUES: &[u8] = b"\"#<>\\^`{|}";

impl Encoding {
    fn write(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Encoding::Raw => out.extend_from_slice(text.as_bytes()),
            Encoding::Form => form_encode(text, out),
            Encoding::Target => target_encode(text, OUTSIDE_VALUES, out),
            Encoding::Header => header_encode(text, out),
            Encoding::PartName => part_name_encode(text, out),
        }
    }

    /// Writes a value that stands within a path.
    fn write_within_path(self, text: &str, out: &mut Vec<u8>) {
        match self {
            Encoding::Target => target_encode(text, b"\"#<>?\\^`{|}", out),
            other => other.write(text, out),
        }
    }
}

impl Template {
    /// Compiles `text`; `place` names it in errors.
    pub fn compile(text: &str, slots: &Slots, place: &str) -> Result<Self, PlanError> {
        let mut parts = Vec::new();
        let (mut has_text, mut has_query) = (false, false);
        let mut literal = String::new();
        let mut rest = text.chars().peekable();
        while let Some(next) = rest.next() {
            match next {
                '{' | '}' if rest.peek() == Some(&next) => {
                    rest.next();
                    literal.push(next);
                }
                '{' => {
                    let name: String = rest.by_ref().take_while(|&c| c != '}').collect();
                    let unknown = || PlanError::UnknownValue { place: place.into(), name: name.clone() };
                    let slot = slots.get(&name).ok_or_else(unknown)?;
                    if !literal.is_empty() {
                        parts.push(declared_text(&literal, has_query));
                        (has_text, has_query) = (true, has_query || literal.contains('?'));
                        literal.clear();
                    }
                    parts.push(Part::Value(slot, has_text && !has_query));
                }
                other => literal.push(other),
            }
        }
        if !literal.is_empty() {
            parts.push(declared_text(&literal, has_query));
        }
        Ok(Template(parts))
    }

    /// Appends the text with `values` filled in.
    pub fn render(&self, values: &Values, encoding: Encoding, out: &mut Vec<u8>) {
        for part in &self.0 {
            match part {
                Part::Text(_, target) if encoding == Encoding::Target => out.extend_from_slice(target),
                Part::Text(text, _) => encoding.write(text, out),
                Part::Value(slot, false) => encoding.write(values.get(*slot), out),
                Part::Value(slot, true) => encoding.write_within_path(values.get(*slot), out),
            }
        }
    }

    /// The text with `values` filled in, as a text of its own.
    pub fn text(&self, values: &Values) -> String {
        let mut out = Vec::new();
        self.render(values, Encoding::Raw, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The values it refers to.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.0.iter().filter_map(|part| match part {
            Part::Text(..) => None,
            Part::Value(slot, _) => Some(*slot),
        })
    }

    /// The text alone when it has no holes.
    pub fn fixed(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Part::Text(text, _)] => Some(text),
            _ => None,
        }
    }
}

/// What is declared: it stands in the query of a target, or in its path and what follows.
fn declared_text(text: &str, is_in_query: bool) -> Part {
    let path = if is_in_query { 0 } else { text.find('?').unwrap_or(text.len()) };
    let mut target = Vec::new();
    target_encode(&text[..path], OUTSIDE_PATHS, &mut target);
    target_encode(&text[path..], OUTSIDE_QUERIES, &mut target);
    Part::Text(text.to_owned(), target.into())
}

/// Percent-encoding of `application/x-www-form-urlencoded` (WHATWG URL, section 5.2).
pub fn form_encode(text: &str, out: &mut Vec<u8>) {
    for &byte in text.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'*' | b'-' | b'.' | b'_' => out.push(byte),
            b' ' => out.push(b'+'),
            _ => percent_encode(byte, out),
        }
    }
}

/// Percent-encoding of what cannot stand in a path or a query (RFC 3986, sections 3.3 and 3.4): what is not printable, and
/// `others`. A percent sign stays where it begins an encoded byte.
fn target_encode(text: &str, others: &[u8], out: &mut Vec<u8>) {
    let cannot_stand = |byte: u8| !matches!(byte, b'!'..=b'~') || others.contains(&byte);
    if !text.bytes().any(|byte| cannot_stand(byte) || byte == b'%') {
        return out.extend_from_slice(text.as_bytes());
    }
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let is_sign =
            byte == b'%' && !bytes[at + 1..].iter().take(2).filter(|next| next.is_ascii_hexdigit()).count().eq(&2);
        if cannot_stand(byte) || is_sign {
            percent_encode(byte, out);
        } else {
            out.push(byte);
        }
    }
}

/// Blanks instead of control characters; tabs stay.
pub fn header_encode(text: &str, out: &mut Vec<u8>) {
    out.extend(text.bytes().map(|byte| if byte.is_ascii_control() && byte != b'\t' { b' ' } else { byte }));
}

/// Percent-encoding of quotes and line breaks.
pub fn part_name_encode(text: &str, out: &mut Vec<u8>) {
    for &byte in text.as_bytes() {
        match byte {
            b'"' | b'\r' | b'\n' => percent_encode(byte, out),
            _ => out.push(byte),
        }
    }
}

fn percent_encode(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &str, encoding: Encoding) -> String {
        let mut slots = Slots::default();
        let slot = slots.intern("who");
        let mut values = Values::new(slots.len());
        values.set(slot, "a b&c");
        let mut out = Vec::new();
        Template::compile(text, &slots, "test").expect("valid").render(&values, encoding, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn holes_are_filled_and_doubled_braces_are_literal() {
        assert_eq!(rendered("x={who}&y={{z}}", Encoding::Raw), "x=a b&c&y={z}");
    }

    #[test]
    fn what_is_declared_and_what_is_filled_in_are_encoded_for_their_place() {
        assert_eq!(rendered("x y&z={who}", Encoding::Form), "x+y%26z%3Da+b%26c");
        assert_eq!(rendered("/é/100%25/x y?q={who}\r\n", Encoding::Target), "/%C3%A9/100%25/x%20y?q=a%20b&c%0D%0A");
    }

    /// A text with the value `one` filled in.
    fn with(one: &str, text: &str, encoding: Encoding) -> String {
        let mut slots = Slots::default();
        let slot = slots.intern("one");
        let mut values = Values::new(slots.len());
        values.set(slot, one);
        let mut out = Vec::new();
        Template::compile(text, &slots, "test").expect("valid").render(&values, encoding, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn a_value_within_a_path_begins_no_query_unlike_one_that_is_the_whole_target() {
        assert_eq!(with("b?c#d/e", "/a/{one}", Encoding::Target), "/a/b%3Fc%23d/e");
        assert_eq!(with("b?c", "/a/{one}.html?q={one}", Encoding::Target), "/a/b%3Fc.html?q=b?c");
        assert_eq!(with("/next?page=2", "{one}", Encoding::Target), "/next?page=2");
        assert_eq!(with("b?c", "/a/{one}", Encoding::Raw), "/a/b?c");
        assert_eq!(with("50% off", "/a%2fb/{one}?q=5%", Encoding::Target), "/a%2fb/50%25%20off?q=5%25");
    }

    #[test]
    fn a_declared_query_keeps_what_browsers_leave_in_it() {
        let text = "/a[b]|c{{d}}^?e[]={one}&f={{x|y}}\\^`#'<z>";
        assert_eq!(with("{g|h}", text, Encoding::Target), "/a[b]|c%7Bd%7D%5E?e[]=%7Bg%7Ch%7D&f={x|y}\\^`%23'%3Cz%3E");
    }

    #[test]
    fn a_value_never_ends_a_header_or_a_name_in_a_part() {
        assert_eq!(
            with("one\r\nX-Injected: yes\0\t\u{e9}", "a {one}", Encoding::Header),
            "a one  X-Injected: yes \t\u{e9}"
        );
        assert_eq!(with("a\"b\r\n\u{e9}", "{one}.bin", Encoding::PartName), "a%22b%0D%0A\u{e9}.bin");
    }

    #[test]
    fn an_unknown_value_is_named_with_its_place() {
        let error = Template::compile("{nobody}", &Slots::default(), "operation login").expect_err("unknown");
        assert!(error.to_string().contains("operation login: unknown value `{nobody}`"));
    }

    #[test]
    fn a_text_without_values_is_known_beforehand() {
        let mut slots = Slots::default();
        slots.intern("a");
        let fixed = |text: &str| Template::compile(text, &slots, "here").expect("valid").fixed().map(str::to_owned);
        assert_eq!([fixed(""), fixed("plain"), fixed("{{x}}")], ["", "plain", "{x}"].map(|text| Some(text.to_owned())));
        assert_eq!([fixed("{a}"), fixed("x{a}")], [None, None]);
    }
}
