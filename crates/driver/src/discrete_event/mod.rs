//! A plan played in virtual time against a modelled station, as a discrete-event simulation: the events of a run, without
//! sockets and without waiting.
//!
//! Unlike `simulate`, sessions meet here: they queue at the station, so everything is played in order of time. Lag and
//! CPU are zero, since nothing is measured of the driver itself. The end of an operation is known when it is admitted;
//! if it lies in the running interval, it is recorded at once and is no event. Sessions have values only if what they do
//! next depends on them.

mod queue;
mod state;

use std::io::Write;

use anyhow::{ensure, Context, Result};
use loadstone_record::counts::SessionCounts;
use loadstone_record::event::{EndReason, Event, PartNames, EVENT_SCHEMA};
use loadstone_record::outcome::Outcome;
use loadstone_record::recorder::{CpuShare, IntervalRecord};
use loadstone_record::{Fault, PunctualRecorder};
use loadstone_schedule::arrivals::{self, Arrivals};
use loadstone_schedule::plan::{Load, Member, Part, Phases, Plan};
use loadstone_schedule::rng::{scramble, seed_of_part};
use loadstone_schedule::rules::Rules;
use loadstone_schedule::session::Script;
use loadstone_schedule::session_loop::Turn;
use loadstone_schedule::station::{Admission, Layout, Station};
use loadstone_schedule::stationary::{earlier, mean_visit_ns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::operation::{allowed_ns, grade};
use crate::record_writer::name_of;
use crate::report::ticks;
use crate::session::departed;
use crate::windows::session_windows;
use queue::EventQueue;
use state::{new_session, Due, PartState, SessionSlot, AT_ONCE};

/// What to simulate.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscreteEvents {
    pub plan: Plan,
    /// Serves all operations of all parts.
    pub station: Layout,
}

/// Plays a plan and writes its events to `out`. `start_unix_ns` is what the start event says.
pub fn play(simulation: &DiscreteEvents, start_unix_ns: u64, out: &mut dyn Write) -> Result<EndReason> {
    let plan = &simulation.plan;
    ensure!(!plan.parts.is_empty(), "the plan has no part");
    ensure!(plan.phases.are_sane(), "the plan's phases are longer than ten years");
    simulation.station.check()?;
    let scripts = plan.parts.iter().map(compile).collect::<Result<Vec<_>>>()?;
    let mut simulator = Simulator::new(simulation, &scripts);
    let mut write = |event: &Event| -> Result<()> {
        serde_json::to_writer(&mut *out, event)?;
        out.write_all(b"\n").context("the reader of the events is gone")
    };
    write(&Event::Start {
        schema: EVENT_SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        threads: 1,
        drivers: 1,
        parts: simulator.parts.iter().map(|part| part.names.clone()).collect(),
        start_unix_ns,
        clock_cost_ns: 0.0,
        timer_slack_ns: 0,
        clock_bound_ns: None,
    })?;
    simulator.populate();
    let mut phase = None;
    for (from_ns, at_ns) in ticks(&plan.phases) {
        let now = plan.phases.at(from_ns);
        if phase.replace(now) != Some(now) {
            write(&Event::Phase { phase: name_of(now), at_ns: from_ns })?;
        }
        simulator.play_until(at_ns);
        simulator.report(from_ns, at_ns).iter().try_for_each(&mut write)?;
    }
    simulator.conclude().iter().try_for_each(&mut write)?;
    write(&Event::End { at_ns: plan.phases.end(), reason: EndReason::Completed })?;
    Ok(EndReason::Completed)
}

fn compile(part: &Part) -> Result<Script> {
    anyhow::ensure!(!part.load.changes(), "a changing number of sessions is not supported in simulations");
    let script = Script::compile(&part.workload)?;
    if let Load::Arrivals { process, path, .. } = &part.load {
        arrivals::check(*process, path)?;
        ensure!(!script.is_endless(), "sessions that never end cannot arrive at a rate");
    }
    Ok(script)
}

struct Simulator<'a> {
    phases: Phases,
    /// Which share of the load is played; each share has a station of its own.
    member: Member,
    station: Station,
    busy_ns: u64,
    parts: Vec<PartState<'a>>,
    slots: Vec<SessionSlot>,
    /// Slots of visitors that have left.
    free: Vec<usize>,
    queue: EventQueue<Due>,
    /// End of the running interval.
    until_ns: u64,
}

