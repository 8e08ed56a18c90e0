//! Faults made on purpose, for testing those who look for them.

use std::sync::atomic::{AtomicU64, Ordering};

/// Every n-th time, 0 for never.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Faults {
    /// Acknowledge every n-th append and keep nothing
    #[arg(long, default_value_t = 0, hide = true)]
    pub drop_every: u64,
    /// Change a byte of every n-th message that is fetched
    #[arg(long, default_value_t = 0, hide = true)]
    pub alter_every: u64,
    /// Say one message too many in every n-th status
    #[arg(long, default_value_t = 0, hide = true)]
    pub miscount_every: u64,
}

/// Whether this is a time at which a fault is made.
pub fn is_due(counter: &AtomicU64, every: u64) -> bool {
    every > 0 && (counter.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(every)
}
