//! What is still to happen, in order of time; events of one instant keep the order in which they were planned.
//!
//! A ladder of buckets instead of one heap: most events are put into the bucket of their time and are sorted only with
//! their few neighbours, when that time comes. An event costs a constant time, however many are planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Events that a bucket has on average when buckets are laid out.
const EVENTS_PER_BUCKET: usize = 8;
/// Longest time that buckets are laid out for, in nanoseconds: no sum of instants overflows.
const LONGEST_NS: u64 = 1 << 62;

/// Events by the instant they are due at.
pub struct EventQueue<T> {
    /// Events of the open bucket, the next one last.
    open: Vec<Entry<T>>,
    /// Events that were planned for its time after it was opened: later than those of their instant in `open`.
    inserted: BinaryHeap<Reverse<Inserted<T>>>,
    planned: u64,
    buckets: Vec<Vec<Entry<T>>>,
    /// The bucket that is opened next.
    next: usize,
    begin_ns: u64,
    /// Binary logarithm of a bucket's length in nanoseconds.
    shift: u32,
    /// End of the open bucket, and of the last one.
    open_until_ns: u64,
    end_ns: u64,
    /// Events after the last bucket, as they were planned.
    later: Vec<Entry<T>>,
}

struct Entry<T> {
    at_ns: u64,
    due: T,
}

struct Inserted<T> {
    at_ns: u64,
    serial: u64,
    due: T,
}

impl<T> EventQueue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        EventQueue {
            open: Vec::new(),
            inserted: BinaryHeap::new(),
            planned: 0,
            buckets: Vec::new(),
            next: 0,
            begin_ns: 0,
            shift: 0,
            open_until_ns: 0,
            end_ns: 0,
            later: Vec::new(),
        }
    }

    /// Plans an event.
    pub fn push(&mut self, at_ns: u64, due: T) {
        if at_ns >= self.end_ns {
            self.later.push(Entry { at_ns, due });
        } else if at_ns >= self.open_until_ns {
            let bucket = self.bucket_of(at_ns);
            self.buckets[bucket].push(Entry { at_ns, due });
        } else {
            self.planned += 1;
            self.inserted.push(Reverse(Inserted { at_ns, serial: self.planned, due }));
        }
    }

    /// Takes the earliest event that is due before `until_ns`, with its instant.
    pub fn pop_before(&mut self, until_ns: u64) -> Option<(u64, T)> {
        loop {
            let opened_ns = self.open.last().map(|entry| entry.at_ns);
            let inserted_ns = self.inserted.peek().map(|Reverse(entry)| entry.at_ns);
            let is_inserted = match (opened_ns, inserted_ns) {
                (Some(opened_ns), Some(inserted_ns)) => inserted_ns < opened_ns,
                (None, None) if self.open_next() => continue,
                (None, None) => return None,
                (opened, _) => opened.is_none(),
            };
            let next_ns = if is_inserted { inserted_ns } else { opened_ns };
            return match next_ns {
                Some(at_ns) if at_ns >= until_ns => None,
                _ if is_inserted => self.inserted.pop().map(|Reverse(entry)| (entry.at_ns, entry.due)),
                _ => self.open.pop().map(|entry| (entry.at_ns, entry.due)),
            };
        }
    }

    fn bucket_of(&self, at_ns: u64) -> usize {
        ((at_ns - self.begin_ns) >> self.shift) as usize
    }

    /// Opens the next bucket with events; whether there is one.
    fn open_next(&mut self) -> bool {
        while self.next < self.buckets.len() || self.lay_out() {
            std::mem::swap(&mut self.open, &mut self.buckets[self.next]);
            self.next += 1;
            self.open_until_ns = self.begin_ns.saturating_add((self.next as u64) << self.shift);
            if !self.open.is_empty() {
                self.open.sort_by_key(|entry| entry.at_ns); // stable, so those of one instant keep their order
                self.open.reverse();
                return true;
            }
        }
        false
    }

    /// Lays out buckets for the earlier half of the later events, at least; false where there are none.
    fn lay_out(&mut self) -> bool {
        let mut instants: Vec<u64> = self.later.iter().map(|entry| entry.at_ns).collect();
        let Some(&first_ns) = instants.iter().min().filter(|first_ns| **first_ns < u64::MAX) else { return false };
        let middle = instants.len() / 2;
        let (_, median_ns, _) = instants.select_nth_unstable(middle);
        let span_ns = (*median_ns - first_ns).saturating_mul(2).min(LONGEST_NS) + 1;
        let length_ns = span_ns / (instants.len() / EVENTS_PER_BUCKET + 1) as u64;
        self.shift = length_ns.max(1).ilog2();
        let count = (span_ns >> self.shift) + 1;
        (self.begin_ns, self.end_ns) = (first_ns, first_ns.saturating_add(count << self.shift));
        (self.open_until_ns, self.next) = (first_ns, 0);
        self.buckets.resize_with(count as usize, Vec::new);
        for entry in std::mem::take(&mut self.later) {
            self.push(entry.at_ns, entry.due);
        }
        true
    }
}

impl<T> Ord for Inserted<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.serial).cmp(&(other.at_ns, other.serial))
    }
}

impl<T> PartialOrd for Inserted<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Inserted<T> {
    fn eq(&self, other: &Self) -> bool {
        self.serial == other.serial
    }
}

impl<T> Eq for Inserted<T> {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

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
        assert_eq!(queue.pop_before(u64::MAX), None);
    }

    #[test]
    fn events_planned_at_the_current_instant_follow_those_that_were_planned_before() {
        let mut queue = EventQueue::new();
        for (at_ns, name) in [(5, "a"), (5, "b"), (1_000_000_000, "e"), (u64::MAX, "never")] {
            queue.push(at_ns, name);
        }
        assert_eq!(queue.pop_before(6), Some((5, "a")));
        queue.push(5, "c");
        queue.push(5, "d");
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop_before(u64::MAX)).collect();
        assert_eq!(rest, [(5, "b"), (5, "c"), (5, "d"), (1_000_000_000, "e")]);
    }

    proptest! {
        /// Each event plans others, as simulations do; a map of lists is the standard.
        #[test]
        fn any_schedule_is_played_as_by_a_sorted_map(
            first in prop::collection::vec(0u64..2_000, 1..40),
            delays in prop::collection::vec(prop_oneof![0u64..3, 0u64..500, 0u64..1_000_000_000_000], 0..400),
        ) {
            let (mut queue, mut standard) = (EventQueue::new(), BTreeMap::<(u64, usize), ()>::new());
            let mut planned = 0;
            let mut plan = |queue: &mut EventQueue<usize>, standard: &mut BTreeMap<(u64, usize), ()>, at_ns: u64| {
                queue.push(at_ns, planned);
                standard.insert((at_ns, planned), ());
                planned += 1;
            };
            first.iter().for_each(|at_ns| plan(&mut queue, &mut standard, *at_ns));
            let mut delays = delays.into_iter();
            while let Some((expected, ())) = standard.pop_first() {
                prop_assert_eq!(queue.pop_before(expected.0), None);
                prop_assert_eq!(queue.pop_before(u64::MAX), Some(expected));
                for delay_ns in delays.by_ref().take(2) {
                    plan(&mut queue, &mut standard, expected.0 + delay_ns);
                }
            }
            prop_assert_eq!(queue.pop_before(u64::MAX), None);
        }
    }
}
