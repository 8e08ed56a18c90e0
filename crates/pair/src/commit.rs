//! The output commit: nothing leaves the primary before the secondary holds every event that precedes it. Pure.
//!
//! What a machine sends is itself no event. A frame that came when the log was `position` bytes long may leave once the
//! secondary has acknowledged more than that: a later event says how far the guest ran, so a successor must pass the
//! place where the frame was sent (Scales, Nelson, Venkitachalam 2010, the Output Rule).

use std::collections::VecDeque;
use std::sync::mpsc::Sender;

/// Bytes of frames that are held at most. Beyond them frames are lost, as on any line without room: a store that is
/// away for an hour must not take the agent's memory.
pub const MOST_HELD: usize = 16 << 20;
/// What a frame takes beside its bytes.
const FRAME_OVERHEAD: usize = 96;

/// What waits.
#[derive(Debug)]
pub enum Output {
    /// A frame, and its number among all that the machine sent.
    Frame(u64, Vec<u8>),
    /// A write to a disk that both sides share: who wrote waits for the word.
    Write(Sender<()>),
}

/// An output that waits.
#[derive(Debug)]
pub struct Held {
    /// Length of the log when it came.
    pub position: u64,
    /// When it came.
    pub at_ns: u64,
    pub output: Output,
}

/// What a machine sent that may not leave yet, in order.
#[derive(Debug, Default)]
pub struct Outputs {
    sent: u64,
    held: VecDeque<Held>,
    /// Bytes that the frames among them take.
    held_bytes: usize,
    /// Frames that there was no room to hold.
    lost: u64,
    acknowledged: u64,
}

impl Outputs {
    /// A frame came when the log was `position` bytes long; returns its number.
    pub fn hold(&mut self, position: u64, at_ns: u64, frame: Vec<u8>) -> u64 {
        let number = self.sent;
        self.sent += 1;
        if self.held_bytes + frame.len() + FRAME_OVERHEAD > MOST_HELD {
            self.lost += 1;
            return number;
        }
        self.held_bytes += frame.len() + FRAME_OVERHEAD;
        self.held.push_back(Held { position, at_ns, output: Output::Frame(number, frame) });
        number
    }

    /// A write to a shared disk came when the log was `position` bytes long.
    pub fn hold_write(&mut self, position: u64, at_ns: u64, word: Sender<()>) {
        self.held.push_back(Held { position, at_ns, output: Output::Write(word) });
    }

    /// The secondary holds the log up to `position`; what may leave by that, in order.
    pub fn acknowledge(&mut self, position: u64) -> impl Iterator<Item = Held> + '_ {
        self.acknowledged = self.acknowledged.max(position);
        let count = self.held.iter().take_while(|held| held.position < self.acknowledged).count();
        self.take(count)
    }

    /// Nobody is left to wait for: all may leave.
    pub fn release_all(&mut self) -> impl Iterator<Item = Held> + '_ {
        self.take(self.held.len())
    }

    fn take(&mut self, count: usize) -> impl Iterator<Item = Held> + '_ {
        self.held.drain(..count).inspect(|held| {
            if let Output::Frame(_, frame) = &held.output {
                self.held_bytes -= frame.len() + FRAME_OVERHEAD;
            }
        })
    }

    /// How many frames there was no room to hold.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// How many frames the machine has sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// How many frames have left: all before this one.
    pub fn left(&self) -> u64 {
        let waiting = |held: &Held| match held.output {
            Output::Frame(number, _) => Some(number),
            Output::Write(_) => None,
        };
        self.held.iter().find_map(waiting).unwrap_or(self.sent)
    }

    /// Since when the first that waits does.
    pub fn waiting_since(&self) -> Option<u64> {
        self.held.front().map(|held| held.at_ns)
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.held.len()
    }

    /// So many frames have left before these.
    pub fn continue_from(&mut self, sent: u64) {
        self.sent = sent;
    }

    /// A new secondary, whose log begins anew: what was acknowledged by another one counts no more.
    pub fn begin_anew(&mut self) {
        self.acknowledged = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_frame_waits_for_an_event_beyond_it() {
        let mut outputs = Outputs::default();
        outputs.hold(100, 1, vec![1]);
        assert_eq!(outputs.acknowledge(100).count(), 0);
        assert_eq!(outputs.left(), 0);
        assert_eq!(outputs.acknowledge(101).count(), 1);
        assert_eq!(outputs.left(), 1);
    }

    #[test]
    fn a_write_waits_in_its_turn_and_is_no_frame() {
        let (mut outputs, (word, told)) = (Outputs::default(), channel());
        outputs.hold(100, 1, vec![1]);
        outputs.hold_write(101, 2, word);
        outputs.hold(102, 3, vec![2]);
        assert_eq!(outputs.waiting_since(), Some(1));
        assert!(matches!(outputs.acknowledge(102).last().expect("two").output, Output::Write(_)));
        assert_eq!((outputs.left(), outputs.sent(), outputs.waiting()), (1, 2, 1));
        assert!(told.recv().is_err(), "who drops it gives no word");
    }

    #[test]
    fn a_store_that_is_away_costs_no_more_memory_than_the_limit() {
        let mut outputs = Outputs::default();
        for number in 0..100_000 {
            assert_eq!(outputs.hold(number, 0, vec![0; 1000]), number);
        }
        let held = outputs.waiting();
        assert!(held * 1000 <= MOST_HELD && (held + 1) * (1000 + FRAME_OVERHEAD) > MOST_HELD);
        assert_eq!(outputs.lost(), 100_000 - held as u64);
        assert_eq!(outputs.acknowledge(10).count(), 10);
        outputs.hold(100_000, 0, vec![0; 1000]);
        assert_eq!(outputs.release_all().count(), held - 10 + 1);
        outputs.hold(100_001, 0, vec![0; MOST_HELD / 2]);
        assert_eq!((outputs.waiting(), outputs.left()), (1, 100_001));
    }

    fn number(held: Held) -> u64 {
        match held.output {
            Output::Frame(number, _) => number,
            Output::Write(_) => u64::MAX,
        }
    }

    proptest! {
        #[test]
        fn nothing_leaves_early_nothing_is_lost_and_all_in_order(
            steps in proptest::collection::vec((any::<bool>(), 0_u64..50), 1..200)
        ) {
            let (mut outputs, mut log, mut acknowledged, mut left) = (Outputs::default(), 0, 0, Vec::new());
            for (is_frame, ahead) in steps {
                if is_frame {
                    log += ahead;
                    outputs.hold(log, 0, vec![]);
                } else {
                    acknowledged = acknowledged.max(ahead * 40);
                    for held in outputs.acknowledge(ahead * 40) {
                        prop_assert!(held.position < acknowledged);
                        left.push(number(held));
                    }
                }
            }
            left.extend(outputs.release_all().map(number));
            prop_assert_eq!(left, (0..outputs.sent()).collect::<Vec<_>>());
        }
    }
}
