//! How far the secondary may be behind, and by how much its primary is slowed beyond that. Pure.
//!
//! A secondary that is behind must first catch up when its primary dies, and clients wait as long. VMware's primaries are
//! slowed beyond a second, where less than a tenth is usual (Scales, Nelson, Venkitachalam 2010); ours sooner, since an
//! outage is to stay below one.

use std::time::Duration;

/// Lag that slows nobody.
pub const ALLOWED: Duration = Duration::from_millis(200);
/// Lag at which the primary is slowed the most.
const WORST: Duration = Duration::from_millis(1000);
/// Lag below which a side that joins counts as one that could take over.
pub const READY: Duration = WORST;
/// Percent of its time that it is kept from running then: it never stands still for this alone.
pub const MOST_PCT: u32 = 90;
/// The same while a secondary that has just joined catches up: users would feel more.
const MOST_AT_FIRST_PCT: u32 = 40;
/// How long it may take for that.
const CATCHES_UP: Duration = Duration::from_secs(5);

/// Percent of its time for which the primary is kept from running when its secondary is so far behind, and has followed
/// for so long: none up to what is allowed, more and more beyond it.
pub fn slowed_pct(lag: Duration, followed: Duration) -> u32 {
    let beyond = lag.saturating_sub(ALLOWED).as_secs_f64() / (WORST - ALLOWED).as_secs_f64();
    let pct = (f64::from(MOST_PCT) * beyond.min(1.0)) as u32;
    pct.min(if followed < CATCHES_UP { MOST_AT_FIRST_PCT } else { MOST_PCT })
}

/// How long a machine that has run for so long is to stand still.
pub fn pause(ran: Duration, pct: u32) -> Duration {
    let pct = pct.min(MOST_PCT);
    ran.mul_f64(f64::from(pct) / f64::from(100 - pct)).min(LONGEST)
}

/// At once at most: what the machine is to receive waits meanwhile.
const LONGEST: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_primary_is_slowed_smoothly_and_never_stopped() {
        let at = |ms| slowed_pct(Duration::from_millis(ms), CATCHES_UP);
        assert_eq!([at(0), at(200), at(600), at(1000), at(60_000)], [0, 0, 45, 90, 90]);
    }

    #[test]
    fn a_secondary_that_has_just_joined_catches_up_without_its_users_waiting() {
        let at = |ms| slowed_pct(Duration::from_millis(ms), CATCHES_UP - Duration::from_millis(1));
        assert_eq!([at(0), at(200), at(400), at(600), at(60_000)], [0, 0, 22, 40, 40]);
    }

    #[test]
    fn what_it_may_run_is_what_is_left() {
        let ran = Duration::from_millis(2);
        assert_eq!(pause(ran, 0), Duration::ZERO);
        assert_eq!(pause(ran, 50), ran);
        assert_eq!(pause(ran, 90), 9 * ran);
        assert_eq!(pause(Duration::from_secs(5), 90), LONGEST);
    }
}
