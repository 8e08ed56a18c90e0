//! One thread's ledger: how operations of several possible endings ended, and what the server must therefore hold.

use loadstone_record::event::{Event, LedgerEntry};
use loadstone_schedule::ledger::hash;

use crate::ending::Ended;
use crate::operation::Compiled;

/// What is known of one ending.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    count: u64,
    steady: u64,
    sum: u64,
}

/// By operation, and of each by ending.
#[derive(Debug, Default)]
pub struct AuditLedger {
    entries: Vec<Vec<Entry>>,
    in_doubt: Vec<u64>,
}

impl AuditLedger {
    /// Nothing was done yet; one entry for each ending of each operation.
    pub fn new(operations: &[Compiled]) -> Self {
        let entries = operations.iter().map(|one| vec![Entry::default(); one.endings.len()]).collect();
        AuditLedger { entries, in_doubt: vec![0; operations.len()] }
    }

    /// An operation ended well.
    pub fn kept(&mut self, operation: usize, ended: &Ended, is_steady: bool) {
        let entry = &mut self.entries[operation][ended.ending];
        entry.count += 1;
        entry.steady += u64::from(is_steady);
        entry.sum = entry.sum.wrapping_add(ended.ledger.as_deref().map_or(0, hash));
    }

    /// An operation had no right answer, or none yet at the end of the run.
    pub fn doubted(&mut self, operation: usize) {
        self.in_doubt[operation] += 1;
    }

    /// What there is to say of operations with several endings.
    pub fn events(&self, part: &str, operations: &[Compiled]) -> Vec<Event> {
        let with_endings = operations.iter().enumerate().filter(|(_, operation)| !operation.endings.is_empty());
        let event = |(at, operation): (usize, &Compiled)| Event::Ledger {
            part: part.to_owned(),
            operation: operation.name.clone(),
            endings: operation
                .endings
                .iter()
                .zip(&self.entries[at])
                .map(|(ending, entry)| entry.named(&ending.name))
                .collect(),
            in_doubt: self.in_doubt[at],
        };
        with_endings.map(event).collect()
    }
}

impl Entry {
    fn named(&self, name: &str) -> LedgerEntry {
        let Entry { count, steady, sum } = *self;
        LedgerEntry { name: name.to_owned(), count, steady, sum: format!("{sum:016x}") }
    }
}
