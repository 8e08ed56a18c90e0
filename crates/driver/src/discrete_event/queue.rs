//! What is still to happen, in order of time; events of one instant keep the order in which they were planned.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events by the instant they are due at.
pub struct EventQueue<T> {
    heap: BinaryHeap<Entry<T>>,
    planned: u64,
}

struct Entry<T> {
    at_ns: u64,
    serial: u64,
    due: T,
}

impl<T> EventQueue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        EventQueue { heap: BinaryHeap::new(), planned: 0 }
    }

    /// Plans an event.
    pub fn push(&mut self, at_ns: u64, due: T) {
        self.planned += 1;
        self.heap.push(Entry { at_ns, serial: self.planned, due });
    }

    /// Takes the earliest event that is due before `until_ns`, with its instant.
    pub fn pop_before(&mut self, until_ns: u64) -> Option<(u64, T)> {
        self.heap.peek().filter(|entry| entry.at_ns < until_ns)?;
        self.heap.pop().map(|entry| (entry.at_ns, entry.due))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.serial).cmp(&(self.at_ns, self.serial)) // the heap's greatest is the earliest
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.serial == other.serial
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_and_then_as_they_were_planned() {
        let mut queue = EventQueue::new();
        for (at_ns, name) in [(20, "c"), (10, "a"), (20, "d"), (10, "b"), (30, "e")] {
            queue.push(at_ns, name);
        }
        let drawn: Vec<_> = std::iter::from_fn(|| queue.pop_before(30)).collect();
        assert_eq!(drawn, [(10, "a"), (10, "b"), (20, "c"), (20, "d")]);
        assert_eq!(queue.pop_before(31), Some((30, "e")));
    }
}
