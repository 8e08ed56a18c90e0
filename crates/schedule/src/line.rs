//! The line model: how long bytes need on a user's line of limited speed, over one or several connections.
//!
//! A `Line` is a serial wire: bytes that arrive at time `a` have been delivered at
//! `max(free, a) + bytes / rate`. A server that stalls does not earn the right to a burst afterwards.

use crate::Nanos;

/// One connection's share of the user's line.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    ns_per_byte: f64,
    free: f64,
}

impl Line {
    /// `bytes_per_s` of `None` means unlimited.
    pub fn new(bytes_per_s: Option<f64>) -> Self {
        Line { ns_per_byte: bytes_per_s.map_or(0.0, |rate| 1e9 / rate), free: 0.0 }
    }

    /// Changes the rate; bytes already under way keep their delivery time.
    pub fn set_rate(&mut self, bytes_per_s: Option<f64>) {
        self.ns_per_byte = bytes_per_s.map_or(0.0, |rate| 1e9 / rate);
    }

    /// Whether it has a speed at all.
    pub fn is_limited(&self) -> bool {
        self.ns_per_byte > 0.0
    }

    /// Bytes that arrived at `at`; returns when they have been delivered.
    pub fn deliver(&mut self, at: Nanos, bytes: usize) -> Nanos {
        self.free = self.free.max(at as f64) + bytes as f64 * self.ns_per_byte;
        self.free as Nanos
    }

    /// When the line has delivered everything it was given.
    pub fn free_at(&self) -> Nanos {
        self.free as Nanos
    }
}

/// Requests that a user makes at a time, at most: browsers open 100 streams of HTTP/2 at once.
const MOST_PARALLEL: usize = 128;

/// Rates of a page's parts, in bytes per second; `None` is unlimited.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub page: Option<f64>,
    pub embedded: Option<f64>,
    pub parallel: usize,
}

/// Nanoseconds a page needs on the line alone, with a server that takes no time: the page over one connection,
/// then its embedded files over `parallel` ones, the next file to the first free connection
/// (docs/web-workloads.md, Files and access link: reproduces published page times mostly to 5 ms).
pub fn page_line_time(rates: &Rates, page_bytes: u64, embedded_bytes: impl Iterator<Item = u64>) -> Nanos {
    let page = duration(page_bytes, rates.page);
    if rates.embedded.is_none() {
        return page as Nanos;
    }
    let mut busy = [0.0f64; MOST_PARALLEL];
    let connections = &mut busy[..rates.parallel.clamp(1, MOST_PARALLEL)];
    for bytes in embedded_bytes {
        let first_free =
            (0..connections.len()).fold(0, |best, at| if connections[at] < connections[best] { at } else { best });
        connections[first_free] += duration(bytes, rates.embedded);
    }
    (page + connections.iter().fold(0.0, |most: f64, &connection| most.max(connection))) as Nanos
}

fn duration(bytes: u64, rate: Option<f64>) -> f64 {
    rate.map_or(0.0, |rate| bytes as f64 * 1e9 / rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_not_caught_up_by_a_burst() {
        let mut line = Line::new(Some(1000.0));
        assert_eq!(line.deliver(0, 1000), 1_000_000_000);
        assert_eq!(line.deliver(3_000_000_000, 1000), 4_000_000_000);
    }

    #[test]
    fn bytes_that_wait_in_the_buffer_are_delivered_back_to_back() {
        let mut line = Line::new(Some(1000.0));
        line.deliver(0, 500);
        assert_eq!(line.deliver(100, 500), 1_000_000_000);
    }

    #[test]
    fn two_connections_take_the_next_file_when_free() {
        let rates = Rates { page: Some(100.0), embedded: Some(50.0), parallel: 2 };
        // Page 1 s; files 2 s | 1 s + 1 s: both connections end after 2 s.
        assert_eq!(page_line_time(&rates, 100, [100, 50, 50].into_iter()), 3_000_000_000);
    }

    #[test]
    fn an_unlimited_line_takes_no_time() {
        let rates = Rates { page: None, embedded: None, parallel: 2 };
        assert_eq!(page_line_time(&rates, 1_000_000, [5, 6].into_iter()), 0);
    }

    #[test]
    fn a_rate_may_change_and_the_line_knows_when_it_is_free() {
        let mut line = Line::new(None);
        assert!(!line.is_limited());
        assert_eq!(line.deliver(7, 1_000_000), 7);
        line.set_rate(Some(1000.0));
        assert!(line.is_limited());
        assert_eq!(line.deliver(10, 2), 2_000_010);
        assert_eq!(line.free_at(), 2_000_010);
        line.set_rate(None);
        assert!(!line.is_limited());
        assert_eq!(line.deliver(20, 5), 2_000_010);
    }

    #[test]
    fn the_next_file_goes_to_the_first_of_connections_that_are_free() {
        // 4 s | 1 s + 2 s + 1 s: the second connection is free after 1 s, and after 3 s still before the first.
        let rates = Rates { page: None, embedded: Some(1.0), parallel: 2 };
        assert_eq!(page_line_time(&rates, 9, [4, 1, 2, 1].into_iter()), 4_000_000_000);
        let three = Rates { parallel: 3, ..rates };
        assert_eq!(page_line_time(&three, 9, [4, 1, 2, 1].into_iter()), 4_000_000_000);
        let one = Rates { parallel: 0, ..rates };
        assert_eq!(page_line_time(&one, 9, [4, 1, 2, 1].into_iter()), 8_000_000_000);
    }
}
