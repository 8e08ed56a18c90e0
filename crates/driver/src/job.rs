//! One workload of a plan, made ready for all threads: operations compiled, addresses resolved. It never changes, but
//! for the time of day and the dates of files, which are learned before the start.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use loadstone_schedule::arrivals;
use loadstone_schedule::line::Rates;
use loadstone_schedule::plan::{Connections, GeneratorKind, Load, Part, Phases, Plan, Protocol, Scheme};
use loadstone_schedule::rng::seed_of_part;
use loadstone_schedule::rules::Rules;
use loadstone_schedule::session::Script;
use loadstone_schedule::slots::Values;
use loadstone_schedule::stationary::mean_visit_ns;

use crate::mail::MailWorkload;
use crate::operation::Compiled;
use crate::server::Server;
use crate::withheld::Withheld;

/// The dates of one machine's files, by the place where a file's is remembered, as the server wrote them.
pub type Dates = Vec<Option<Box<str>>>;

/// One workload of a plan, made ready; one for all threads.
pub struct Job {
    /// Its number in the plan.
    pub number: usize,
    pub part: Part,
    pub phases: Phases,
    pub seed: u64,
    pub log_starts: usize,
    pub log_operations: usize,
    /// Whether every exchange is told.
    pub traces: bool,
    pub script: Script,
    pub withheld: Withheld,
    pub operations: Vec<Compiled>,
    /// The machines that users are dealt to; a plan without a target has one that is nowhere.
    pub servers: Vec<Server>,
    /// What mail users share; none for other protocols.
    pub mail: Option<Arc<MailWorkload>>,
    /// The mean length of a visit where nobody waits; 0 where visits have no end.
    pub visit_ns: u64,
    /// Files whose date is remembered.
    pub remembered: usize,
    /// Their dates, by machine; unset until they are learned, and where nothing is asked for conditionally.
    pub dates: OnceLock<Vec<Dates>>,
}

impl Job {
    /// Compiles all workloads of a plan and resolves their targets' addresses.
    pub fn all(plan: &Plan) -> Result<Vec<Arc<Job>>> {
        anyhow::ensure!(!plan.parts.is_empty(), "the plan has no part");
        anyhow::ensure!(plan.phases.are_sane(), "the plan's phases are longer than ten years");
        let parts = plan.parts.iter().enumerate();
        parts.map(|(number, part)| Self::prepare(plan, number, part).map(Arc::new)).collect()
    }

    /// Sessions of a population on all threads; 0 where users arrive.
    pub fn sessions(&self) -> u64 {
        match self.part.load {
            Load::Population { sessions, .. } => u64::from(sessions),
            Load::Arrivals { .. } => 0,
        }
    }

    /// Compiles all workloads of a plan, which may lack targets and secrets, and forgets them.
    pub fn check(plan: &Plan) -> Result<()> {
        for part in &plan.parts {
            let script = Script::compile(&part.workload)?;
            Compiled::all(&part.workload.operations, &script)?;
            mail_of(plan, part)?;
        }
        Ok(())
    }

    fn prepare(plan: &Plan, number: usize, part: &Part) -> Result<Self> {
        let script = Script::compile(&part.workload)?;
        for value in &part.workload.values {
            if let (GeneratorKind::Secret { variable, .. }, None) = (&value.kind, value.secret()) {
                anyhow::bail!("the plan lacks the value of the variable {variable}");
            }
        }
        if let Load::Arrivals { process, path, .. } = &part.load {
            arrivals::check(*process, path)?;
            let name = &part.workload.name;
            anyhow::ensure!(!script.is_endless(), "sessions of {name} never end, so they cannot arrive at a rate");
        }
        let (operations, remembered) = Compiled::all(&part.workload.operations, &script)?;
        let protocol = part.workload.connections.protocol;
        let servers = Server::all(&part.targets, protocol)?;
        let mail = mail_of(plan, part)?;
        let mut job = Job {
            mail,
            visit_ns: 0,
            number,
            part: part.clone(),
            phases: plan.phases,
            seed: seed_of_part(plan.seed, number),
            log_starts: plan.log_starts as usize,
            log_operations: plan.log_operations as usize,
            traces: plan.trace,
            withheld: Withheld::new(&script.secrets),
            script,
            operations,
            servers,
            remembered,
            dates: OnceLock::new(),
        };
        for operation in &job.operations {
            let Compiled { name, scheme, .. } = operation;
            anyhow::ensure!(job.uses(*scheme), "operation {name} needs {scheme:?}, but the target has none");
        }
        let sends = job.mail.as_ref().is_some_and(|mail| mail.sends());
        anyhow::ensure!(
            !sends || job.servers.iter().all(|server| server.delivery.is_some()),
            "{} sends mail, but the target accepts none",
            job.part.workload.name
        );
        job.note_epoch(0); // until the clock starts
        job.visit_ns = mean_visit_ns(&job.rules(), job.seed, &|operation, values| job.line_ns(operation, values));
        Ok(job)
    }

    /// Notes the time of day for values that tell it, `now_ns` after the start of the clock.
    pub fn note_epoch(&self, now_ns: u64) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        self.script.epoch_ms.store(since.saturating_sub(now_ns / 1_000_000), Ordering::Relaxed);
    }

    /// How long an operation's bytes alone need on its user's line.
    pub fn line_ns(&self, operation: usize, values: &Values) -> u64 {
        self.operations[operation].line_ns(values, &self.rates())
    }

    /// Whether the server must know of an operation that was over when its user was found.
    pub fn leaves_traces(&self, operation: usize, is_first: bool) -> bool {
        match &self.mail {
            Some(mail) => mail.verbs[operation].is_of_connection(),
            None => self.operations[operation].leaves_traces(is_first),
        }
    }

    /// The speed of a user's line.
    pub fn rates(&self) -> Rates {
        let Connections { page_bytes_per_s: page, embedded_bytes_per_s: embedded, parallel, .. } = *self.policy();
        Rates { page, embedded, parallel: usize::from(parallel) }
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
