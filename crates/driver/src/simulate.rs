//! The same schedule in virtual time against a modelled server: no sockets, no waiting.
//!
//! A modelled server answers each operation by itself, so sessions do not touch each other: each is played from its
//! beginning to the end of the steady state, one after the other, on as many threads as the plan has. The cost of an
//! operation does not depend on how many sessions there are, and memory not at all.
//!
//! Operations are counted when they end in the steady state, which is without bias for their shares however
//! long some of them last; those that also started in it are counted beside.

use anyhow::{bail, Context, Result};
use loadstone_record::recorder::SessionCounts;
use loadstone_record::Window;
use loadstone_schedule::arrivals::{self, Arrivals};
use loadstone_schedule::plan::{Load, Part, Plan};
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

/// What to simulate: the plan's first part.
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
    session: Session,
    chance: Stream,
    started: u64,
    ended: u64,
}

#[derive(Clone)]
struct Books {
    steady: std::ops::Range<u64>,
    counts: Vec<[u64; 3]>,
    sessions: SessionCounts,
    response_ns: u128,
    pause_ns: u128,
    pauses: u64,
    starts: u64,
    /// Operations performed at all, the lead-in included.
    performed: u64,
}

/// What all threads play.
struct Stage<'a> {
    seed: u64,
    part: &'a Part,
    script: Script,
    server: &'a Server,
    ramp_up_ns: u64,
    end_ns: u64,
}

/// Plays the plan in virtual time.
pub fn simulate(simulation: &Simulation) -> Result<Simulated> {
    let plan = &simulation.plan;
    let part = plan.parts.first().context("the plan has no part")?;
    anyhow::ensure!(plan.phases.are_sane(), "the plan's phases are longer than ten years");
    let operations = part.workload.operations.len();
    if let Server::Table { response_ns } = &simulation.server {
        if response_ns.len() != operations {
            bail!("the server's table has {} entries for {operations} operations", response_ns.len());
        }
    }
    let stage = Stage {
        seed: plan.seed,
        part,
        script: Script::compile(&part.workload)?,
        server: &simulation.server,
        ramp_up_ns: plan.phases.ramp_up_ns,
        end_ns: plan.phases.steady_end(),
    };
    if let Load::Arrivals { path, .. } = &part.load {
        arrivals::check(path)?;
        anyhow::ensure!(!stage.script.is_endless(), "sessions that never end cannot arrive at a rate");
    }
    let empty = Books::new(plan.phases.steady_start()..plan.phases.steady_end(), operations);
    let threads = u64::from(plan.threads.max(1));
    let books = std::thread::scope(|scope| {
        let play = |index| {
            let (stage, mut books) = (&stage, empty.clone());
            scope.spawn(move || {
                stage.play(index, threads, &mut books);
                books
            })
        };
        let workers: Vec<_> = (0..threads).map(play).collect();
        workers.into_iter().map(|worker| worker.join()).collect::<Result<Vec<_>, _>>()
    });
    let parts = books.map_err(|_| anyhow::anyhow!("a thread of the simulation panicked"))?;
    let mut whole = empty;
    parts.iter().for_each(|part| whole.merge(part));
    summarize(plan, part, &whole).context("nothing was measured")
}

