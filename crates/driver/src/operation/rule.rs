//! Rules by which values are taken out of an answer: where each is, which of several, how it is decoded.

use std::borrow::Cow;

use html5gum::{Token, Tokenizer};
use loadstone_schedule::plan::Extract;
use loadstone_schedule::slots::{Slot, Slots, Values};
use loadstone_schedule::template::Template;
use loadstone_schedule::PlanError;
use memchr::memmem;
use regex::bytes::Regex;
use scraper::{Html, Selector};
use serde_json::Value;

use crate::client::cookies::Jar;
use crate::text::{all_between, decoded, plain};

/// A value to be taken out of an answer.
#[derive(Clone, Debug)]
pub struct CompiledExtract {
    pub slot: Slot,
    /// Which of several it is.
    pick: Option<Template>,
    place: Place,
    pub rule: Extract,
}

/// Where in an answer a value stands.
#[derive(Clone, Debug)]
enum Place {
    Between,
    /// By a pointer into JSON (RFC 6901).
    Json(String),
    /// In the field of the head that is wanted as this number, or in a part of it.
    Header(usize),
    /// The first group, or all where there is none.
    Regex(Regex),
    /// The value of a form's field, or the content of a meta element.
    Field(String),
    /// A cookie that the user holds by now.
    Cookie(String),
    /// The text of an element, or one of its attributes.
    Css(Selector),
}

/// What an answer is searched in.
pub struct Seen<'a> {
    pub body: &'a [u8],
    pub fields: &'a [(usize, String)],
    pub jar: &'a Jar,
}

impl CompiledExtract {
    /// From its rule; header fields that it looks at are added to those `wanted`. Raises for a pattern that is none.
    pub fn new(rule: &Extract, slots: &Slots, wanted: &mut Vec<Box<str>>, at: &str) -> Result<Self, PlanError> {
        let pick = rule.pick.as_ref().map(|text| Template::compile(text, slots, at)).transpose()?;
        let Extract { json, header, regex, field, cookie, css, .. } = rule;
        let place = match (json, header, regex, field) {
            _ if cookie.is_some() => Place::Cookie(cookie.clone().unwrap_or_default()),
            _ if css.is_some() => Place::Css(selector(css.as_deref().unwrap_or_default(), at)?),
            (Some(pointer), ..) => Place::Json(pointer.clone()),
            (_, Some(name), ..) => {
                wanted.push(name.as_str().into());
                Place::Header(wanted.len() - 1)
            }
            (_, _, Some(pattern), _) => {
                let invalid = |error: regex::Error| {
                    PlanError::invalid(at, format!("`{pattern}` is not a valid pattern: {error}"))
                };
                Place::Regex(Regex::new(pattern).map_err(invalid)?)
            }
            (.., Some(name)) => Place::Field(name.clone()),
            _ => Place::Between,
        };
        Ok(CompiledExtract { slot: slots.get(&rule.value).unwrap_or(usize::MAX), pick, place, rule: rule.clone() })
    }

