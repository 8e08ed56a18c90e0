//! The runtime that serves the lines between drivers, and how long a handshake on them may take.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::runtime::{Builder, Runtime};

/// Longest time for a handshake, and for a joiner to find its leader.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// What serves the lines to other drivers, on a thread of its own.
pub fn network() -> Result<Arc<Runtime>> {
    let built = Builder::new_multi_thread().worker_threads(1).thread_name("network").enable_all().build();
    Ok(Arc::new(built?))
}
