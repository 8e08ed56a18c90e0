//! What sessions share: for all threads the plan compiled and the addresses, for one thread the timer and the ledger.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Result;
use loadstone_record::event::Event;
use loadstone_record::{Fault, Recorder};
use loadstone_schedule::arrivals;
use loadstone_schedule::plan::{Connections, Load, Part, Phases, Plan, Protocol, Scheme};
use loadstone_schedule::rng::{seed_of_part, Purpose, Stream};
use loadstone_schedule::session::Script;
use loadstone_schedule::session_loop::Rules;

use crate::clock::Clock;
use crate::ledger::AuditLedger;
use crate::mail::MailWorkload;
use crate::operation::{is_overdue, Compiled};
use crate::scratch::Scratch;
use crate::server::Server;
use crate::timer::Timer;

/// Samples of trouble reported for each operation and kind by one thread.
const MOST_SAMPLES: u32 = 3;

/// One workload of a plan, made ready; one for all threads.
pub struct Job {
    /// Its number in the plan.
    pub number: usize,
    pub part: Part,
    pub phases: Phases,
    pub seed: u64,
    pub log_starts: usize,
    pub script: Script,
    pub operations: Vec<Compiled>,
    /// The machines that users are dealt to; a plan without a target has one that is nowhere.
    pub servers: Vec<Server>,
    /// What mail users share; none for other protocols.
    pub mail: Option<Arc<MailWorkload>>,
    remembered: usize,
}

impl Job {
    /// Compiles all workloads of a plan and resolves their targets' addresses.
    pub fn all(plan: &Plan) -> Result<Vec<Arc<Job>>> {
        anyhow::ensure!(!plan.parts.is_empty(), "the plan has no part");
        anyhow::ensure!(plan.phases.are_sane(), "the plan's phases are longer than ten years");
        let parts = plan.parts.iter().enumerate();
        parts.map(|(number, part)| Self::prepare(plan, number, part).map(Arc::new)).collect()
    }

    fn prepare(plan: &Plan, number: usize, part: &Part) -> Result<Self> {
        let script = Script::compile(&part.workload)?;
        if let Load::Arrivals { path, .. } = &part.load {
            arrivals::check(path)?;
            let name = &part.workload.name;
            anyhow::ensure!(!script.is_endless(), "sessions of {name} never end, so they cannot arrive at a rate");
        }
        let (operations, remembered) = Compiled::all(&part.workload.operations, &script)?;
        let protocol = part.workload.connections.protocol;
        let servers = Server::all(&part.targets, protocol)?;
        let mail = mail_of(plan, part)?;
        let job = Job {
            mail,
            number,
            part: part.clone(),
            phases: plan.phases,
            seed: seed_of_part(plan.seed, number),
            log_starts: plan.log_starts as usize,
            script,
            operations,
            servers,
            remembered,
        };
        for operation in &job.operations {
            let Compiled { name, scheme, .. } = operation;
            anyhow::ensure!(job.uses(*scheme), "operation {name} needs {scheme:?}, but the target has none");
        }
        Ok(job)
    }

    /// The machine of the `number`th session of all.
    pub fn server_of(&self, number: u64) -> usize {
        (number % self.servers.len() as u64) as usize
    }

    /// Whether there may be connections of this scheme.
    pub fn uses(&self, scheme: Scheme) -> bool {
        self.servers.iter().all(|server| server.destination(scheme).is_some())
            || self.policy().protocol == Protocol::Null
    }

    /// How its users open and keep connections.
    pub fn policy(&self) -> &Connections {
        &self.part.workload.connections
    }

    /// What its session loops share.
    pub fn rules(&self) -> Rules<'_> {
        Rules::of(&self.part, &self.script)
    }

    /// The workload's name.
    pub fn name(&self) -> &str {
        &self.part.workload.name
    }
}

/// What mail users share; none for other protocols.
fn mail_of(plan: &Plan, part: &Part) -> Result<Option<Arc<MailWorkload>>> {
    if part.workload.connections.protocol != Protocol::Imap {
        return Ok(None);
    }
    let name = &part.workload.name;
    anyhow::ensure!(
        matches!(part.load, Load::Population { .. }),
        "{name} needs a number of sessions: each has its mailboxes"
    );
    let scale = part.workload.mailboxes.as_ref();
    let scale = scale.ok_or_else(|| anyhow::anyhow!("{name} speaks IMAP, so it needs mailboxes"))?;
    Ok(Some(Arc::new(MailWorkload::new(scale, &part.workload.operations, plan.seed)?)))
}

/// What all sessions of a thread share, whatever they play.
#[derive(Clone)]
pub struct Common {
    pub clock: Clock,
    pub timer: Timer,
    pub scratch: Rc<RefCell<Scratch>>,
}

