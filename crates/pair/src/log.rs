//! The event log of QEMU's record and replay, version 0xe0200c, as QEMU 7.2 writes it: a byte that says what happened,
//! and what belongs to it, big-endian. Pure.
//!
//! A log may be cut after any event but an INSTRUCTION: that one says how far the guest ran before the next event, and
//! nothing yet of what happened there. Logs of machines with replayed character devices, sound or random numbers may be
//! cut in fewer places; such machines are refused (`Unreplayable`).

use thiserror::Error;

use crate::volume::{EventKind, Volume};

/// What a log begins with; a recording QEMU writes it last, so whoever replays one that goes on must say it first.
pub const VERSION: [u8; 4] = 0x00e0_200c_u32.to_be_bytes();
/// What QEMU replays before it goes on from a saved state: the version, its host clock (read once, for a clock that the
/// guest is not given), that it was made and reset; nothing more until the state is loaded, and nothing once it is, until
/// the machine runs.
pub const PRELUDE: [u8; 17] = {
    let [a, b, c, d] = VERSION;
    [a, b, c, d, CLOCK_HOST, 0, 0, 0, 0, 0, 0, 0, 0, MADE, RESET, END, END]
};
const CLOCK_HOST: u8 = 28;
const MADE: u8 = 37;
const RESET: u8 = 38;
/// The guest ran so many instructions since the event before.
pub const INSTRUCTION: u8 = 0;
/// The machine received a packet.
const PACKET: u8 = 9;
/// The last event of a log.
pub const END: u8 = 39;

/// An event that pairs cannot replay, or none at all: what reads this is not a log, or has lost its place in it.
#[derive(Debug, Error, PartialEq, Eq, Clone, Copy)]
#[error("event {code} of the log cannot be replayed by a pair")]
pub struct Unreplayable {
    pub code: u8,
}

/// What follows an event's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// Bytes whose number is known.
    fixed: u32,
    /// Whether a length of four bytes and as many bytes follow.
    has_array: bool,
}

/// Widths of `replay/replay-internal.h` and what its callers write.
fn shape(code: u8) -> Result<Shape, Unreplayable> {
    let of = |fixed, has_array| Ok(Shape { fixed, has_array });
    match code {
        INSTRUCTION => of(4, false),
        1 | 2 | 6 => of(0, false),       // interrupt, exception, input synchronised
        3 | 4 | 8 => of(8, false),       // bottom halves, block requests: an id
        PACKET => of(5, true),           // filter, flags, bytes
        10..=21 => of(0, false),         // shutdown, by cause
        28 | 29 => of(8, false),         // clocks
        30..=38 | END => of(0, false),   // checkpoints
        _ => Err(Unreplayable { code }), // input, characters, sound, random numbers
    }
}

/// The packets that the machine received, in whole events of a log. What cannot be read ends them.
pub fn packets(events: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = events;
    std::iter::from_fn(move || loop {
        let (&code, after) = rest.split_first()?;
        let Shape { fixed, has_array } = shape(code).ok()?;
        let mut after = after.get(fixed as usize..)?;
        let mut array: &[u8] = &[];
        if has_array {
            let (length, content) = after.split_first_chunk::<4>()?;
            (array, after) = content.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        }
        rest = after;
        if code == PACKET {
            return Some(array);
        }
    })
}

/// Where in an event a scanner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Code,
    Fixed { code: u8, left: u32, has_array: bool },
    Length { code: u8, seen: u32, bytes: u32 },
    Array { code: u8, left: u32 },
    Over,
}

/// Finds the ends of events in bytes as they come.
#[derive(Clone, Debug)]
pub struct Scanner {
    place: Place,
    /// Of events that ended.
    counted: Volume,
    /// Bytes of the event that was begun, and of the instructions before it.
    begun: u64,
}

impl Default for Scanner {
    fn default() -> Self {
        Scanner { place: Place::Code, counted: Volume::default(), begun: 0 }
    }
}

