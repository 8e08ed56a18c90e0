//! A driver that leads others: it waits for them, shares the plan out, and sets the start.

use std::time::Duration;

use anyhow::{Context, Result};
use loadstone_schedule::plan::{self, Load, Plan};
use rustix::time::ClockId;
use tokio::net::TcpListener;

use super::door::welcome;
use super::members::Members;
use super::network::network;
use super::secure::Token;
use super::setting::Setting;
use crate::awaited::awaited_origin_ns;
use crate::clock::{kernel_ns, Clock};

/// Time between the word to start and the start.
const LEAD_NS: u64 = 1_500_000_000;

/// Leads: waits until as many drivers have joined as were announced.
pub struct Leader<F> {
    pub read_plan: F,
    pub address: String,
    pub joining: u32,
    pub token: Token,
    pub share: Share,
    pub start: StartWord,
    /// After which a driver counts as lost.
    pub silence: Duration,
}

/// Whether the driver that leads plays itself.
#[derive(Clone, Copy, PartialEq)]
pub enum Share {
    /// A share like the others'.
    Own,
    /// Nothing: it only merges what the others tell, so that its host need not be fit to make load.
    None,
}

/// Whether the driver that leads chooses the start.
#[derive(Clone, Copy, PartialEq)]
pub enum StartWord {
    Own,
    /// Someone tells it, as `start::Told` is told.
    Awaited,
}

impl<F: Fn() -> Result<Plan> + Send> Setting for Leader<F> {
    fn prepare(&mut self) -> Result<(Plan, Members)> {
        let mut plan = (self.read_plan)()?;
        let first = u32::from(self.share == Share::Own);
        let (network, acceptor, of) = (network()?, self.token.acceptor()?, self.joining + first);
        let joined = network.block_on(async {
            let listener = TcpListener::bind(&self.address).await;
            let listener = listener.with_context(|| format!("cannot listen on {}", self.address))?;
            eprintln!("waiting on {} for {} drivers to join", listener.local_addr()?, self.joining);
            welcome(listener, acceptor, &plan, first..of, self.silence).await
        })?;
        plan.member = plan::Member { index: 0, of };
        if self.share == Share::None {
            leave_to_others(&mut plan);
        }
        Ok((plan, Members { joined, network: Some(network) }))
    }

    fn gather(&mut self, members: &mut Members) -> Result<()> {
        members.compare_clocks()
    }

    fn agree(&mut self, members: &mut Members) -> Result<Clock> {
        let origin_ns = match self.start {
            StartWord::Own => None,
            StartWord::Awaited => Some(awaited_origin_ns()?),
        };
        members.compare_clocks()?; // anew: clocks drift while somebody waits for the word
        let origin_ns = origin_ns.unwrap_or_else(|| kernel_ns(ClockId::Monotonic) + LEAD_NS);
        members.start(origin_ns)?;
        Clock::starting_in_time(origin_ns)
    }

    fn waits(&self) -> bool {
        self.start == StartWord::Awaited
    }
}

/// A plan without its load: nobody is played.
fn leave_to_others(plan: &mut Plan) {
    for part in &mut plan.parts {
        part.load = Load::Population { sessions: 0, path: Vec::new() };
    }
}
