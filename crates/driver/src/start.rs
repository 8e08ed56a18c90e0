//! Where the plan and the word to start come from: a driver of its own, or one that is told together with others. Those
//! that join a leader over TCP are in `join`.

use anyhow::{Context, Result};
use loadstone_schedule::plan::Plan;

use crate::clock::Clock;
use crate::join::{Members, Setting};

/// Time between the plan's arrival and the start of the run, for threads to get ready.
const LEAD_NS: u64 = 100_000_000;

/// A driver of its own.
pub struct Alone<F>(pub F);

impl<F: Fn() -> Result<Plan> + Send> Setting for Alone<F> {
    fn prepare(&mut self) -> Result<(Plan, Members)> {
        Ok(((self.0)()?, Members::default()))
    }

    fn agree(&mut self, _: &mut Members) -> Result<Clock> {
        Ok(Clock::starting_in(LEAD_NS))
    }
}

/// A driver that is told when to start, once it and others are prepared.
pub struct Told;

/// The word to start.
#[derive(serde::Deserialize)]
struct Start {
    /// Of this machine's monotonic clock.
    origin_ns: u64,
}

impl Setting for Told {
    fn prepare(&mut self) -> Result<(Plan, Members)> {
        Ok((awaited_plan()?, Members::default()))
    }

    fn agree(&mut self, _: &mut Members) -> Result<Clock> {
        Clock::starting_in_time(awaited_origin_ns()?)
    }

    fn waits(&self) -> bool {
        true
    }
}

/// The plan of who waits for the word to start, in one line.
pub fn awaited_plan() -> Result<Plan> {
    crate::parse_plan(&line()?)
}

/// The word to start.
pub(crate) fn awaited_origin_ns() -> Result<u64> {
    let Start { origin_ns } = serde_json::from_str(&line()?).context("that is no word to start")?;
    Ok(origin_ns)
}

fn line() -> Result<String> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).context("cannot read standard input")?;
    anyhow::ensure!(!line.is_empty(), "standard input ended before all was said");
    Ok(line)
}