impl Scanner {
    /// Reads on; returns up to where in `bytes` the log may be cut, none where it may not be within them. What follows
    /// the last event of a log is no part of it.
    pub fn scan(&mut self, bytes: &[u8]) -> Result<Option<usize>, Unreplayable> {
        let (mut at, mut cut) = (0, None);
        while at < bytes.len() && self.place != Place::Over {
            let (used, ended) = self.step(&bytes[at..])?;
            at += used;
            self.begun += used as u64;
            if let Some(code) = ended.filter(|&code| code != INSTRUCTION) {
                self.counted.add(EventKind::from_code(code), std::mem::take(&mut self.begun));
                cut = Some(at);
            }
        }
        Ok(cut)
    }

    /// Bytes up to the last cut by kind, since this was called last. The number of instructions before an event counts
    /// with the event.
    pub fn take_volume(&mut self) -> Volume {
        std::mem::take(&mut self.counted)
    }

    /// Whether nothing of an event was read yet: the next byte is a code.
    pub fn is_between(&self) -> bool {
        matches!(self.place, Place::Code | Place::Over)
    }

    /// Whether the log has ended.
    pub fn is_over(&self) -> bool {
        self.place == Place::Over
    }

    /// Takes what it can of `bytes`, which are not empty; the code of the event that ended with that.
    fn step(&mut self, bytes: &[u8]) -> Result<(usize, Option<u8>), Unreplayable> {
        match self.place {
            Place::Code => {
                let code = bytes[0];
                let Shape { fixed, has_array } = shape(code)?;
                Ok((1, self.enter(Place::Fixed { code, left: fixed, has_array })))
            }
            Place::Fixed { code, left, has_array } => {
                let used = (left as usize).min(bytes.len());
                let left = left - used as u32;
                Ok((used, self.enter(Place::Fixed { code, left, has_array })))
            }
            Place::Length { code, seen, bytes: so_far } => {
                let so_far = so_far << 8 | u32::from(bytes[0]);
                Ok((1, self.enter(Place::Length { code, seen: seen + 1, bytes: so_far })))
            }
            Place::Array { code, left } => {
                let used = (left as usize).min(bytes.len());
                Ok((used, self.enter(Place::Array { code, left: left - used as u32 })))
            }
            Place::Over => Ok((bytes.len(), None)),
        }
    }

