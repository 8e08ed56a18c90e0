//! One simulated user from arrival to departure, as a pure machine: `next` says what to do, the caller does it.

use crate::mix::{Chooser, Next};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::plan::{Field, Generator, Operation, Pacing, Pause, SocketStep, State, Workload};
use crate::rng::{Purpose, Stream};
use crate::slots::{Slot, Slots, Values};
use crate::template::Template;
use crate::values::{Drawer, Source};
use crate::{Nanos, PlanError};

const NANOS_PER_MS: Nanos = 1_000_000;

/// What the session does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Perform this state's operation after the drawn pause (`None`: at once).
    Perform { state: usize, pause: Option<Nanos> },
    /// The user session is over; call `begin` for the next one.
    End(Departure),
}

/// How a user session ends in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Departure {
    Finished,
    Abandoned,
}

/// A state compiled for the machine.
#[derive(Clone, Debug)]
pub struct Place {
    pub operation: usize,
    pub pause: Pause,
    pub set: Vec<(Slot, Template)>,
    /// What must not be empty, or it is passed over.
    when: Vec<Template>,
    least_pause_ns: Nanos,
    /// Whether what the user did before makes no difference after it: its browser forgets all it has.
    pub begins_anew: bool,
    /// The sources drawn before it: those its operation needs, in the order they are declared.
    due: Vec<usize>,
}

/// The parts of a workload that sessions share: compiled once, read by all.
#[derive(Clone, Debug)]
pub struct Script {
    pub slots: Slots,
    pub places: Vec<Place>,
    sources: Vec<Source>,
    chooser: Chooser,
    pacing: Pacing,
    /// What drivers send and never write down.
    pub secrets: Vec<String>,
    /// Milliseconds from 1970-01-01 to the start of the clock, which the driver sets; 0 in virtual time.
    pub epoch_ms: Arc<AtomicU64>,
}

impl Script {
    /// Compiles the mix, the values and the states of a workload.
    pub fn compile(workload: &Workload) -> Result<Self, PlanError> {
        let mut slots = Slots::default();
        for generator in &workload.values {
            Source::reserve(generator, &mut slots);
        }
        for operation in workload.operations.iter().flat_map(requests) {
            operation.extract.iter().for_each(|extract| {
                slots.intern(&extract.value);
            });
            operation.set.iter().for_each(|field| {
                slots.intern(&field.name);
            });
        }
        for field in workload.states.iter().flat_map(|state| &state.set) {
            slots.intern(&field.name);
        }
        let sources = workload.values.iter().map(|generator| Source::compile(generator, &slots));
        let sources: Vec<Source> = sources.collect::<Result<_, _>>()?;
        let states = workload.states.iter().enumerate();
        let places = states.map(|(index, state)| compile_place(index, state, workload, &slots, &sources));
        let places = places.collect::<Result<_, _>>()?;
        let chooser = Chooser::compile(&workload.mix, workload.states.len())?;
        if let Some(name) = must_come(&chooser, workload) {
            return Err(PlanError::invalid(
                format!("state {name}"),
                "only a sequence's later steps may be passed over",
            ));
        }
        let secrets = workload.values.iter().filter_map(Generator::secret).map(str::to_owned).collect();
        Ok(Script { slots, places, sources, chooser, pacing: workload.pacing, secrets, epoch_ms: Arc::default() })
    }

    /// Whether what comes next depends on what was before.
    pub fn is_chain(&self) -> bool {
        matches!(self.chooser, Chooser::Matrix { .. } | Chooser::Sequence { .. })
    }

    /// Whether a user's next operation depends on its values.
    pub fn depends_on_values(&self) -> bool {
        self.places.iter().any(|place| !place.when.is_empty())
    }

    /// Whether the mix has no end: one user session lasts for ever.
    pub fn is_endless(&self) -> bool {
        self.chooser.is_endless()
    }
}

