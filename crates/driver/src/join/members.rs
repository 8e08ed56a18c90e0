//! The drivers that have joined a leader, together: their clocks, their start, their reports.

use std::sync::Arc;

use anyhow::{bail, Context, Result};
use loadstone_schedule::plan::Plan;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

use super::follower::Follower;
use super::line::Word;
use super::member::Member;
use crate::report::Report;

/// The drivers that have joined a leader.
#[derive(Default)]
pub struct Members {
    pub(super) joined: Vec<Member>,
    pub(super) network: Option<Arc<Runtime>>,
}

/// What keeps members' lines open, and tells them that the run ends early.
pub struct Lines {
    stop: watch::Sender<bool>,
    _network: Option<Arc<Runtime>>,
}

impl Members {
    /// How many other drivers take part.
    pub fn len(&self) -> usize {
        self.joined.len()
    }

    /// Whether this driver plays alone.
    pub fn is_empty(&self) -> bool {
        self.joined.is_empty()
    }

    /// Compares clocks with all, which each answers once it is ready.
    pub(super) fn compare_clocks(&mut self) -> Result<()> {
        let Members { joined, network } = self;
        let Some(network) = network else { bail!("no driver has joined") };
        network.block_on(async {
            for member in joined {
                member.compare_clocks().await.with_context(|| format!("the driver at {}", member.name))?;
            }
            Ok(())
        })
    }

    /// Tells all when to start: at this instant of our clock.
    pub(super) fn start(&mut self, origin_ns: u64) -> Result<()> {
        let Members { joined, network } = self;
        let Some(network) = network else { bail!("no driver has joined") };
        network.block_on(async {
            for member in joined {
                member.saying.say(&Word::Start(origin_ns.saturating_add_signed(member.ahead_ns))).await?;
            }
            Ok(())
        })
    }

    /// By how much the clocks may differ from what was found, at most; none of a driver that plays alone.
    pub fn clock_bound_ns(&self) -> Option<u64> {
        self.joined.iter().map(|member| member.bound_ns).max()
    }

    /// Turns what the members say into reports.
    pub fn follow(self, plan: &Plan, sender: &mpsc::UnboundedSender<Report>) -> Lines {
        let (stop, stopped) = watch::channel(false);
        if let Some(network) = &self.network {
            for member in self.joined {
                network.spawn(Follower::new(plan, sender.clone()).run(member, stopped.clone()));
            }
        }
        Lines { stop, _network: self.network }
    }
}

impl Lines {
    /// Has all members told that the run ends early.
    pub fn stop(&self) {
        let _ = self.stop.send(true);
    }
}
