//! A plan rehearsed in virtual time against a modelled station: the events of a run, without sockets and without waiting.
//!
//! Unlike `simulate`, sessions meet here: they queue at the station, so everything is played in order of time, by an
//! agenda. Lag and CPU are zero, since nothing is measured of the driver itself.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io::Write;

use anyhow::{ensure, Context, Result};
use loadstone_record::event::{CpuShare, EndReason, Event, Moment, PartNames, EVENT_SCHEMA};
use loadstone_record::recorder::{Outcome, SessionCounts};
use loadstone_record::{Fault, Recorder};
use loadstone_schedule::arrivals::{self, Arrivals};
use loadstone_schedule::plan::{Load, PacingKind, Part, Phases, Plan};
use loadstone_schedule::rng::scramble;
use loadstone_schedule::session::{Departure, Script, Session, Step};
use loadstone_schedule::station::{Admission, Layout, Station};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::{name_of, stays};
use crate::operation::{grade, is_overdue};
use crate::report::ticks;

/// What to rehearse.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rehearsal {
    pub plan: Plan,
    /// Serves all operations of all parts.
    pub station: Layout,
}

/// Plays a rehearsal and writes its events to `out`. `start_unix_ns` is what the start event says.
pub fn rehearse(rehearsal: &Rehearsal, start_unix_ns: u64, out: &mut dyn Write) -> Result<EndReason> {
    let plan = &rehearsal.plan;
    ensure!(!plan.parts.is_empty(), "the plan has no part");
    ensure!(plan.phases.are_sane(), "the plan's phases are longer than ten years");
    rehearsal.station.check()?;
    let scripts = plan.parts.iter().map(compile).collect::<Result<Vec<_>>>()?;
    let mut stage = Stage::new(rehearsal, &scripts);
    let mut write = |event: &Event| -> Result<()> {
        serde_json::to_writer(&mut *out, event)?;
        out.write_all(b"\n").context("nobody reads the events any more")
    };
    write(&Event::Start {
        schema: EVENT_SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        threads: 1,
        drivers: 1,
        parts: stage.books.iter().map(|book| book.names.clone()).collect(),
        start_unix_ns,
        clock_cost_ns: 0.0,
        timer_slack_ns: 0,
    })?;
    stage.populate();
    let mut phase = None;
    for (from_ns, at_ns) in ticks(&plan.phases) {
        let now = plan.phases.at(from_ns);
        if phase.replace(now) != Some(now) {
            write(&Event::Phase { phase: name_of(now), at_ns: from_ns })?;
        }
        stage.play_until(at_ns);
        stage.report(from_ns, at_ns).iter().try_for_each(&mut write)?;
    }
    stage.conclude().iter().try_for_each(&mut write)?;
    write(&Event::End { at_ns: plan.phases.end(), reason: EndReason::Completed })?;
    Ok(EndReason::Completed)
}

fn compile(part: &Part) -> Result<Script> {
    let script = Script::compile(&part.workload)?;
    if let Load::Arrivals { path, .. } = &part.load {
        arrivals::check(path)?;
        ensure!(!script.is_endless(), "sessions that never end cannot arrive at a rate");
    }
    Ok(script)
}

/// What is due at an instant.
#[derive(Debug)]
enum Due {
    /// The next of a part's arrivals.
    Arrival { part: usize },
    /// A new user at a place.
    Begin { actor: usize },
    /// An operation, after a pause or at once.
    Start { actor: usize, operation: usize, pause: Option<u64> },
    /// An operation's answer is there.
    End { actor: usize, outcome: Outcome },
}

/// An entry of the agenda; those of one instant keep their order.
struct Entry {
    at_ns: u64,
    serial: u64,
    due: Due,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.serial).cmp(&(self.at_ns, self.serial)) // the heap's greatest is the earliest
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.serial == other.serial
    }
}

impl Eq for Entry {}

/// A place a user sits at: for ever in a population, for one visit where users arrive.
struct Actor {
    part: usize,
    session: Session,
    stop_ns: u64,
    is_visitor: bool,
    started_ns: u64,
    ended_ns: u64,
    before: Option<usize>,
    under_way: Option<(usize, u64)>,
}

/// One part's books and the state of its arrivals.
struct Book<'a> {
    part: &'a Part,
    script: &'a Script,
    names: PartNames,
    recorder: Recorder,
    arrivals: Option<(Arrivals<'a>, u64)>,
    active: u64,
}

struct Stage<'a> {
    phases: Phases,
    seed: u64,
    station: Station,
    busy_ns: u64,
    books: Vec<Book<'a>>,
    actors: Vec<Actor>,
    /// Places of visitors that have left.
    free: Vec<usize>,
    agenda: BinaryHeap<Entry>,
    serial: u64,
}

