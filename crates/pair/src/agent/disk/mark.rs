//! Marks of requests to a shared disk that the primary has done, in the order that it did them.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::agent::shadow::hash_of;
use crate::agent::transmission::{Ask, Request};

/// A request that the primary has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub number: u64,
    pub at: u64,
    pub length: u64,
    pub is_write: bool,
    /// Of what was read or written.
    pub hash: u64,
    /// What was read; none where the secondary is to read it.
    pub bytes: Option<Vec<u8>>,
}

impl Mark {
    #[cfg(test)]
    pub fn of_read(number: u64, at: u64, bytes: Vec<u8>) -> Mark {
        Mark { number, at, length: bytes.len() as u64, is_write: false, hash: hash_of(&bytes), bytes: Some(bytes) }
    }

    /// Bytes that were read and go with it.
    pub fn brought(&self) -> u64 {
        self.bytes.as_ref().map_or(0, Vec::len) as u64
    }

    /// Bytes of memory that it takes.
    pub fn room(&self) -> usize {
        size_of::<Mark>() + self.bytes.as_ref().map_or(0, Vec::len)
    }

    /// Whether it is of a request like this, for the same part of the disk.
    pub fn is_of(&self, request: &Request) -> bool {
        let is_write = matches!(request.ask, Ask::Write(_));
        (self.at, self.length, self.is_write) == (request.at, request.length(), is_write)
    }

    /// Whether these are the bytes that were read or written.
    pub fn is_about(&self, bytes: &[u8]) -> bool {
        hash_of(bytes) == self.hash
    }

    /// Bytes of the disk that were read or written.
    pub fn range(&self) -> Range<u64> {
        self.at..self.at + self.length
    }
}

/// Marks that wait.
#[derive(Debug, Default)]
pub struct Queue {
    marks: VecDeque<Mark>,
    room: usize,
}

impl Queue {
    /// Adds a mark at the end.
    pub fn push(&mut self, mark: Mark) {
        self.room += mark.room();
        self.marks.push_back(mark);
    }

    /// Takes the first mark; none where there is none.
    pub fn pop(&mut self) -> Option<Mark> {
        let mark = self.marks.pop_front()?;
        self.room -= mark.room();
        Some(mark)
    }

    /// Bytes of memory that all take.
    pub fn room(&self) -> usize {
        self.room
    }
}

impl From<Queue> for Vec<Mark> {
    fn from(queue: Queue) -> Vec<Mark> {
        queue.marks.into()
    }
}