    /// Goes to a place, or over it where nothing is left of it there; the event's code when that ended it.
    fn enter(&mut self, place: Place) -> Option<u8> {
        let (next, ended) = match place {
            Place::Fixed { code, left: 0, has_array: true } => (Place::Length { code, seen: 0, bytes: 0 }, None),
            Place::Length { code, seen: 4, bytes } if bytes > 0 => (Place::Array { code, left: bytes }, None),
            Place::Fixed { code: END, left: 0, .. } => (Place::Over, Some(END)),
            Place::Fixed { code, left: 0, has_array: false }
            | Place::Length { code, seen: 4, .. }
            | Place::Array { code, left: 0 } => (Place::Code, Some(code)),
            _ => (place, None),
        };
        self.place = next;
        ended
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An event of any code that pairs replay but END, and its bytes.
    fn event() -> impl Strategy<Value = (u8, Vec<u8>)> {
        let codes = (0..END).filter(|&code| shape(code).is_ok()).collect::<Vec<_>>();
        (proptest::sample::select(codes), any::<[u8; 8]>(), proptest::collection::vec(any::<u8>(), 0..300)).prop_map(
            |(code, fixed, array)| {
                let known = shape(code).expect("a code that is known");
                let mut bytes = vec![code];
                bytes.extend_from_slice(&fixed[..known.fixed as usize]);
                if known.has_array {
                    bytes.extend_from_slice(&(array.len() as u32).to_be_bytes());
                    bytes.extend_from_slice(&array);
                }
                (code, bytes)
            },
        )
    }

    proptest! {
        #[test]
        fn cuts_are_found_wherever_the_log_is_split(
            events in proptest::collection::vec(event(), 1..40), pieces in proptest::collection::vec(1usize..50, 1..40)
        ) {
            let (mut log, mut cuts) = (Vec::new(), Vec::new());
            for (code, bytes) in &events {
                log.extend_from_slice(bytes);
                if *code != INSTRUCTION {
                    cuts.push(log.len());
                }
            }
            let (mut scanner, mut at, mut size) = (Scanner::default(), 0, pieces.iter().cycle());
            while at < log.len() {
                let end = (at + size.next().expect("endless")).min(log.len());
                let found = scanner.scan(&log[at..end]).expect("a log").map(|cut| at + cut);
                let due = cuts.iter().copied().filter(|cut| (at + 1..=end).contains(cut)).max();
                prop_assert_eq!(found, due);
                at = end;
            }
            prop_assert!(scanner.is_between());
        }

        #[test]
        fn the_packets_of_a_log_are_found(events in proptest::collection::vec(event(), 1..40)) {
            let log: Vec<u8> = events.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
            let received: Vec<&[u8]> = packets(&log).collect();
            let expected: Vec<&[u8]> =
                events.iter().filter(|(code, _)| *code == PACKET).map(|(_, bytes)| &bytes[1 + 5 + 4..]).collect();
            prop_assert_eq!(received, expected);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let mut scanner = Scanner::default();
            prop_assert!(packets(&bytes).map(<[u8]>::len).sum::<usize>() <= bytes.len());
            if let Ok(Some(cut)) = scanner.scan(&bytes) {
                prop_assert!((1..=bytes.len()).contains(&cut));
            }
        }
    }

    #[test]
    fn a_log_ends_with_its_end() {
        let mut scanner = Scanner::default();
        assert_eq!(scanner.scan(&[30, END, 0, 0xe0, 0x20, 0x0c]), Ok(Some(2)));
        assert_eq!(scanner.scan(&[7, 7]), Ok(None));
    }

    #[test]
    fn instructions_alone_are_no_place_for_a_cut() {
        let mut scanner = Scanner::default();
        assert_eq!(scanner.scan(&[INSTRUCTION, 0, 0, 0, 9]), Ok(None));
        assert!(scanner.is_between());
        assert_eq!(scanner.scan(&[31]), Ok(Some(1)));
    }

    #[test]
    fn bytes_are_counted_by_kind_and_instructions_with_the_event_that_they_lead_to() {
        let packet = [PACKET, 0, 0, 0, 0, 0, 0, 0, 0, 2, 7, 7];
        let (instructions, block) = ([INSTRUCTION, 0, 0, 0, 9], [8, 0, 0, 0, 0, 0, 0, 0, 1]);
        let clock = [28, 1, 2, 3, 4, 5, 6, 7, 8, 31];
        let log =
            [&packet[..], &instructions, &[1], &block, &clock, &[3, 0, 0, 0, 0, 0, 0, 0, 1], &instructions].concat();
        let mut scanner = Scanner::default();
        for byte in &log {
            scanner.scan(std::slice::from_ref(byte)).expect("a log");
        }
        let volume = scanner.take_volume();
        let expected = [("network", 12), ("disk", 9), ("clock", 10), ("interrupt", 6), ("other", 9)];
        assert!(volume.by_name().eq(expected), "{volume:?}");
        assert_eq!(volume.total(), (log.len() - instructions.len()) as u64);
        assert_eq!(scanner.take_volume(), Volume::default());
    }

    #[test]
    fn what_no_pair_can_replay_is_refused() {
        assert_eq!(Scanner::default().scan(&[30, 27]), Err(Unreplayable { code: 27 }));
        assert_eq!(Scanner::default().scan(&[200]), Err(Unreplayable { code: 200 }));
    }
}