/// A state that depends on values and must not: every session performs an operation, and the chances of other mixes are
/// declared.
fn must_come<'a>(chooser: &Chooser, workload: &'a Workload) -> Option<&'a str> {
    let depends = |at: &usize| !workload.states[*at].when.is_empty();
    let found = match chooser {
        Chooser::Sequence { states } => states.first().copied().filter(|at| depends(at)),
        Chooser::Matrix { .. } | Chooser::Flat { .. } => (0..workload.states.len()).find(|at| depends(at)),
    };
    found.map(|at| workload.states[at].name.as_str())
}

fn compile_place(
    index: usize,
    state: &State,
    workload: &Workload,
    slots: &Slots,
    sources: &[Source],
) -> Result<Place, PlanError> {
    let place = format!("state {}", state.name);
    let Some(operation) = workload.operations.get(state.operation as usize) else {
        return Err(PlanError::invalid(place, "its operation does not exist"));
    };
    let compile = |field: &Field| {
        let slot = slots.get(&field.name).unwrap_or(usize::MAX);
        Template::compile(&field.value, slots, &place).map(|template| (slot, template))
    };
    let set: Vec<(Slot, Template)> = state.set.iter().map(compile).collect::<Result<_, _>>()?;
    let when = state.when.iter().map(|text| Template::compile(text, slots, &place)).collect::<Result<Vec<_>, _>>()?;
    let mut used: HashSet<Slot> = set.iter().flat_map(|(_, template)| template.slots()).collect();
    for text in requests(operation).flat_map(texts).chain(conditions(operation)) {
        used.extend(Template::compile(text, slots, &format!("operation {}", operation.name))?.slots());
    }
    // A source may refer to those before it, so one pass from the last to the first finds all.
    let mut due = Vec::new();
    for (at, source) in sources.iter().enumerate().rev() {
        if source.is_due(index, &used) {
            due.push(at);
            used.extend(source.needs());
        }
    }
    due.reverse();
    let begins_anew = operation.before.iter().any(|request| request.forgets);
    Ok(Place {
        operation: state.operation as usize,
        pause: state.pause,
        set,
        when,
        least_pause_ns: state.least_pause_ns,
        begins_anew,
        due,
    })
}

/// An operation's page and the requests around it.
fn requests(operation: &Operation) -> impl Iterator<Item = &Operation> {
    std::iter::once(operation).chain(operation.before.iter().chain(&operation.after).map(|request| &request.page))
}

/// What its requests depend on.
fn conditions(operation: &Operation) -> impl Iterator<Item = &String> {
    operation.before.iter().chain(&operation.after).flat_map(|request| &request.when)
}

/// All texts of a page that may refer to values.
fn texts(operation: &Operation) -> impl Iterator<Item = &String> {
    let fields = [&operation.query, &operation.form, &operation.headers].into_iter().flatten();
    let expect = &operation.expect;
    std::iter::once(&operation.path)
        .chain(fields.map(|field| &field.value))
        .chain(&operation.body)
        .chain(&expect.title)
        .chain(&expect.contains)
        .chain(&expect.absent)
        .chain(&expect.bytes)
        .chain(expect.json.iter().filter_map(|wanted| wanted.is.as_ref()))
        .chain(operation.websocket.iter().filter_map(SocketStep::text))
        .chain(operation.endings.iter().flat_map(|ending| &ending.ledger))
        .chain(operation.embedded.iter().map(|file| &file.path))
        .chain(operation.extract.iter().filter_map(|extract| extract.pick.as_ref()))
        .chain(operation.set.iter().map(|field| &field.value))
        .chain(operation.uploads.iter().map(|upload| &upload.file_name))
}

/// A session's own state: where it is, its values and its random streams.
#[derive(Clone, Debug)]
pub struct Session {
    /// Whose share of the data it takes.
    owner: u64,
    visit: u64,
    done: u32,
    /// Operations that were passed over.
    passed: u32,
    state: usize,
    mix: Stream,
    pauses: Stream,
    drawing: Stream,
    /// How often each source was drawn; empty where no value is needed.
    drawn: Vec<u64>,
    /// When the operation that comes is due.
    pub(crate) due_ns: Nanos,
    pub values: Values,
}

