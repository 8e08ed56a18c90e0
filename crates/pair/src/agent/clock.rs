//! Time as the state machine of a side counts it.

use std::time::Instant;

/// Time since the agent began.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Begins now.
    pub fn starting_now() -> Clock {
        Clock(Instant::now())
    }

    /// Nanoseconds since its beginning.
    pub fn now_ns(self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}