    /// The value in an answer; none where it is missing.
    pub fn find<'a>(&self, seen: &Seen<'a>, values: &Values) -> Option<Cow<'a, [u8]>> {
        let found = match &self.pick {
            None => self.each(seen, 1).into_iter().next(),
            Some(pick) => {
                let mut all = self.each(seen, usize::MAX);
                let number: usize = pick.text(values).parse().unwrap_or(0);
                let place = number % all.len().max(1);
                (place < all.len()).then(|| all.swap_remove(place))
            }
        };
        found.map(|found| decoded(found, self.rule.decode))
    }

    /// All that stand there, `most` of them.
    fn each<'a>(&self, seen: &Seen<'a>, most: usize) -> Vec<Cow<'a, [u8]>> {
        let borrowed = |found: &'a [u8]| Cow::Borrowed(found);
        match &self.place {
            Place::Between => {
                let (after, before) = (self.rule.after.as_bytes(), self.rule.before.as_bytes());
                all_between(seen.body, after, before).take(most).map(borrowed).collect()
            }
            Place::Json(pointer) => pointed_at(seen.body, pointer),
            Place::Header(number) => {
                let told = seen.fields.iter().filter(|(field, _)| field == number);
                told.filter_map(|(_, text)| self.cut(text.as_bytes())).take(most).map(borrowed).collect()
            }
            Place::Regex(pattern) => {
                let found = pattern.captures_iter(seen.body).take(most);
                found.filter_map(|one| one.get(1).or(one.get(0)).map(|part| borrowed(part.as_bytes()))).collect()
            }
            Place::Field(name) => fields_named(seen.body, name.as_bytes(), most),
            Place::Cookie(name) => seen.jar.get(name).map(|text| Cow::Borrowed(text.as_bytes())).into_iter().collect(),
            Place::Css(selector) => selected(seen.body, selector, self.rule.attribute.as_deref(), most),
        }
    }

    /// What of a header field counts: all, or from behind one text up to another, where they are given.
    fn cut<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        let (after, before) = (self.rule.after.as_bytes(), self.rule.before.as_bytes());
        let rest = &text[memmem::find(text, after)? + after.len()..];
        if before.is_empty() {
            return Some(rest);
        }
        memmem::find(rest, before).map(|end| &rest[..end])
    }

    /// Says that the value is missing, and where it was looked for.
    pub fn told(&self) -> String {
        let Extract { value, after, before, .. } = &self.rule;
        match &self.place {
            Place::Between => format!("no `{value}` between `{after}` and `{before}`"),
            Place::Json(pointer) => format!("no `{value}` at `{pointer}` of the JSON"),
            Place::Header(_) => {
                let behind = if after.is_empty() { String::new() } else { format!(" behind `{after}`") };
                format!("no `{value}`{behind} in the header `{}`", self.rule.header.as_deref().unwrap_or(""))
            }
            Place::Regex(pattern) => format!("no `{value}` by the pattern `{pattern}`"),
            Place::Field(name) => format!("no `{value}` in a field `{name}`"),
            Place::Cookie(name) => format!("no `{value}` in a cookie `{name}`"),
            Place::Css(_) => {
                let Extract { css, attribute, .. } = &self.rule;
                let what = attribute.as_ref().map(|name| format!("the attribute `{name}` of ")).unwrap_or_default();
                format!("no `{value}` in {what}an element `{}`", css.as_deref().unwrap_or(""))
            }
        }
    }
}

/// What a pointer leads to: texts as they are, lists entry by entry, the rest as JSON.
fn pointed_at(body: &[u8], pointer: &str) -> Vec<Cow<'static, [u8]>> {
    let plain = |value: &Value| Cow::Owned(plain(value).into_bytes());
    let Ok(document) = serde_json::from_slice::<Value>(body) else { return Vec::new() };
    match document.pointer(pointer) {
        Some(Value::Array(entries)) => entries.iter().map(plain).collect(),
        Some(Value::Null) | None => Vec::new(),
        Some(value) => vec![plain(value)],
    }
}

/// Values of form fields, and contents of meta elements, by their names.
fn fields_named(body: &[u8], name: &[u8], most: usize) -> Vec<Cow<'static, [u8]>> {
    let mut found = Vec::new();
    for Ok(token) in Tokenizer::new(body) {
        let Token::StartTag(tag) = token else { continue };
        let attribute = |key: &[u8]| tag.attributes.get(key).map(|value| value.as_slice());
        let is_named = [b"name".as_slice(), b"id", b"property"].iter().any(|key| attribute(key) == Some(name));
        let key: &[u8] = if tag.name.as_slice() == b"meta" { b"content" } else { b"value" };
        if let (true, Some(value)) = (is_named, attribute(key)) {
            found.push(Cow::Owned(value.to_vec()));
        }
        if found.len() >= most {
            break;
        }
    }
    found
}

/// A selector; raises for what is none.
fn selector(text: &str, at: &str) -> Result<Selector, PlanError> {
    Selector::parse(text)
        .map_err(|error| PlanError::invalid(at, format!("`{text}` is not a valid CSS selector: {error}")))
}

/// Texts of elements without the space around them, or attributes of those that have them, as a browser builds the page.
fn selected(body: &[u8], selector: &Selector, attribute: Option<&str>, most: usize) -> Vec<Cow<'static, [u8]>> {
    let page = Html::parse_document(&String::from_utf8_lossy(body));
    let text = |element: scraper::ElementRef<'_>| match attribute {
        Some(name) => element.attr(name).map(str::to_owned),
        None => Some(element.text().collect::<String>().trim().to_owned()),
    };
    let found = page.select(selector).filter_map(text).take(most);
    found.map(|text| Cow::Owned(text.into_bytes())).collect()
}
