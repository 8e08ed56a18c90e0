//! Texts that are looked for in answers.

use std::borrow::Cow;

use loadstone_schedule::slots::{Slots, Values};
use loadstone_schedule::template::Template;
use loadstone_schedule::PlanError;
use memchr::memmem;

/// A text looked for in an answer: with holes, or known beforehand and then searched for with a ready searcher.
#[derive(Clone, Debug)]
pub struct Needle {
    template: Template,
    ready: Option<memmem::Finder<'static>>,
}

impl Needle {
    /// Compiles a text that may hold values; an error names the `place` and the unknown value.
    pub fn compile(text: &str, slots: &Slots, place: &str) -> Result<Self, PlanError> {
        let template = Template::compile(text, slots, place)?;
        let ready = template.fixed().map(|text| memmem::Finder::new(text.as_bytes()).into_owned());
        Ok(Needle { template, ready })
    }

    /// Whether the text, with its values, stands in another.
    pub fn is_in(&self, text: &[u8], values: &Values) -> bool {
        match &self.ready {
            Some(finder) => finder.find(text).is_some(),
            None => memmem::find(text, self.template.text(values).as_bytes()).is_some(),
        }
    }

    /// The text with its values.
    pub fn text(&self, values: &Values) -> Cow<'_, str> {
        match self.template.fixed() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(self.template.text(values)),
        }
    }
}
