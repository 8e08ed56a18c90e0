//! Values and pictures that are taken out of an operation's answer.

use loadstone_record::Fault;
use loadstone_schedule::plan::Extract;
use loadstone_schedule::slots::{Slot, Values};
use loadstone_schedule::template::Template;
use memchr::memmem;

use super::Compiled;
use crate::inspect::Inspector;
use crate::transport::Failure;

/// A value to be taken out of an answer.
#[derive(Clone, Debug)]
pub struct CompiledExtract {
    pub slot: Slot,
    /// Which of several it is.
    pub pick: Option<Template>,
    pub rule: Extract,
}

impl CompiledExtract {
    fn find<'a>(&self, text: &'a [u8], values: &Values) -> Option<&'a [u8]> {
        let (after, before) = (self.rule.after.as_bytes(), self.rule.before.as_bytes());
        let Some(pick) = &self.pick else { return between(text, after, before) };
        let all: Vec<&[u8]> = all_between(text, after, before).collect();
        let number: usize = pick.text(values).parse().unwrap_or(0);
        all.get(number % all.len().max(1)).copied()
    }
}

impl Compiled {
    /// Takes values for later requests out of the answer.
    pub fn extract(&self, inspector: &Inspector, values: &mut Values) -> Result<(), Failure> {
        for extract in &self.extract {
            let Some(found) = extract.find(&inspector.head, values) else {
                let Extract { value, after, before, .. } = &extract.rule;
                let detail = format!("no `{value}` between `{after}` and `{before}`");
                return Err(Failure::new(Fault::Extract, detail));
            };
            values.set(extract.slot, &String::from_utf8_lossy(found));
        }
        for (slot, template) in &self.set {
            let text = template.text(values);
            values.set(*slot, &text);
        }
        Ok(())
    }

    /// Paths of the pictures that a page names, each once.
    pub fn named_images(&self, inspector: &Inspector) -> Vec<Box<str>> {
        let Some(images) = &self.images else { return Vec::new() };
        let mut named: Vec<Box<str>> = Vec::new();
        for found in all_between(&inspector.head, images.after.as_bytes(), images.before.as_bytes()) {
            let path = String::from_utf8_lossy(found);
            if path.starts_with('/') && !named.iter().any(|known| **known == *path) {
                named.push(path.into());
            }
        }
        named
    }
}

fn between<'a>(text: &'a [u8], after: &[u8], before: &[u8]) -> Option<&'a [u8]> {
    all_between(text, after, before).next()
}

/// All that stands between the two texts, one after the other.
fn all_between<'a, 'b>(
    text: &'a [u8],
    after: &'b [u8],
    before: &'b [u8],
) -> impl Iterator<Item = &'a [u8]> + use<'a, 'b> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let from = memmem::find(rest, after)? + after.len();
        let length = memmem::find(&rest[from..], before)?;
        let found = &rest[from..from + length];
        rest = &rest[from + length..];
        Some(found)
    })
}