impl Stage<'_> {
    /// Plays every `of`-th session of the population or of the arrivals.
    fn play(&self, index: u64, of: u64, books: &mut Books) {
        match &self.part.load {
            Load::Population { sessions } => {
                let sessions = u64::from(*sessions);
                for id in (index..sessions).step_by(of as usize) {
                    let start = (u128::from(self.ramp_up_ns) * u128::from(id) / u128::from(sessions)) as u64;
                    self.resident(id, start, books);
                }
            }
            Load::Arrivals { process, path, data_sessions, .. } => {
                let mut session = Session::new(&self.script, self.seed, 0);
                for (number, at) in (0..).zip(Arrivals::new(*process, path, self.seed, 0)) {
                    if number % of == index && at < self.end_ns {
                        session.arrive(self.seed, number, *data_sessions);
                        session = self.visitor(session, number, at, books);
                    }
                }
            }
        }
    }

    /// A place of the population: user after user.
    fn resident(&self, id: u64, start: u64, books: &mut Books) {
        let chance = Stream::new(self.seed, id, Purpose::Embedded);
        let session = Session::new(&self.script, self.seed, id);
        let mut player = Player { session, chance, started: start, ended: start };
        while player.ended < self.end_ns {
            player.session.begin(&self.script);
            self.visit(&mut player, books);
        }
    }

    /// One user that arrives and leaves.
    fn visitor(&self, session: Session, number: u64, at: u64, books: &mut Books) -> Session {
        books.sessions.due += u64::from(books.steady.contains(&at));
        let chance = Stream::new(self.seed, number, Purpose::Embedded);
        let mut player = Player { session, chance, started: at, ended: at };
        player.session.begin(&self.script);
        self.visit(&mut player, books);
        player.session
    }

    /// One user's operations, until it leaves or the steady state is over.
    fn visit(&self, player: &mut Player, books: &mut Books) {
        let pacing = self.part.workload.pacing;
        while player.ended < self.end_ns {
            let (state, pause) = match player.session.next(&self.script) {
                Step::Perform { state, pause } => (state, pause),
                Step::End(departure) => {
                    return books.departure(player.ended, departure, player.session.operations());
                }
            };
            let start = pause.map_or(player.ended, |pause| pacing.next_start(pause, player.started, player.ended));
            let operation = self.script.places[state].operation;
            let end = start + response(self.server, operation, &mut player.chance);
            books.operation(operation, start, end, pause);
            (player.started, player.ended) = (start, end);
        }
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

impl Books {
    fn new(steady: std::ops::Range<u64>, operations: usize) -> Self {
        Books {
            steady,
            counts: vec![[0; 3]; operations],
            sessions: SessionCounts::default(),
            response_ns: 0,
            pause_ns: 0,
            pauses: 0,
            starts: 0,
            performed: 0,
        }
    }

    fn merge(&mut self, other: &Books) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        self.sessions.merge(&other.sessions);
        self.response_ns += other.response_ns;
        self.pause_ns += other.pause_ns;
        self.pauses += other.pauses;
        self.starts += other.starts;
        self.performed += other.performed;
    }

    fn departure(&mut self, at: u64, departure: Departure, operations: u32) {
        if self.steady.contains(&at) {
            self.sessions.finished += 1;
            self.sessions.abandoned += u64::from(departure == Departure::Abandoned);
            self.sessions.operations_in_finished += u64::from(operations);
        }
    }

    fn operation(&mut self, operation: usize, start: u64, end: u64, pause: Option<u64>) {
        self.performed += 1;
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

fn summarize(plan: &Plan, part: &Part, books: &Books) -> Option<Simulated> {
    let total: u64 = books.counts.iter().map(|counts| counts[0] + counts[1]).sum();
    if total == 0 {
        return None;
    }
    let seconds = plan.phases.steady_ns as f64 / 1e9;
    let shares = part.workload.operations.iter().zip(&books.counts).map(|(operation, counts)| {
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
    let sessions = match &part.load {
        Load::Population { sessions } => u64::from(*sessions),
        Load::Arrivals { .. } => books.sessions.due,
    };
    Some(Simulated {
        workload: part.workload.name.clone(),
        sessions,
        seconds,
        seed: plan.seed,
        operations: shares.collect(),
        operations_total: total,
        operations_performed: books.performed,
        operations_per_s: per_s,
        operations_per_s_per_session: per_s / sessions.max(1) as f64,
        sessions_finished: finished,
        sessions_abandoned: books.sessions.abandoned,
        operations_per_session: books.sessions.operations_in_finished as f64 / finished.max(1) as f64,
        mean_response_s: books.response_ns as f64 / total as f64 / 1e9,
        mean_pause_s: books.pause_ns as f64 / books.pauses.max(1) as f64 / 1e9,
        paused_share_pct: 100.0 * books.pauses as f64 / books.starts.max(1) as f64,
    })
}
