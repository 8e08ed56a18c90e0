//! What adds up: a total of several threads or drivers is the sum of theirs, and an event carries it as a record.
//!
//! `additive!` declares one: its fields are written once, and merging, its record and the way back follow from them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fault::Fault;

/// A record that holds no histogram where one belongs.
#[derive(Debug, thiserror::Error)]
#[error("a histogram is not readable: {0}")]
pub struct Unreadable(pub String);

/// A count, a sum or a histogram that several threads or drivers add up.
pub trait Total: Sized {
    /// Its form in an event.
    type Record;

    /// Adds what another thread or driver counted.
    fn merge(&mut self, other: &Self);

    /// What an event says of it.
    fn to_record(&self) -> Self::Record;

    /// Reads what `to_record` wrote, so that the totals of several drivers can be merged without loss. Fails for a
    /// histogram that is not valid.
    fn from_record(record: Self::Record) -> Result<Self, Unreadable>;
}

/// Declares totals. Every field is a `Total`, documented once.
///
/// `Name { field: Kind }` is its own record. `Name as Record [label: Text] { field: Kind }` has a record beside it, which
/// also carries labels; `to_record` leaves them empty, and whoever writes the event fills them in.
#[macro_export]
macro_rules! additive {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct $name { $($(#[$field_about])* pub $field: $kind),* }

        impl $crate::total::Total for $name {
            type Record = Self;

            fn merge(&mut self, other: &Self) {
                $($crate::total::Total::merge(&mut self.$field, &other.$field);)*
            }

            fn to_record(&self) -> Self {
                self.clone()
            }

            fn from_record(record: Self) -> Result<Self, $crate::total::Unreadable> {
                Ok(record)
            }
        }
    };
    (
        $(#[$about:meta])* $name:ident as $record:ident
        [$($(#[$label_about:meta])* $label:ident: $text:ty),* $(,)?]
        { $($(#[$field_about:meta])* $field:ident: $kind:ty),* $(,)? }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default)]
        pub struct $name { $($(#[$field_about])* pub $field: $kind),* }

        $(#[$about])*
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct $record {
            $($(#[$label_about])* pub $label: $text,)*
            $($(#[$field_about])* pub $field: <$kind as $crate::total::Total>::Record),*
        }

        impl $crate::total::Total for $name {
            type Record = $record;

            fn merge(&mut self, other: &Self) {
                $($crate::total::Total::merge(&mut self.$field, &other.$field);)*
            }

            fn to_record(&self) -> $record {
                $record {
                    $($label: Default::default(),)*
                    $($field: $crate::total::Total::to_record(&self.$field)),*
                }
            }

            fn from_record(record: $record) -> Result<Self, $crate::total::Unreadable> {
                Ok($name { $($field: $crate::total::Total::from_record(record.$field)?),* })
            }
        }
    };
}

impl Total for u64 {
    type Record = u64;

    fn merge(&mut self, other: &u64) {
        *self += other;
    }

    fn to_record(&self) -> u64 {
        *self
    }

    fn from_record(record: u64) -> Result<u64, Unreadable> {
        Ok(record)
    }
}

/// Sums of times: exact here, and in an event as far as a float holds them.
impl Total for u128 {
    type Record = f64;

    fn merge(&mut self, other: &u128) {
        *self += other;
    }

    fn to_record(&self) -> f64 {
        *self as f64
    }

    fn from_record(record: f64) -> Result<u128, Unreadable> {
        Ok(record.round() as u128)
    }
}

/// Place by place; the longer list decides how many there are.
impl<T: Total + Clone> Total for Vec<T> {
    type Record = Vec<T::Record>;

    fn merge(&mut self, other: &Vec<T>) {
        self.iter_mut().zip(other).for_each(|(total, added)| total.merge(added));
        self.extend(other.iter().skip(self.len()).cloned());
    }

    fn to_record(&self) -> Vec<T::Record> {
        self.iter().map(Total::to_record).collect()
    }

    fn from_record(record: Vec<T::Record>) -> Result<Vec<T>, Unreadable> {
        record.into_iter().map(T::from_record).collect()
    }
}

fn merge_counts<Key: Ord + Copy>(counts: &mut BTreeMap<Key, u64>, added: &BTreeMap<Key, u64>) {
    for (&key, count) in added {
        *counts.entry(key).or_default() += count;
    }
}

/// Errors by kind.
impl Total for BTreeMap<Fault, u64> {
    type Record = Self;

    fn merge(&mut self, other: &Self) {
        merge_counts(self, other);
    }

    fn to_record(&self) -> Self {
        self.clone()
    }

    fn from_record(record: Self) -> Result<Self, Unreadable> {
        Ok(record)
    }
}

/// How often a status ended an operation's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatusCount {
    /// 0 where no answer came.
    pub status: u16,
    pub count: u64,
}

/// Answers by status. A list in an event: JSON has no numbers as keys.
impl Total for BTreeMap<u16, u64> {
    type Record = Vec<StatusCount>;

    fn merge(&mut self, other: &Self) {
        merge_counts(self, other);
    }

    fn to_record(&self) -> Vec<StatusCount> {
        self.iter().map(|(&status, &count)| StatusCount { status, count }).collect()
    }

    fn from_record(record: Vec<StatusCount>) -> Result<Self, Unreadable> {
        Ok(record.into_iter().map(|StatusCount { status, count }| (status, count)).collect())
    }
}

/// The longest of several times, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Longest(pub u64);

/// In an event it may be missing: earlier versions did not record it.
impl Total for Longest {
    type Record = Option<u64>;

    fn merge(&mut self, other: &Longest) {
        *self = (*self).max(*other);
    }

    fn to_record(&self) -> Option<u64> {
        Some(self.0)
    }

    fn from_record(record: Option<u64>) -> Result<Longest, Unreadable> {
        Ok(Longest(record.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    additive! {
        /// Two counts.
        Pair as PairRecord [
            /// Whose they are.
            name: String,
        ] {
            first: u64,
            times_ns: Vec<u128>,
            longest: Longest,
        }
    }

    #[test]
    fn totals_merge_field_by_field_and_come_back_from_their_record() {
        let mut pair = Pair { first: 2, times_ns: vec![10], longest: Longest(7) };
        pair.merge(&Pair { first: 3, times_ns: vec![1, 5], longest: Longest(4) });
        let record = PairRecord { name: "x".to_owned(), ..pair.to_record() };
        assert_eq!((record.first, record.times_ns.as_slice(), record.longest), (5, &[11.0, 5.0][..], Some(7)));
        let restored = Pair::from_record(record).expect("no histogram");
        assert_eq!((restored.first, restored.times_ns, restored.longest), (5, vec![11, 5], Longest(7)));
    }

    #[test]
    fn statuses_are_a_list_in_their_record() {
        let mut statuses = BTreeMap::from([(200, 3)]);
        Total::merge(&mut statuses, &BTreeMap::from([(200, 1), (404, 2)]));
        let record = statuses.to_record();
        assert_eq!(record, [StatusCount { status: 200, count: 4 }, StatusCount { status: 404, count: 2 }]);
        assert_eq!(BTreeMap::<u16, u64>::from_record(record).expect("counts"), statuses);
    }

    #[test]
    fn errors_of_a_kind_add_up_and_come_back_from_their_record() {
        let mut errors = BTreeMap::from([(Fault::TimeOut, 3)]);
        Total::merge(&mut errors, &BTreeMap::from([(Fault::TimeOut, 1), (Fault::Reset, 2)]));
        assert_eq!(errors.to_record(), BTreeMap::from([(Fault::TimeOut, 4), (Fault::Reset, 2)]));
        assert_eq!(BTreeMap::<Fault, u64>::from_record(errors.to_record()).expect("counts"), errors);
    }

    #[test]
    fn a_time_that_an_earlier_version_did_not_record_is_none() {
        assert_eq!(Longest::from_record(None).expect("no histogram"), Longest(0));
    }
}