impl Session {
    /// Session number `id` of a population. It has not begun; call `begin` first.
    pub fn new(script: &Script, seed: u64, id: u64) -> Self {
        Session {
            owner: id,
            visit: 0,
            done: 0,
            passed: 0,
            state: 0,
            mix: Stream::new(seed, id, Purpose::Mix),
            pauses: Stream::new(seed, id, Purpose::Pause),
            drawing: Stream::new(seed, id, Purpose::Values),
            drawn: vec![0; script.sources.len()],
            due_ns: 0,
            values: Values::new(script.slots.len()),
        }
    }

    /// The same session without values, for simulations that need none: it performs the same operations after the same
    /// pauses, as each purpose has a random stream of its own. The script must not depend on values.
    pub fn without_values(script: &Script, seed: u64, id: u64) -> Self {
        Session { drawn: Vec::new(), values: Values::new(0), ..Session::new(script, seed, id) }
    }

    /// Becomes the user session that arrives as number `arrival`, for one of `owners` shares of the data. What it
    /// does depends on that number alone. Call `begin` next.
    pub fn arrive(&mut self, seed: u64, arrival: u64, owners: u64) {
        (self.owner, self.visit) = (arrival % owners.max(1), arrival / owners.max(1));
        self.mix = Stream::new(seed, arrival, Purpose::Mix);
        self.pauses = Stream::new(seed, arrival, Purpose::Pause);
        self.drawing = Stream::new(seed, arrival, Purpose::Values);
        self.drawn.fill(0);
    }

    /// Starts the next user session: a new user, new session values.
    pub fn begin(&mut self, script: &Script) {
        (self.done, self.passed) = (0, 0);
        self.values.clear();
        for at in 0..self.drawn.len() {
            if script.sources[at].is_of_session() {
                self.draw(script, at);
            }
        }
    }

    /// Decides what comes next. A new user's first operation has no pause.
    pub fn next(&mut self, script: &Script) -> Step {
        let state = loop {
            match script.chooser.next(self.state, self.done + self.passed, &mut self.mix) {
                Next::State(state) if self.comes(&script.places[state]) => break state,
                Next::State(_) => self.passed += 1,
                Next::Finish => return self.depart(Departure::Finished),
                Next::Abandon => return self.depart(Departure::Abandoned),
            }
        };
        // A mix without an end has no user sessions to begin, so its first operation is paced as well.
        let pause = match script.places[state].pause {
            Pause::Drawn if self.done > 0 || self.visit == 0 && script.is_endless() => {
                let least_ns = if self.done > 0 { script.places[self.state].least_pause_ns } else { 0 };
                Some(script.pacing.draw_least(least_ns, &mut self.pauses))
            }
            _ => None,
        };
        self.state = state;
        self.done += 1;
        Step::Perform { state, pause }
    }

    fn comes(&self, place: &Place) -> bool {
        place.when.iter().all(|text| !text.text(&self.values).is_empty())
    }

    /// Draws the operation's values and applies what its state sets. Call before rendering its request.
    pub fn prepare(&mut self, script: &Script) {
        if self.values.is_empty() {
            return;
        }
        for &at in &script.places[self.state].due {
            self.draw(script, at);
        }
        for (slot, template) in &script.places[self.state].set {
            let text = template.text(&self.values);
            self.values.set(*slot, &text);
        }
    }

    /// How many operations this user session has been told to perform.
    pub fn operations(&self) -> u32 {
        self.done
    }

    /// Ends the user session because it can't go on (an error); the next `begin` is another user.
    pub fn break_off(&mut self) {
        self.visit += 1;
    }

    /// A pause outside the mix, used before a broken session is replaced.
    pub fn draw_pause(&mut self, script: &Script) -> Nanos {
        script.pacing.draw(&mut self.pauses)
    }

    fn depart(&mut self, departure: Departure) -> Step {
        self.visit += 1;
        Step::End(departure)
    }

    fn draw(&mut self, script: &Script, at: usize) {
        let unix_ms = script.epoch_ms.load(Ordering::Relaxed) + self.due_ns / NANOS_PER_MS;
        let who = Drawer { session: self.owner, visit: self.visit, drawn: self.drawn[at], unix_ms };
        self.drawn[at] += 1;
        script.sources[at].draw(who, &mut self.drawing, &mut self.values);
    }
}
