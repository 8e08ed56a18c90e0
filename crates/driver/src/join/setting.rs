//! Where a driver's plan, its companions and its start come from.

use anyhow::Result;
use loadstone_schedule::plan::Plan;

use super::members::Members;
use crate::clock::Clock;

/// Where a driver's plan, its companions and its start come from.
pub trait Setting: Send {
    /// The plan this driver plays, and the other drivers whose reports it merges.
    fn prepare(&mut self) -> Result<(Plan, Members)>;
    /// Waits until the others are prepared too.
    fn gather(&mut self, _: &mut Members) -> Result<()> {
        Ok(())
    }
    /// The instant of the start, once everyone is ready.
    fn agree(&mut self, members: &mut Members) -> Result<Clock>;
    /// Whether someone waits to hear that all is prepared.
    fn waits(&self) -> bool {
        false
    }
}
