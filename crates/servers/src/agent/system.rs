//! The machine's kernel and its clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Release of the kernel.
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Nanoseconds since 1970 by this machine's clock.
pub fn unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}
