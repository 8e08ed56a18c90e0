//! The same schedule in virtual time against a modelled server: no sockets, no waiting.
//!
//! Operations are counted when they end in the steady state, which is without bias for their shares however
//! long some of them last; those that also started in it are counted beside.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use anyhow::{bail, Context, Result};
use loadstone_record::recorder::SessionCounts;
use loadstone_record::Window;
use loadstone_schedule::plan::Plan;
use loadstone_schedule::rng::{Purpose, Stream};
use loadstone_schedule::session::{Departure, Script, Session, Step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long the modelled server, line included, takes for an operation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Server {
    /// Always the same time.
    Fixed { response_ns: u64 },
    /// Negative exponential with this mean.
    Exponential { mean_ns: u64 },
    /// A fixed time for each operation, in the plan's order.
    Table { response_ns: Vec<u64> },
}

/// What to simulate.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    pub plan: Plan,
    pub server: Server,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OperationShare {
    pub name: String,
    /// Ended in the steady state.
    pub count: u64,
    pub share_pct: f64,
    /// Also started in it.
    pub inside: u64,
    pub cut_at_start: u64,
    pub cut_at_end: u64,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Simulated {
    pub workload: String,
    pub sessions: u32,
    pub seconds: f64,
    pub seed: u64,
    pub operations: Vec<OperationShare>,
    pub operations_total: u64,
    pub operations_per_s: f64,
    pub operations_per_s_per_session: f64,
    pub sessions_finished: u64,
    pub sessions_abandoned: u64,
    pub operations_per_session: f64,
    pub mean_response_s: f64,
    /// Mean drawn pause of the operations that have one.
    pub mean_pause_s: f64,
    /// Share of operations before which the user pauses.
    pub paused_share_pct: f64,
}

struct Player {
    session: Session,
    chance: Stream,
    started: u64,
    ended: u64,
}

struct Books {
    steady: std::ops::Range<u64>,
    counts: Vec<[u64; 3]>,
    sessions: SessionCounts,
    response_ns: u128,
    pause_ns: u128,
    pauses: u64,
    starts: u64,
}

/// Plays the plan in virtual time.
pub fn simulate(simulation: &Simulation) -> Result<Simulated> {
    let plan = &simulation.plan;
    let script = Script::compile(&plan.workload)?;
    if let Server::Table { response_ns } = &simulation.server {
        let wanted = plan.workload.operations.len();
        if response_ns.len() != wanted {
            bail!("the server's table has {} entries for {wanted} operations", response_ns.len());
        }
    }
    let mut books = Books {
        steady: plan.phases.steady_start()..plan.phases.steady_end(),
        counts: vec![[0; 3]; plan.workload.operations.len()],
        sessions: SessionCounts::default(),
        response_ns: 0,
        pause_ns: 0,
        pauses: 0,
        starts: 0,
    };
    let mut players = arrive(plan, &script);
    let mut agenda: BinaryHeap<Reverse<(u64, usize)>> =
        players.iter().enumerate().map(|(index, player)| Reverse((player.ended, index))).collect();
    while let Some(Reverse((now, index))) = agenda.pop() {
        if now >= books.steady.end {
            break;
        }
        let next = advance(&mut players[index], plan, &script, &simulation.server, &mut books);
        agenda.push(Reverse((next, index)));
    }
    summarize(plan, &books).context("nothing was measured")
}

fn arrive(plan: &Plan, script: &Script) -> Vec<Player> {
    let sessions = u64::from(plan.sessions);
    (0..sessions)
        .map(|id| {
            let mut session = Session::new(script, plan.seed, id);
            session.begin(script);
            let start = (u128::from(plan.phases.ramp_up_ns) * u128::from(id) / u128::from(sessions)) as u64;
            let chance = Stream::new(plan.seed, id, Purpose::Embedded);
            Player { session, chance, started: start, ended: start }
        })
        .collect()
}

/// One operation of one session, users changing as needed; returns when it ends.
fn advance(player: &mut Player, plan: &Plan, script: &Script, server: &Server, books: &mut Books) -> u64 {
    let (state, pause) = loop {
        match player.session.next(script) {
            Step::Perform { state, pause } => break (state, pause),
            Step::End(departure) => {
                books.departure(player.ended, departure, player.session.operations());
                player.session.begin(script);
            }
        }
    };
    let next_start = |pause| plan.workload.pacing.next_start(pause, player.started, player.ended);
    let start = pause.map_or(player.ended, next_start);
    let operation = script.places[state].operation;
    let end = start + response(server, operation, &mut player.chance);
    books.operation(operation, start, end, pause);
    (player.started, player.ended) = (start, end);
    end
}

fn response(server: &Server, operation: usize, chance: &mut Stream) -> u64 {
    match server {
        Server::Fixed { response_ns } => *response_ns,
        Server::Exponential { mean_ns } => (-(1.0 - chance.unit()).ln() * *mean_ns as f64) as u64,
        Server::Table { response_ns } => response_ns[operation],
    }
    .max(1)
}

impl Books {
    fn departure(&mut self, at: u64, departure: Departure, operations: u32) {
        if self.steady.contains(&at) {
            self.sessions.finished += 1;
            self.sessions.abandoned += u64::from(departure == Departure::Abandoned);
            self.sessions.operations_in_finished += u64::from(operations);
        }
    }

    fn operation(&mut self, operation: usize, start: u64, end: u64, pause: Option<u64>) {
        if self.steady.contains(&start) {
            self.starts += 1;
            if let Some(pause) = pause {
                self.pauses += 1;
                self.pause_ns += u128::from(pause);
            }
        }
        let kind = match Window::of(start, Some(end), self.steady.clone()) {
            Window::Inside => 0,
            Window::CutAtStart => 1,
            Window::CutAtEnd => 2,
            Window::Outside => return,
        };
        self.counts[operation][kind] += 1;
        if kind < 2 {
            self.response_ns += u128::from(end - start);
        }
    }
}

fn summarize(plan: &Plan, books: &Books) -> Option<Simulated> {
    let total: u64 = books.counts.iter().map(|counts| counts[0] + counts[1]).sum();
    if total == 0 {
        return None;
    }
    let seconds = plan.phases.steady_ns as f64 / 1e9;
    let shares = plan.workload.operations.iter().zip(&books.counts).map(|(operation, counts)| {
        let count = counts[0] + counts[1];
        OperationShare {
            name: operation.name.clone(),
            count,
            share_pct: 100.0 * count as f64 / total as f64,
            inside: counts[0],
            cut_at_start: counts[1],
            cut_at_end: counts[2],
        }
    });
    let finished = books.sessions.finished;
    let per_s = total as f64 / seconds;
    Some(Simulated {
        workload: plan.workload.name.clone(),
        sessions: plan.sessions,
        seconds,
        seed: plan.seed,
        operations: shares.collect(),
        operations_total: total,
        operations_per_s: per_s,
        operations_per_s_per_session: per_s / f64::from(plan.sessions),
        sessions_finished: finished,
        sessions_abandoned: books.sessions.abandoned,
        operations_per_session: books.sessions.operations_in_finished as f64 / finished.max(1) as f64,
        mean_response_s: books.response_ns as f64 / total as f64 / 1e9,
        mean_pause_s: books.pause_ns as f64 / books.pauses.max(1) as f64 / 1e9,
        paused_share_pct: 100.0 * books.pauses as f64 / books.starts.max(1) as f64,
    })
}
