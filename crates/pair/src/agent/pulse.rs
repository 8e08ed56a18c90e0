//! Whether a machine that records still runs: even an idle one records ten times a second that time passes. Pure.

use std::time::{Duration, Instant};

/// Multiple of the other side's patience for which a machine may record nothing.
const PATIENCES: u32 = 4;
/// Longest time between two looks that counts: an agent that was kept from running knows nothing of its machine.
const COUNTED: Duration = Duration::from_millis(50);
/// Bytes of log that wait for the agent; with more of them the machine may be waiting for room.
const BACKLOG: usize = 1 << 20;

/// How long the log of a machine has not grown.
#[derive(Debug)]
pub struct Pulse {
    recorded: u64,
    looked: Instant,
    silent: Duration,
}

impl Pulse {
    /// Of a machine that has just got a secondary.
    pub fn beginning(now: Instant) -> Pulse {
        Pulse { recorded: 0, looked: now, silent: Duration::ZERO }
    }

    /// Takes the length of the log, of which `unread` bytes wait for the agent; whether the machine hangs.
    pub fn has_stopped(&mut self, recorded: u64, unread: usize, patience: Duration, now: Instant) -> bool {
        let since = now.saturating_duration_since(self.looked).min(COUNTED);
        self.looked = now;
        self.silent = if recorded != self.recorded || unread > BACKLOG { Duration::ZERO } else { self.silent + since };
        self.recorded = recorded;
        self.silent > patience * PATIENCES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(500);

    fn looks(
        pulse: &mut Pulse,
        begun: Instant,
        every_ms: u64,
        until_ms: u64,
        log: impl Fn(u64) -> (u64, usize),
    ) -> Option<u64> {
        (0..until_ms).step_by(every_ms as usize).find(|&ms| {
            let (recorded, unread) = log(ms);
            pulse.has_stopped(recorded, unread, PATIENCE, begun + Duration::from_millis(ms))
        })
    }

    #[test]
    fn a_machine_that_records_nothing_for_four_patiences_hangs_and_an_idle_machine_does_not() {
        let begun = Instant::now();
        let hung = looks(&mut Pulse::beginning(begun), begun, 10, 60_000, |ms| (ms.min(3000) / 100, 0));
        assert_eq!(hung, Some(3000 + 2000 + 10));
        assert_eq!(looks(&mut Pulse::beginning(begun), begun, 10, 60_000, |ms| (ms / 100, 0)), None);
    }

    #[test]
    fn an_agent_that_was_kept_from_running_and_a_log_without_room_say_nothing_of_the_machine() {
        let begun = Instant::now();
        let mut pulse = Pulse::beginning(begun);
        let at = |ms| begun + Duration::from_millis(ms);
        assert!(!pulse.has_stopped(7, 0, PATIENCE, at(0)));
        assert!(!pulse.has_stopped(7, 0, PATIENCE, at(60_000)));
        assert_eq!(looks(&mut Pulse::beginning(begun), begun, 10, 60_000, |_| (7, 2 * BACKLOG)), None);
    }
}