impl<'a> Stage<'a> {
    fn new(rehearsal: &'a Rehearsal, scripts: &'a [Script]) -> Self {
        let plan = &rehearsal.plan;
        let steady = plan.phases.steady_start()..plan.phases.steady_end();
        let books = plan.parts.iter().zip(scripts).map(|(part, script)| {
            let operations: Vec<String> = part.workload.operations.iter().map(|one| one.name.clone()).collect();
            let recorder = Recorder::new(operations.len(), steady.clone());
            let names = PartNames { workload: part.workload.name.clone(), operations };
            Book { part, script, names, recorder, arrivals: None, active: 0 }
        });
        Stage {
            phases: plan.phases,
            seed: plan.seed,
            station: Station::new(rehearsal.station, scramble(plan.seed)),
            busy_ns: 0,
            books: books.collect(),
            actors: Vec::new(),
            free: Vec::new(),
            agenda: BinaryHeap::new(),
            serial: 0,
        }
    }

    fn plan(&mut self, at_ns: u64, due: Due) {
        self.serial += 1;
        self.agenda.push(Entry { at_ns, serial: self.serial, due });
    }

    fn populate(&mut self) {
        for number in 0..self.books.len() {
            let part = self.books[number].part;
            match &part.load {
                Load::Population { sessions } => {
                    for stay in stays(self.phases, u64::from(*sessions), 0, 1) {
                        let session = Session::new(self.books[number].script, self.seed, stay.id);
                        let actor = self.seat(Actor::new(number, session, stay.stop_ns, false));
                        self.plan(stay.start_ns, Due::Begin { actor });
                        self.books[number].active += 1;
                    }
                }
                Load::Arrivals { process, path, .. } => {
                    let instants = Arrivals::new(*process, path, self.seed, number as u64);
                    self.books[number].arrivals = Some((instants, 0));
                    self.await_arrival(number);
                }
            }
        }
    }

    fn seat(&mut self, actor: Actor) -> usize {
        match self.free.pop() {
            Some(at) => {
                self.actors[at] = actor;
                at
            }
            None => {
                self.actors.push(actor);
                self.actors.len() - 1
            }
        }
    }

    fn await_arrival(&mut self, part: usize) {
        let next = self.books[part].arrivals.as_mut().and_then(|(instants, _)| instants.next());
        if let Some(at_ns) = next {
            self.plan(at_ns, Due::Arrival { part });
        }
    }

    /// Plays everything that is due before `until_ns`.
    fn play_until(&mut self, until_ns: u64) {
        while self.agenda.peek().is_some_and(|entry| entry.at_ns < until_ns) {
            let Some(Entry { at_ns, due, .. }) = self.agenda.pop() else { return };
            match due {
                Due::Arrival { part } => self.arrive(at_ns, part),
                Due::Begin { actor } => self.begin(at_ns, actor),
                Due::Start { actor, operation, pause } => self.start(at_ns, actor, operation, pause),
                Due::End { actor, outcome } => self.end(at_ns, actor, &outcome),
            }
        }
    }

    fn arrive(&mut self, at_ns: u64, part: usize) {
        self.await_arrival(part);
        let book = &mut self.books[part];
        book.recorder.sessions(at_ns, SessionCounts { due: 1, ..SessionCounts::default() });
        let Load::Arrivals { most_sessions, data_sessions, .. } = &book.part.load else { return };
        let Some((_, number)) = book.arrivals.as_mut() else { return };
        let (arrival, owners) = (*number, *data_sessions);
        *number += 1;
        if book.active >= u64::from(*most_sessions) {
            return book.recorder.operation(&Outcome::failed(0, at_ns, at_ns + 1, Fault::NoSessions));
        }
        book.active += 1;
        let mut session = Session::new(book.script, self.seed, 0);
        session.arrive(self.seed, arrival, owners);
        let actor = self.seat(Actor::new(part, session, self.phases.end(), true));
        self.begin(at_ns, actor);
    }

    fn begin(&mut self, at_ns: u64, number: usize) {
        let actor = &mut self.actors[number];
        let book = &mut self.books[actor.part];
        if at_ns >= actor.stop_ns {
            book.active = book.active.saturating_sub(1);
            return;
        }
        actor.session.begin(book.script);
        (actor.started_ns, actor.ended_ns, actor.before) = (at_ns, at_ns, None);
        book.recorder.sessions(at_ns, SessionCounts { begun: 1, ..SessionCounts::default() });
        self.go_on(at_ns, number);
    }

    /// Decides what a user does next.
    fn go_on(&mut self, now_ns: u64, number: usize) {
        let actor = &mut self.actors[number];
        let book = &mut self.books[actor.part];
        match actor.session.next(book.script) {
            Step::Perform { state, pause } => {
                let pacing = book.part.workload.pacing;
                let next = |pause| pacing.next_start(pause, actor.started_ns, actor.ended_ns);
                let at_ns = pause.map_or(actor.ended_ns, next);
                let operation = book.script.places[state].operation;
                if at_ns < actor.stop_ns {
                    self.plan(at_ns, Due::Start { actor: number, operation, pause });
                } else {
                    book.active = book.active.saturating_sub(1);
                }
            }
            Step::End(departure) => {
                let abandoned = u64::from(departure == Departure::Abandoned);
                let operations_in_finished = u64::from(actor.session.operations());
                let change = SessionCounts { finished: 1, abandoned, operations_in_finished, ..Default::default() };
                book.recorder.sessions(now_ns, change);
                self.leave(now_ns, number);
            }
        }
    }