/// What one thread's sessions of one workload share.
pub struct Shared {
    pub job: Arc<Job>,
    pub clock: Clock,
    pub timer: Timer,
    pub scratch: Rc<RefCell<Scratch>>,
    pub recorder: RefCell<Recorder>,
    pub active: Cell<u64>,
    pub open: Cell<u64>,
    /// Per local session: the operation under way and its intended start.
    pub under_way: RefCell<Vec<Option<(usize, u64)>>>,
    /// Memory for kept heads of bodies.
    pub heads: RefCell<Vec<Vec<u8>>>,
    /// The first starts of the steady state: intended and actual.
    pub starts: RefCell<Vec<(u64, u64)>>,
    /// What the server must hold.
    pub ledger: RefCell<AuditLedger>,
    dates: RefCell<Vec<Option<Rc<str>>>>,
    dealt: RefCell<Vec<f64>>,
    handshakes: Cell<f64>,
    samples: RefCell<HashMap<(usize, Fault), u32>>,
    troubles: RefCell<Vec<Event>>,
}

impl Shared {
    /// Nothing was played yet.
    pub fn new(job: Arc<Job>, common: Common) -> Self {
        let steady = job.phases.steady_start()..job.phases.steady_end();
        let mut chance = Stream::new(job.seed, 0, Purpose::Embedded);
        Shared {
            recorder: RefCell::new(Recorder::new(job.operations.len(), steady)),
            active: Cell::new(0),
            open: Cell::new(0),
            under_way: RefCell::default(),
            heads: RefCell::default(),
            starts: RefCell::default(),
            ledger: RefCell::new(AuditLedger::new(&job.operations)),
            dates: RefCell::new(vec![None; job.remembered]),
            dealt: RefCell::new((0..job.remembered).map(|_| chance.unit()).collect()),
            handshakes: Cell::new(chance.unit()),
            samples: RefCell::default(),
            troubles: RefCell::default(),
            job,
            clock: common.clock,
            timer: common.timer,
            scratch: common.scratch,
        }
    }

    /// Makes room for one more session; returns its number on this thread.
    pub fn slot(&self) -> usize {
        let mut under_way = self.under_way.borrow_mut();
        under_way.push(None);
        under_way.len() - 1
    }

    /// Whether the next TLS connection is one of those declared not to resume; dealt evenly.
    pub fn deal_full_handshake(&self) -> bool {
        let dealt = self.handshakes.get() + self.job.policy().full_handshakes;
        self.handshakes.set(if dealt >= 1.0 { dealt - 1.0 } else { dealt });
        dealt >= 1.0
    }

    /// An operation starts at `now_ns`, meant for `intended_ns`.
    pub fn note_start(&self, now_ns: u64, intended_ns: u64) {
        let mut recorder = self.recorder.borrow_mut();
        recorder.lag(now_ns, now_ns.saturating_sub(intended_ns));
        if self.job.log_starts > 0 && recorder.is_steady(intended_ns) {
            let mut starts = self.starts.borrow_mut();
            if starts.len() < self.job.log_starts {
                starts.push((intended_ns, now_ns));
            }
        }
    }

    /// The date a file had when it was last fetched, as the server wrote it.
    pub fn date(&self, memory: Option<usize>) -> Option<Rc<str>> {
        memory.and_then(|at| self.dates.borrow()[at].clone())
    }

    /// Whether this request for a file is conditional. They are dealt evenly, not drawn: of any n requests for a
    /// file, n x `share` are conditional, give or take one, so that a short run has the declared bytes too.
    pub fn deal(&self, memory: Option<usize>, share: f64) -> bool {
        let Some(at) = memory else { return false };
        let mut dealt = self.dealt.borrow_mut();
        dealt[at] += share;
        let asks = dealt[at] >= 1.0;
        dealt[at] -= if asks { 1.0 } else { 0.0 };
        asks
    }

    /// Keeps the date that came with a file, for later conditional requests.
    pub fn remember_date(&self, memory: Option<usize>, date: Option<String>) {
        if let (Some(at), Some(date)) = (memory, date) {
            let mut dates = self.dates.borrow_mut();
            if dates[at].as_deref() != Some(date.as_str()) {
                dates[at] = Some(date.into());
            }
        }
    }

    /// Notes what went wrong, a few times for each operation and kind.
    pub fn trouble(&self, operation: usize, kind: Fault, detail: &str) {
        let mut samples = self.samples.borrow_mut();
        let seen = samples.entry((operation, kind)).or_default();
        *seen += 1;
        if *seen <= MOST_SAMPLES {
            let operation = self.job.operations[operation].name.clone();
            let (part, detail) = (self.job.name().to_owned(), detail.to_owned());
            let event = Event::Trouble { part, at_ns: self.clock.now(), operation, kind, detail };
            self.troubles.borrow_mut().push(event);
        }
    }

    /// Counts the operations under way that have already passed their tolerable time: a server that never answers
    /// must not pass for want of answers.
    pub fn note_overdue(&self, now_ns: u64) {
        for (operation, intended_ns) in self.under_way.borrow().iter().flatten() {
            if is_overdue(&self.job.operations[*operation].limit, now_ns.saturating_sub(*intended_ns)) {
                self.recorder.borrow_mut().overdue(*operation);
            }
        }
    }

    /// The samples of trouble noted since they were last taken.
    pub fn take_troubles(&self) -> Vec<Event> {
        std::mem::take(&mut self.troubles.borrow_mut())
    }
}

/// Counts something open for as long as it lives.
pub struct Counted<'a>(&'a Cell<u64>);

impl<'a> Counted<'a> {
    /// Counts one more until it is dropped.
    pub fn new(counter: &'a Cell<u64>) -> Self {
        counter.set(counter.get() + 1);
        Counted(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
