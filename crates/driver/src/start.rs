//! Where the plan and the word to start come from: a driver of its own, or one that is told together with others. Those
//! that join a leader over TCP are in `join`.

use anyhow::Result;
use loadstone_schedule::plan::Plan;

use crate::awaited::{awaited_origin_ns, awaited_plan};
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
