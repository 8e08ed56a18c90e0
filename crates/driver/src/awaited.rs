//! What a driver that waits for the word to start is told on standard input: its plan in one line, the start in the next.

use anyhow::{Context, Result};
use loadstone_schedule::plan::Plan;

use crate::input::parse_plan;

/// The word to start.
#[derive(serde::Deserialize)]
struct Start {
    /// Of this machine's monotonic clock.
    origin_ns: u64,
}

/// The plan of who waits for the word to start, in one line.
pub fn awaited_plan() -> Result<Plan> {
    parse_plan(&line()?)
}

/// The instant of the start, by this machine's monotonic clock.
pub fn awaited_origin_ns() -> Result<u64> {
    let Start { origin_ns } = serde_json::from_str(&line()?).context("the start message is not valid")?;
    Ok(origin_ns)
}

fn line() -> Result<String> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("cannot read standard input")?;
    anyhow::ensure!(!line.is_empty(), "standard input ended before the start message");
    Ok(line)
}
