//! A session's values: numbered by name once, then held by number. Drawn, extracted from answers or set by a state.

use std::collections::HashMap;
use std::fmt::Write;

/// Number of a value in a session's table.
pub type Slot = usize;

/// Names of all values and their slots.
#[derive(Clone, Debug, Default)]
pub struct Slots(HashMap<String, Slot>);

impl Slots {
    /// The slot of `name`, made when it is new.
    pub fn intern(&mut self, name: &str) -> Slot {
        let next = self.0.len();
        *self.0.entry(name.to_owned()).or_insert(next)
    }

    /// The slot of a name; none for an unknown one.
    pub fn get(&self, name: &str) -> Option<Slot> {
        self.0.get(name).copied()
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Longest value.
const MOST_BYTES: usize = 64 * 1024;

/// A session's table of values, by slot.
#[derive(Clone, Debug)]
pub struct Values(Vec<String>);

impl Values {
    /// All values empty.
    pub fn new(slots: usize) -> Self {
        Values(vec![String::new(); slots])
    }

    /// Whether the table has no slot.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All values empty again.
    pub fn clear(&mut self) {
        self.0.iter_mut().for_each(String::clear);
    }

    /// A value; empty until it is set.
    pub fn get(&self, slot: Slot) -> &str {
        self.0.get(slot).map_or("", String::as_str)
    }

    /// Replaces a value, keeping its memory. What is longer than 64 KiB is cut: values that are made of themselves
    /// must not grow without end.
    pub fn set(&mut self, slot: Slot, text: &str) {
        if let Some(value) = self.0.get_mut(slot) {
            value.clear();
            let most = text.len().min(MOST_BYTES);
            let cut = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            value.push_str(&text[..cut]);
        }
    }

    /// Replaces a value with a formatted one.
    pub fn format(&mut self, slot: Slot, arguments: std::fmt::Arguments<'_>) {
        if let Some(value) = self.0.get_mut(slot) {
            value.clear();
            let _ = value.write_fmt(arguments); // writing to a String cannot fail
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_slot_and_every_slot_its_own_value() {
        let mut slots = Slots::default();
        assert!(slots.is_empty());
        let (a, b) = (slots.intern("a"), slots.intern("b"));
        assert_eq!([slots.intern("a"), slots.get("a").expect("known")], [a, a]);
        assert_ne!(a, b);
        assert_eq!((slots.len(), slots.is_empty(), slots.get("c")), (2, false, None));
        let mut values = Values::new(slots.len());
        values.set(a, "one");
        values.set(b, "a longer one");
        values.set(a, "x");
        assert_eq!([values.get(a), values.get(b)], ["x", "a longer one"]);
    }

    #[test]
    fn a_value_of_64_kib_is_kept_and_a_longer_one_is_cut_between_characters() {
        let mut values = Values::new(1);
        let whole = "x".repeat(64 << 10);
        values.set(0, &whole);
        assert_eq!(values.get(0), whole);
        values.set(0, &format!("{}é", &whole[1..]));
        assert_eq!(values.get(0), &whole[1..]);
    }
}
