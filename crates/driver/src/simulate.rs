//! The same schedule in virtual time against a modelled server: no sockets, no waiting.
//!
//! A modelled server answers each operation by itself, so sessions do not touch each other: each is played from its
//! beginning to the end of the steady state, one after the other, on as many threads as the plan has. The cost of an
//! operation does not depend on how many sessions there are, and memory not at all.
//!
//! Operations are counted when they end in the steady state, which is without bias for their shares however
//! long some of them last; those that also started in it are counted beside.

use anyhow::{bail, Context, Result};
use loadstone_record::Total;
use loadstone_schedule::arrivals::{self, Arrivals};
use loadstone_schedule::plan::{Load, Part, Plan};
use loadstone_schedule::rng::{Purpose, Stream};
use loadstone_schedule::rules::Rules;
use loadstone_schedule::session::{Script, Session};
use loadstone_schedule::session_loop::{SessionLoop, Turn};
use loadstone_schedule::slots::Values;
use loadstone_schedule::stationary::{earlier, mean_visit_ns, Earlier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sums::{SimulatedTotals, SteadySums, WindowCounts};

mod sums;

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

/// What to simulate: the plan's first part.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    pub plan: Plan,
    pub server: Server,
}

/// How often one operation was performed.
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
    /// From starts of it to the starts of what came next, where starts are paced: the mean as drawn and as kept.
    pub cycle_drawn_s: f64,
    pub cycle_actual_s: f64,
}

/// What the simulation of independent sessions found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Simulated {
    pub workload: String,
    /// Sessions of a closed population, or those that arrived in the steady state.
    pub sessions: u64,
    pub seconds: f64,
    pub seed: u64,
    pub operations: Vec<OperationShare>,
    pub operations_total: u64,
    /// Simulated at all, the lead-in included.
    pub operations_performed: u64,
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
    session_loop: SessionLoop,
    chance: Stream,
}

/// What all threads play.
struct Stage<'a> {
    seed: u64,
    part: &'a Part,
    script: Script,
    server: &'a Server,
    ramp_up_ns: u64,
    end_ns: u64,
    /// The mean length of a visit; 0 where visits have no end.
    visit_ns: u64,
}

/// Plays the plan in virtual time.
pub fn simulate(simulation: &Simulation) -> Result<Simulated> {
    let plan = &simulation.plan;
    let part = plan.parts.first().context("the plan has no part")?;
    anyhow::ensure!(plan.phases.are_sane(), "the plan's phases are longer than ten years");
    anyhow::ensure!(!part.load.changes(), "a changing number of sessions is not supported in simulations");
    let operations = part.workload.operations.len();
    if let Server::Table { response_ns } = &simulation.server {
        if response_ns.len() != operations {
            bail!("the server's table has {} entries for {operations} operations", response_ns.len());
        }
    }
    let mut stage = Stage {
        seed: plan.seed,
        part,
        script: Script::compile(&part.workload)?,
        server: &simulation.server,
        ramp_up_ns: plan.phases.ramp_up_ns,
        end_ns: plan.phases.steady_end(),
        visit_ns: 0,
    };
    let visit_ns = mean_visit_ns(&stage.rules(), plan.seed, &stage.times());
    stage.visit_ns = visit_ns;
    if let Load::Arrivals { process, path, .. } = &part.load {
        arrivals::check(*process, path)?;
        anyhow::ensure!(!stage.script.is_endless(), "sessions that never end cannot arrive at a rate");
    }
    let empty = SteadySums::new(plan.phases.steady_start()..plan.phases.steady_end(), operations);
    let threads = u64::from(plan.threads.max(1));
    let sums = std::thread::scope(|scope| {
        let play = |index| {
            let (stage, mut sums) = (&stage, empty.clone());
            scope.spawn(move || {
                stage.play(index, threads, &mut sums);
                sums
            })
        };
        let workers: Vec<_> = (0..threads).map(play).collect();
        workers.into_iter().map(|worker| worker.join()).collect::<Result<Vec<_>, _>>()
    });
    let parts = sums.map_err(|_| anyhow::anyhow!("a thread of the simulation panicked"))?;
    let mut whole = empty;
    parts.iter().for_each(|part| whole.totals.merge(&part.totals));
    summarize(plan, part, &whole.totals).context("nothing was measured")
}