impl<'a> Simulator<'a> {
    fn new(simulation: &'a DiscreteEvents, scripts: &'a [Script]) -> Self {
        let plan = &simulation.plan;
        let steady = plan.phases.steady_start()..plan.phases.steady_end();
        let parts = plan.parts.iter().zip(scripts).enumerate().map(|(number, (part, script))| {
            let operations: Vec<String> = part.workload.operations.iter().map(|one| one.name.clone()).collect();
            let recorder = PunctualRecorder::new(operations.len(), steady.clone());
            let names = PartNames { workload: part.workload.name.clone(), operations, files: Vec::new() };
            let (rules, seed) = (Rules::of(part, script), seed_of_part(plan.seed, number));
            let visit_ns = mean_visit_ns(&rules, seed, &AT_ONCE);
            PartState { part, seed, rules, visit_ns, names, recorder, arrivals: None, active: 0 }
        });
        Simulator {
            phases: plan.phases,
            member: plan.member,
            station: Station::new(simulation.station, scramble(plan.seed)),
            busy_ns: 0,
            parts: parts.collect(),
            slots: Vec::new(),
            free: Vec::new(),
            queue: EventQueue::new(),
            until_ns: 0,
        }
    }

    fn populate(&mut self) {
        let member = self.member;
        for number in 0..self.parts.len() {
            let part = self.parts[number].part;
            match &part.load {
                Load::Population { sessions, path } => {
                    let all = session_windows((self.phases, path), u64::from(*sessions), 0, 1);
                    for window in all.filter(|window| member.plays(window.id, 1)) {
                        let PartState { rules, seed, visit_ns, .. } = &self.parts[number];
                        let session = new_session(rules.script, *seed, window.id);
                        let mut slot = SessionSlot::new(number, session, window.stop_ns, false);
                        slot.session_loop.settle(rules, *seed, window.id, *visit_ns, &AT_ONCE);
                        let slot = self.take_slot(slot);
                        self.queue.push(window.start_ns, Due::Begin { slot: slot as u32 });
                        self.parts[number].active += 1;
                    }
                }
                Load::Arrivals { process, path, .. } => {
                    let PartState { seed, visit_ns, .. } = self.parts[number];
                    let instants = Arrivals::new(*process, path, seed, number as u64);
                    let found = earlier(*process, path, seed, number as u64, visit_ns);
                    for user in found.into_iter().filter(|user| member.plays(user.number, 1)) {
                        self.queue.push(user.at_ns, Due::Found { part: number as u32, user: Box::new(user) });
                    }
                    self.parts[number].arrivals = Some((instants, 0));
                    self.await_arrival(number);
                }
            }
        }
    }