    /// A user goes; in a population the next one comes at `next_ns`.
    fn leave(&mut self, next_ns: u64, number: usize) {
        let actor = &self.actors[number];
        if actor.is_visitor {
            self.books[actor.part].active -= 1;
            self.free.push(number);
        } else {
            self.plan(next_ns, Due::Begin { actor: number });
        }
    }

    fn start(&mut self, at_ns: u64, number: usize, operation: usize, pause: Option<u64>) {
        let actor = &mut self.actors[number];
        let recorder = &mut self.books[actor.part].recorder;
        recorder.lag(at_ns, 0);
        recorder.request(at_ns);
        if let Some(pause) = pause {
            let kept_ns = at_ns - actor.ended_ns;
            recorder.pause(at_ns, kept_ns, kept_ns);
            let is_paced = self.books[actor.part].part.workload.pacing.kind == PacingKind::Cycle;
            if let Some(before) = actor.before.filter(|_| is_paced) {
                self.books[actor.part].recorder.cycle(at_ns, before, pause, at_ns - actor.started_ns);
            }
        }
        actor.before = Some(operation);
        actor.started_ns = at_ns;
        actor.under_way = Some((operation, at_ns));
        let limit = &self.books[actor.part].part.workload.operations[operation].limit;
        let outcome = match self.station.admit(at_ns) {
            Admission::Refused => Outcome::failed(operation, at_ns, at_ns + 1, Fault::Status),
            Admission::Served { end_ns, is_error: true, .. } => {
                Outcome::failed(operation, at_ns, end_ns.max(at_ns + 1), Fault::Status)
            }
            Admission::Served { end_ns, .. } => {
                let end_ns = end_ns.max(at_ns + 1);
                let grade = grade(limit, end_ns - at_ns, 0);
                Outcome { grade, ..Outcome::answered(operation, at_ns, end_ns) }
            }
        };
        self.plan(outcome.end_ns, Due::End { actor: number, outcome });
    }

    fn end(&mut self, at_ns: u64, number: usize, outcome: &Outcome) {
        let actor = &mut self.actors[number];
        let book = &mut self.books[actor.part];
        (actor.ended_ns, actor.under_way) = (at_ns, None);
        book.recorder.operation(outcome);
        if outcome.fault.is_none() {
            return self.go_on(at_ns, number);
        }
        book.recorder.sessions(at_ns, SessionCounts { broken: 1, ..SessionCounts::default() });
        actor.session.break_off();
        // As in a real run, the next user takes this one's pause.
        let next_ns = at_ns + actor.session.draw_pause(book.script);
        self.leave(next_ns, number);
    }

    /// The events of an interval that is over.
    fn report(&mut self, from_ns: u64, at_ns: u64) -> Vec<Event> {
        if at_ns == self.phases.steady_end() {
            self.note_overdue(at_ns);
        }
        let length_ns = at_ns - from_ns;
        let phase = name_of(self.phases.at(from_ns));
        let busy_ns = self.station.busy_ns(at_ns);
        let mut events = Vec::new();
        for book in &mut self.books {
            let moment =
                Moment { at_ns, length_ns, phase: phase.clone(), sessions_active: book.active, connections_open: 0 };
            let interval = book.recorder.take_interval();
            events.push(Event::interval(&book.names.workload, moment, &interval, idle()));
        }
        let workers = self.station.workers();
        events.push(Event::Station { at_ns, length_ns, workers, busy_ns: busy_ns - self.busy_ns });
        self.busy_ns = busy_ns;
        events
    }

    fn note_overdue(&mut self, now_ns: u64) {
        for actor in &self.actors {
            let book = &mut self.books[actor.part];
            if let Some((operation, intended_ns)) = actor.under_way {
                if is_overdue(&book.part.workload.operations[operation].limit, now_ns - intended_ns) {
                    book.recorder.overdue(operation);
                }
            }
        }
    }

    fn conclude(&mut self) -> Vec<Event> {
        for actor in &self.actors {
            if let Some((operation, intended_ns)) = actor.under_way {
                self.books[actor.part].recorder.unfinished(operation, intended_ns);
            }
        }
        let steady_ns = self.phases.steady_ns;
        self.books.iter().map(|book| Event::totals(&book.names, steady_ns, &book.recorder.totals, idle())).collect()
    }
}

fn idle() -> CpuShare {
    CpuShare { threads: vec![0.0] }
}

impl Actor {
    fn new(part: usize, session: Session, stop_ns: u64, is_visitor: bool) -> Self {
        Actor { part, session, stop_ns, is_visitor, started_ns: 0, ended_ns: 0, before: None, under_way: None }
    }
}
