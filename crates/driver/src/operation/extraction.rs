//! Values and pictures that are taken out of an operation's answer.

use loadstone_record::Fault;
use loadstone_schedule::slots::Values;

use super::compiled::Compiled;
use super::rule::Seen;
use crate::client::cookies::Jar;
use crate::inspect::Inspector;
use crate::text::all_between;
use crate::transport::Failure;

impl Compiled {
    /// Takes values for later requests out of the answer: its body, the header fields that were wanted, the cookies.
    pub fn extract(
        &self,
        inspector: &Inspector,
        (fields, jar): (&[(usize, String)], &Jar),
        values: &mut Values,
    ) -> Result<(), Failure> {
        let seen = Seen { body: &inspector.head, fields, jar };
        for extract in &self.extract {
            match extract.find(&seen, values) {
                Some(found) => values.set(extract.slot, &String::from_utf8_lossy(&found)),
                None if extract.rule.optional && inspector.unseen_told().is_empty() => values.set(extract.slot, ""),
                None => return Err(Failure::new(Fault::Extract, extract.told() + &inspector.unseen_told())),
            }
        }
        for (slot, template) in &self.set {
            let text = template.text(values);
            values.set(*slot, &text);
        }
        Ok(())
    }

    /// What is known now of the values that it takes, by name.
    pub fn taken(&self, values: &Values) -> Vec<(String, String)> {
        self.extract.iter().map(|one| (one.rule.value.clone(), values.get(one.slot).to_owned())).collect()
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