    fn take_slot(&mut self, slot: SessionSlot) -> usize {
        match self.free.pop() {
            Some(at) => {
                self.slots[at] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        }
    }

    fn await_arrival(&mut self, part: usize) {
        let next = self.parts[part].arrivals.as_mut().and_then(|(instants, _)| instants.next());
        if let Some(at_ns) = next {
            self.queue.push(at_ns, Due::Arrival { part: part as u32 });
        }
    }

    /// Plays everything that is due before `until_ns`.
    fn play_until(&mut self, until_ns: u64) {
        self.until_ns = until_ns;
        while let Some((at_ns, due)) = self.queue.pop_before(until_ns) {
            match due {
                Due::Arrival { part } => self.arrive(at_ns, part as usize),
                Due::Found { part, user } => self.admit(at_ns, part as usize, user.number, user.age_ns),
                Due::Begin { slot } => self.begin(at_ns, slot as usize),
                Due::Start { slot, operation } => self.start(at_ns, slot as usize, operation as usize),
                Due::End { slot } => {
                    if let Some(outcome) = self.slots[slot as usize].under_way.take() {
                        self.end(&outcome, slot as usize);
                    }
                }
                Due::Leave { slot } => {
                    self.parts[self.slots[slot as usize].part].active -= 1;
                    self.free.push(slot as usize);
                }
            }
        }
    }

    fn arrive(&mut self, at_ns: u64, number: usize) {
        self.await_arrival(number);
        let part = &mut self.parts[number];
        let Some((_, next)) = part.arrivals.as_mut() else { return };
        let arrival = *next;
        *next += 1;
        if self.member.plays(arrival, 1) {
            part.recorder.sessions(at_ns, SessionCounts { due: 1, ..SessionCounts::default() });
            self.admit(at_ns, number, arrival, 0);
        }
    }

    /// Lets in a user that came `age_ns` ago, if it has not left meanwhile.
    fn admit(&mut self, at_ns: u64, number: usize, arrival: u64, age_ns: u64) {
        let part = &mut self.parts[number];
        let Load::Arrivals { most_sessions, data_sessions, .. } = &part.part.load else { return };
        if part.active >= u64::from(*most_sessions) {
            return part.recorder.end(&Outcome::failed(0, at_ns, at_ns + 1, Fault::NoSessions));
        }
        let mut session = new_session(part.rules.script, part.seed, 0);
        session.arrive(part.seed, arrival, *data_sessions);
        let mut slot = SessionSlot::new(number, session, self.phases.end(), true);
        if age_ns > 0 && slot.session_loop.is_under_way(&part.rules, &AT_ONCE, age_ns).is_err() {
            return;
        }
        part.active += 1;
        let slot = self.take_slot(slot);
        self.begin(at_ns, slot);
    }

    fn begin(&mut self, at_ns: u64, number: usize) {
        let slot = &mut self.slots[number];
        let part = &mut self.parts[slot.part];
        if at_ns >= slot.stop_ns {
            part.active = part.active.saturating_sub(1);
            return;
        }
        slot.session_loop.begin(&part.rules, at_ns);
        part.recorder.sessions(at_ns, SessionCounts { begun: 1, ..SessionCounts::default() });
        self.go_on(at_ns, number);
    }

    /// Plans what a user does next, after `now_ns`.
    fn go_on(&mut self, now_ns: u64, number: usize) {
        let slot = &mut self.slots[number];
        let part = &mut self.parts[slot.part];
        match slot.session_loop.next(&part.rules) {
            Turn::Perform { operation, at_ns } | Turn::TakeUp { operation, at_ns, .. } => {
                self.queue.push(at_ns, Due::Start { slot: number as u32, operation: operation as u32 });
            }
            Turn::CatchUp { .. } => self.go_on(now_ns, number), // a station remembers nobody
            Turn::Stop { .. } => part.active = part.active.saturating_sub(1),
            Turn::Leave { departure, operations } => {
                part.recorder.sessions(now_ns, departed(departure, operations));
                self.leave(now_ns, now_ns, number);
            }
        }
    }

    /// A user goes at `at_ns`; in a population the next one comes at `next_ns`.
    fn leave(&mut self, at_ns: u64, next_ns: u64, number: usize) {
        let slot = number as u32;
        match self.slots[number].is_visitor {
            true => self.queue.push(at_ns, Due::Leave { slot }),
            false => self.queue.push(next_ns, Due::Begin { slot }),
        }
    }

    fn start(&mut self, at_ns: u64, number: usize, operation: usize) {
        let slot = &mut self.slots[number];
        let part = &mut self.parts[slot.part];
        let kept = slot.session_loop.sent(&part.rules, operation, at_ns);
        part.recorder.start(at_ns, kept.pause, kept.cycle());
        let limit = &part.part.workload.operations[operation].limit;
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
        if outcome.end_ns < self.until_ns {
            return self.end(&outcome, number);
        }
        self.queue.push(outcome.end_ns, Due::End { slot: number as u32 });
        slot.under_way = Some(Box::new(outcome));
    }

    /// Records an operation that ends in the running interval, and plans what its user does next.
    fn end(&mut self, outcome: &Outcome, number: usize) {
        let at_ns = outcome.end_ns;
        let slot = &mut self.slots[number];
        let part = &mut self.parts[slot.part];
        part.recorder.end(outcome);
        if outcome.fault.is_none() {
            slot.session_loop.ended(at_ns);
            return self.go_on(at_ns, number);
        }
        part.recorder.sessions(at_ns, SessionCounts { broken: 1, ..SessionCounts::default() });
        let next_ns = slot.session_loop.broke(&part.rules, at_ns);
        self.leave(at_ns, next_ns, number);
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
        for part in &mut self.parts {
            events.push(Event::Interval(Box::new(IntervalRecord {
                part: part.names.workload.clone(),
                at_ns,
                length_ns,
                phase: phase.clone(),
                sessions_active: part.active,
                connections_open: 0,
                cpu: no_cpu(),
                ..part.recorder.take_interval()
            })));
        }
        let workers = self.station.workers();
        events.push(Event::Station { at_ns, length_ns, workers, busy_ns: busy_ns - self.busy_ns });
        self.busy_ns = busy_ns;
        events
    }

    fn note_overdue(&mut self, now_ns: u64) {
        for slot in &self.slots {
            let part = &mut self.parts[slot.part];
            if let Some(&Outcome { operation, intended_ns, .. }) = slot.under_way.as_deref() {
                let allowed_ns = allowed_ns(&part.part.workload.operations[operation].limit, None);
                if allowed_ns.is_some_and(|allowed_ns| now_ns - intended_ns > allowed_ns) {
                    part.recorder.overdue(operation);
                }
            }
        }
    }

    fn conclude(mut self) -> Vec<Event> {
        for slot in &self.slots {
            if let Some(&Outcome { operation, intended_ns, .. }) = slot.under_way.as_deref() {
                self.parts[slot.part].recorder.unfinished(operation, intended_ns, self.phases.end());
            }
        }
        let steady_ns = self.phases.steady_ns;
        let to_event =
            |PartState { names, recorder, .. }| Event::totals(&names, steady_ns, &recorder.finish(), no_cpu());
        self.parts.into_iter().map(to_event).collect()
    }
}

/// The driver's share of its core: it measures nothing here.
fn no_cpu() -> CpuShare {
    CpuShare { threads: vec![0.0] }
}
