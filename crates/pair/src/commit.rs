//! The output commit: nothing leaves the primary before the secondary holds every event that precedes it. Pure.
//!
//! What a machine sends is itself no event. A frame that came when the log was `position` bytes long may leave once the
//! secondary has acknowledged more than that: a later event says how far the guest ran, so a successor must pass the
//! place where the frame was sent (Scales, Nelson, Venkitachalam 2010, the Output Rule).

use std::collections::VecDeque;

/// A frame that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its number among all that the machine sent.
    pub number: u64,
    /// Length of the log when it came.
    pub position: u64,
    /// When it came.
    pub at_ns: u64,
    pub frame: Vec<u8>,
}

/// What a machine sent that may not leave yet, in order.
#[derive(Debug, Default)]
pub struct Outputs {
    sent: u64,
    held: VecDeque<Held>,
    acknowledged: u64,
}

impl Outputs {
    /// A frame came when the log was `position` bytes long; returns its number.
    pub fn hold(&mut self, position: u64, at_ns: u64, frame: Vec<u8>) -> u64 {
        let number = self.sent;
        self.sent += 1;
        self.held.push_back(Held { number, position, at_ns, frame });
        number
    }

    /// The secondary holds the log up to `position`; what may leave by that, in order.
    pub fn acknowledge(&mut self, position: u64) -> impl Iterator<Item = Held> + '_ {
        self.acknowledged = self.acknowledged.max(position);
        let count = self.held.iter().take_while(|held| held.position < self.acknowledged).count();
        self.held.drain(..count)
    }

    /// Nobody is left to wait for: all may leave.
    pub fn release_all(&mut self) -> impl Iterator<Item = Held> + '_ {
        self.held.drain(..)
    }

    /// How many frames the machine has sent.
    pub fn sent(&self) -> u64 {
        self.sent
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_frame_waits_for_an_event_beyond_it() {
        let mut outputs = Outputs::default();
        outputs.hold(100, 1, vec![1]);
        assert_eq!(outputs.acknowledge(100).count(), 0);
        assert_eq!(outputs.acknowledge(101).count(), 1);
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
                        left.push(held.number);
                    }
                }
            }
            left.extend(outputs.release_all().map(|held| held.number));
            prop_assert_eq!(left, (0..outputs.sent()).collect::<Vec<_>>());
        }
    }
}