impl Stage<'_> {
    /// Plays every `of`-th session of the population or of the arrivals.
    fn play(&self, index: u64, of: u64, sums: &mut SteadySums) {
        match &self.part.load {
            Load::Population { sessions, .. } => {
                let sessions = u64::from(*sessions);
                for id in (index..sessions).step_by(of as usize) {
                    let start = (u128::from(self.ramp_up_ns) * u128::from(id) / u128::from(sessions)) as u64;
                    self.resident(id, start, sums);
                }
            }
            Load::Arrivals { process, path, data_sessions, .. } => {
                let mut session = Session::new(&self.script, self.seed, 0);
                for user in earlier(*process, path, self.seed, 0, self.visit_ns) {
                    if user.number % of == index && user.at_ns < self.end_ns {
                        session.arrive(self.seed, user.number, *data_sessions);
                        session = self.visitor(session, user, sums);
                    }
                }
                for (number, at) in (0..).zip(Arrivals::new(*process, path, self.seed, 0)) {
                    if number % of == index && at < self.end_ns {
                        session.arrive(self.seed, number, *data_sessions);
                        sums.arrival(at);
                        session = self.visitor(session, Earlier { number, at_ns: at, age_ns: 0 }, sums);
                    }
                }
            }
        }
    }

    /// A place of the population: user after user.
    fn resident(&self, id: u64, start: u64, sums: &mut SteadySums) {
        let chance = Stream::new(self.seed, id, Purpose::Embedded);
        let session = Session::new(&self.script, self.seed, id);
        let mut player = Player { session_loop: SessionLoop::new(session, u64::MAX), chance };
        player.session_loop.settle(&self.rules(), self.seed, id, self.visit_ns, &self.times());
        let mut free_ns = start;
        while free_ns < self.end_ns {
            self.visit(&mut player, free_ns, sums);
            free_ns = player.session_loop.ended_ns();
        }
    }

    /// One user that arrives and leaves.
    fn visitor(&self, session: Session, user: Earlier, sums: &mut SteadySums) -> Session {
        let chance = Stream::new(self.seed, user.number, Purpose::Embedded);
        let mut player = Player { session_loop: SessionLoop::new(session, u64::MAX), chance };
        let turns = &mut player.session_loop;
        if user.age_ns == 0 || turns.is_under_way(&self.rules(), &self.times(), user.age_ns).is_ok() {
            self.visit(&mut player, user.at_ns, sums);
        }
        player.session_loop.session
    }

    /// What operations take on the mean.
    fn times(&self) -> impl Fn(usize, &Values) -> u64 + '_ {
        |operation, _| mean_response(self.server, operation)
    }

    /// One user's operations, until it leaves or the steady state is over.
    fn visit(&self, player: &mut Player, from_ns: u64, sums: &mut SteadySums) {
        let (rules, turns) = (self.rules(), &mut player.session_loop);
        turns.begin(&rules, from_ns);
        while turns.ended_ns() < self.end_ns {
            match turns.next(&rules) {
                Turn::Perform { operation, at_ns } => {
                    let end_ns = at_ns + response(self.server, operation, &mut player.chance);
                    sums.operation(operation, at_ns, end_ns, turns.pause());
                    sums.cycle(at_ns, turns.sent(&rules, operation, at_ns));
                    turns.ended(end_ns);
                }
                Turn::CatchUp { .. } => {} // a modelled server remembers nobody
                Turn::TakeUp { operation, at_ns, midway } => {
                    let end_ns = at_ns + (midway.of_ns - midway.done_ns).max(1);
                    sums.taken_up(operation, end_ns, midway.of_ns);
                    turns.ended(end_ns);
                }
                Turn::Leave { departure, operations } => {
                    return sums.departure(turns.ended_ns(), departure, operations);
                }
                Turn::Stop { .. } => return,
            }
        }
    }

    fn rules(&self) -> Rules<'_> {
        Rules::of(self.part, &self.script)
    }
}

fn mean_response(server: &Server, operation: usize) -> u64 {
    match server {
        Server::Fixed { response_ns } => *response_ns,
        Server::Exponential { mean_ns } => *mean_ns,
        Server::Table { response_ns } => response_ns[operation],
    }
}

fn response(server: &Server, operation: usize, chance: &mut Stream) -> u64 {
    match server {
        Server::Fixed { response_ns } => *response_ns,
        Server::Exponential { mean_ns } => (-(1.0 - chance.unit()).ln() * *mean_ns as f64) as u64,
        Server::Table { response_ns } => response_ns[operation],
    }
    .max(1)
}

fn summarize(plan: &Plan, part: &Part, sums: &SimulatedTotals) -> Option<Simulated> {
    let total: u64 = sums.windows.iter().map(WindowCounts::ended).sum();
    if total == 0 {
        return None;
    }
    let seconds = plan.phases.steady_ns as f64 / 1e9;
    let counted = sums.windows.iter().zip(&sums.cycles);
    let shares = part.workload.operations.iter().zip(counted).map(|(operation, (windows, cycles))| {
        let mean_s = |sum_ns: u64| sum_ns as f64 / cycles.count.max(1) as f64 / 1e9;
        let count = windows.ended();
        OperationShare {
            name: operation.name.clone(),
            count,
            share_pct: 100.0 * count as f64 / total as f64,
            inside: windows.inside,
            cut_at_start: windows.cut_at_start,
            cut_at_end: windows.cut_at_end,
            cycle_drawn_s: mean_s(cycles.drawn_ns),
            cycle_actual_s: mean_s(cycles.actual_ns),
        }
    });
    let finished = sums.sessions.finished;
    let per_s = total as f64 / seconds;
    let sessions = match &part.load {
        Load::Population { sessions, .. } => u64::from(*sessions),
        Load::Arrivals { .. } => sums.sessions.due,
    };
    Some(Simulated {
        workload: part.workload.name.clone(),
        sessions,
        seconds,
        seed: plan.seed,
        operations: shares.collect(),
        operations_total: total,
        operations_performed: sums.performed,
        operations_per_s: per_s,
        operations_per_s_per_session: per_s / sessions.max(1) as f64,
        sessions_finished: finished,
        sessions_abandoned: sums.sessions.abandoned,
        operations_per_session: sums.sessions.operations_in_finished as f64 / finished.max(1) as f64,
        mean_response_s: sums.response_ns as f64 / total as f64 / 1e9,
        mean_pause_s: sums.pause_ns as f64 / sums.pauses.max(1) as f64 / 1e9,
        paused_share_pct: 100.0 * sums.pauses as f64 / sums.starts.max(1) as f64,
    })
}
