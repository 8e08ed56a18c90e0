//! Running a plan: one event loop a thread, each with its share of the sessions; the main thread merges their
//! counts every second and writes events.

use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, Result};
use loadstone_record::event::{EndReason, Event, EVENT_SCHEMA};
use loadstone_schedule::plan::{Load, Phases, Plan, PopulationStage, Scheme};
use loadstone_schedule::population::presence;
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

use crate::client::dates;
use crate::clock::{kernel_ns, thread_cpu_ns, Clock};
use crate::gate::{Gate, Gatekeeper};
use crate::job::Job;
use crate::join::Setting;
use crate::mail;
use crate::record_writer::{write, RecordWriter};
use crate::report::{ticks, Report};
use crate::session::{run_arrivals, run_session, Admission, SessionWindow, BEGUN_NS};
use crate::shared::{Common, Shared};
use crate::timer::{slack_ns, Timer};

/// Most operations of a thread's loop between two looks at the kernel.
const EVENTS_A_TURN: u32 = 16;

/// Runs a plan and writes its events to `out`. `Interrupted` when a signal ended it early.
pub fn run(setting: Box<dyn Setting>, out: &mut dyn Write) -> Result<EndReason> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = runtime.block_on(async { Signals::new() })?;
    let prepared = apart(&mut signals, move || {
        let mut setting = setting;
        setting.prepare().map(|(plan, members)| (setting, plan, members))
    });
    let Some((setting, plan, members)) = runtime.block_on(prepared)? else {
        return Ok(EndReason::Interrupted);
    };
    let jobs = Job::all(&plan)?;
    let filled = async {
        tokio::select! {
            filled = prepare(&jobs, &plan) => filled.map(Some),
            () = signals.any() => Ok(None),
        }
    };
    if runtime.block_on(LocalSet::new().run_until(filled))?.is_none() {
        return Ok(EndReason::Interrupted);
    }
    let slack = runtime.block_on(LocalSet::new().run_until(calibrate()))?;
    let threads = plan.threads.max(1);
    let (stop, stopped) = watch::channel(false);
    let (start, started) = watch::channel(None);
    let (sender, mut reports) = mpsc::unbounded_channel();
    let (readiness, ready) = mpsc::unbounded_channel();
    let mut workers = Vec::new();
    for index in 0..threads {
        let (started, stopped) = (started.clone(), stopped.clone());
        let work = Work { plan: plan.clone(), jobs: jobs.clone(), index, started, stopped };
        let (sender, readiness) = (sender.clone(), readiness.clone());
        let worker = std::thread::Builder::new().name(format!("driver-{index}"));
        workers.push(worker.spawn(move || work.run(&sender, readiness))?);
    }
    drop(readiness);
    if !runtime.block_on(are_ready(ready, threads, &mut reports, &mut signals))? {
        return Ok(EndReason::Interrupted);
    }
    let gathered = apart(&mut signals, move || {
        let (mut setting, mut members) = (setting, members);
        setting.gather(&mut members).map(|()| (setting, members))
    });
    let Some((setting, members)) = runtime.block_on(gathered)? else {
        return Ok(EndReason::Interrupted);
    };
    if setting.waits() {
        write(out, &Event::Ready { schema: EVENT_SCHEMA })?;
    }
    let agreed = apart(&mut signals, move || {
        let (mut setting, mut members) = (setting, members);
        setting.agree(&mut members).map(|clock| (clock, members))
    });
    let Some((clock, members)) = runtime.block_on(agreed)? else {
        return Ok(EndReason::Interrupted);
    };
    let _ = start.send(Some(clock));
    let (drivers, clock_bound_ns) = (plan.member.of.max(1) as usize, members.clock_bound_ns());
    let sources = threads as usize + members.len();
    let lines = members.follow(&plan, &sender);
    drop(sender);
    let mut writer = RecordWriter::new(&plan, out, sources);
    writer.start(clock, slack, (drivers, clock_bound_ns))?;
    let end_early = || {
        let _ = stop.send(true);
        lines.stop();
    };
    let outcome = runtime.block_on(collect(&mut writer, signals, reports, end_early));
    for worker in workers {
        worker.join().map_err(|_| anyhow::anyhow!("a driver thread panicked"))?;
    }
    let reason = outcome?;
    writer.finish(clock.now(), reason)?;
    Ok(reason)
}

/// Works on a thread of its own, since that may mean waiting for others; none when a signal came first.
async fn apart<T: Send + 'static>(
    signals: &mut Signals,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<Option<T>> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::Builder::new().name("prepare".into()).spawn(move || {
        let _ = sender.send(work());
    })?;
    tokio::select! {
        done = receiver => done.context("preparing the run panicked")?.map(Some),
        () = signals.any() => Ok(None),
    }
}

/// What users did before the run: they have mail, and files in their browsers.
async fn prepare(jobs: &[Arc<Job>], plan: &Plan) -> Result<()> {
    populate(jobs, plan).await?;
    dates::learn(jobs).await
}

/// Fills the mailboxes of the sessions that this driver plays.
async fn populate(jobs: &[Arc<Job>], plan: &Plan) -> Result<()> {
    for job in jobs {
        let (Some(mail), Load::Population { sessions, .. }) = (&job.mail, &job.part.load) else { continue };
        let ours = (0..u64::from(*sessions)).filter(|&id| plan.member.plays(id, plan.threads));
        let address = |id: u64| job.servers[job.server_of(id)].destination(Scheme::Http).map(|to| (id, to.address(id)));
        mail::populate::populate(mail, ours.filter_map(address)).await?;
    }
    Ok(())
}

/// Waits until all threads' sessions are ready; false when a signal came first.
async fn are_ready(
    mut ready: mpsc::UnboundedReceiver<()>,
    threads: u32,
    reports: &mut mpsc::UnboundedReceiver<Report>,
    signals: &mut Signals,
) -> Result<bool> {
    for _ in 0..threads {
        let is_ready = tokio::select! {
            said = ready.recv() => said.is_some(),
            () = signals.any() => return Ok(false),
        };
        if !is_ready {
            let Ok(Report::Failed(message)) = reports.try_recv() else { anyhow::bail!("a driver thread is gone") };
            anyhow::bail!("{message}");
        }
    }
    Ok(true)
}

async fn calibrate() -> Result<u64> {
    let timer = Timer::new(Clock::starting_in(0))?;
    tokio::task::spawn_local(timer.clone().run());
    Ok(slack_ns(&timer).await)
}

/// Requests to end early, listened for from the very beginning.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

async fn collect(
    writer: &mut RecordWriter<'_>,
    mut signals: Signals,
    mut reports: mpsc::UnboundedReceiver<Report>,
    mut end_early: impl FnMut(),
) -> Result<EndReason> {
    let mut reason = EndReason::Completed;
    loop {
        let report = tokio::select! {
            report = reports.recv() => report,
            () = signals.any() => Some(Report::Interrupted),
        };
        match report {
            None => return Ok(reason),
            Some(Report::Interrupted) => {
                reason = EndReason::Interrupted;
                end_early();
            }
            Some(Report::Failed(message)) => {
                end_early();
                anyhow::bail!("{message}");
            }
            Some(report) => writer.take(report)?,
        }
    }
}

/// What one thread has to do.
struct Work {
    plan: Plan,
    jobs: Vec<Arc<Job>>,
    index: u32,
    /// The clock, once all drivers have agreed on it.
    started: watch::Receiver<Option<Clock>>,
    stopped: watch::Receiver<bool>,
}

impl Work {
    fn run(self, sender: &mpsc::UnboundedSender<Report>, readiness: mpsc::UnboundedSender<()>) {
        let built = tokio::runtime::Builder::new_current_thread().enable_io().event_interval(EVENTS_A_TURN).build();
        let result = built
            .map_err(anyhow::Error::from)
            .and_then(|runtime| runtime.block_on(LocalSet::new().run_until(self.play(sender, readiness))));
        if let Err(error) = result {
            let _ = sender.send(Report::Failed(format!("a driver thread failed: {error:#}")));
        }
    }

    /// Waits for the start; none when the run ends before it.
    async fn clock(&mut self, keeper: &mut Gatekeeper, readiness: mpsc::UnboundedSender<()>) -> Option<Clock> {
        let begin = async {
            keeper.ready().await;
            readiness.send(()).ok()?;
            *self.started.wait_for(Option::is_some).await.ok()?
        };
        tokio::select! {
            clock = begin => clock,
            _ = self.stopped.wait_for(|&stop| stop) => None,
        }
    }

    async fn play(
        mut self,
        sender: &mpsc::UnboundedSender<Report>,
        readiness: mpsc::UnboundedSender<()>,
    ) -> Result<()> {
        let phases = self.plan.phases;
        let timer = Timer::new(Clock::standing())?;
        tokio::task::spawn_local(timer.clone().run());
        let common = Common { timer: timer.clone(), scratch: Rc::default() };
        let all: Vec<_> = self.jobs.iter().map(|job| Rc::new(Shared::new(job.clone(), common.clone()))).collect();
        let (gate, mut keeper) = Gate::closed(self.jobs.iter().map(|job| job.sessions()).sum::<u64>() / self.threads());
        all.iter().for_each(|shared| self.populate(shared, &gate));
        drop(gate);
        let Some(clock) = self.clock(&mut keeper, readiness).await else { return Ok(()) };
        timer.set_clock(clock);
        all.iter().for_each(|shared| shared.begin());
        self.jobs.iter().for_each(|job| job.note_epoch(timer.now()));
        keeper.open();
        tokio::task::spawn_local(watch_gaps(timer.clone(), all.clone()));
        if self.plan.member.of > 1 && self.index == 0 {
            tokio::task::spawn_local(tell_start(timer.clone(), clock));
        }
        let (mut steady_from, mut steady_cpu, mut steady_until) = (None, 0, 0);
        let mut last = (clock.now(), thread_cpu_ns());
        for (number, (from_ns, at_ns)) in ticks(&phases).enumerate() {
            if from_ns == phases.steady_start() {
                steady_from = Some(thread_cpu_ns());
            }
            let ended = tokio::select! {
                () = timer.sleep_until(at_ns) => false,
                _ = self.stopped.wait_for(|&stop| stop) => true,
                () = traced_visit_ends(&timer, &all) => true,
            };
            let now = (clock.now(), thread_cpu_ns());
            let cpu = (now.1 - last.1) as f64 / now.0.saturating_sub(last.0).max(1) as f64;
            last = now;
            if let Some(from) = steady_from.filter(|_| from_ns < phases.steady_end()) {
                steady_cpu = now.1 - from;
                steady_until = now.0;
                if ended || at_ns == phases.steady_end() {
                    all.iter().for_each(|shared| shared.note_overdue(now.0));
                }
            }
            let sent = all.iter().all(|shared| shared.report(sender, number, at_ns.min(now.0), cpu));
            if !sent || ended {
                break;
            }
        }
        let steady_ns = steady_until.min(phases.steady_end()).saturating_sub(phases.steady_start());
        let steady_cpu = steady_cpu as f64 / steady_ns.max(1) as f64;
        all.iter().for_each(|shared| shared.conclude(sender, steady_ns, steady_cpu));
        Ok(())
    }

    /// Threads of all drivers.
    fn threads(&self) -> u64 {
        u64::from(self.plan.threads.max(1)) * u64::from(self.plan.member.of.max(1))
    }

    /// Starts this thread's sessions of one workload: every n-th of the population, or of the arrivals.
    fn populate(&self, shared: &Rc<Shared>, gate: &Gate) {
        let member = self.plan.member;
        let of = self.threads();
        let index = u64::from(member.index) * u64::from(self.plan.threads.max(1)) + u64::from(self.index);
        match &shared.job.part.load {
            Load::Population { sessions, path } => {
                for window in session_windows((self.plan.phases, path), u64::from(*sessions), index, of) {
                    tokio::task::spawn_local(run_session(shared.clone(), window, gate.clone()));
                }
            }
            Load::Arrivals { process, path, most_sessions, data_sessions } => {
                let most = (*most_sessions as usize).div_ceil(of as usize);
                let admission = Admission { index, of, most, owners: *data_sessions };
                let (shared, gate, process, path) = (shared.clone(), gate.clone(), *process, path.clone());
                tokio::task::spawn_local(async move {
                    gate.pass().await;
                    run_arrivals(shared, admission, process, &path).await;
                });
            }
        }
    }
}

/// Says when this driver really began, for whoever compares it with others.
async fn tell_start(timer: Timer, clock: Clock) {
    timer.sleep_until(BEGUN_NS).await;
    let now_ns = kernel_ns(rustix::time::ClockId::Monotonic);
    let late_ns = now_ns.saturating_sub(clock.to_monotonic(0));
    eprintln!("began at {now_ns} ns of the monotonic clock, {late_ns} ns after the agreed start");
}

/// How often a thread looks whether a traced visit has ended.
const LOOK_NS: u64 = 5_000_000;

/// Waits until a traced visit has ended; forever where none is traced.
async fn traced_visit_ends(timer: &Timer, all: &[Rc<Shared>]) {
    if !all.iter().any(|shared| shared.job.traces) {
        return std::future::pending().await;
    }
    while !all.iter().any(|shared| shared.job.traces && shared.is_over.get()) {
        timer.sleep_until(timer.now() + LOOK_NS).await;
    }
}

/// How often a thread looks whether it was let run.
const HEARTBEAT_NS: u64 = 20_000_000;

/// Notes for how long the thread did not run although it had something to do: a beat of its heart that comes late.
async fn watch_gaps(timer: Timer, all: Vec<Rc<Shared>>) {
    loop {
        let due_ns = timer.now() + HEARTBEAT_NS;
        timer.sleep_until(due_ns).await;
        let now_ns = timer.now();
        all.iter().for_each(|shared| shared.recorder.borrow_mut().gap(now_ns, now_ns.saturating_sub(due_ns)));
    }
}

/// Every `of`-th session of a population, with its place in ramp-up and ramp-down.
pub(crate) fn session_windows(
    (phases, path): (Phases, &[PopulationStage]),
    sessions: u64,
    index: u64,
    of: u64,
) -> impl Iterator<Item = SessionWindow> + use<'_> {
    let (first, last) = match (path.first(), path.last()) {
        (Some(first), Some(last)) => (u64::from(first.from), u64::from(last.to)),
        _ => (sessions, sessions),
    };
    (index..sessions).step_by(of as usize).filter_map(move |id| {
        let part = |length: u64, all: u64| (u128::from(length) * u128::from(id) / u128::from(all.max(1))) as u64;
        let (lead_ns, end_ns) = (phases.steady_start(), phases.steady_end());
        let mut times: Vec<_> = match path.is_empty() {
            true => std::iter::once(lead_ns..end_ns).collect(),
            false => presence(path, id).into_iter().map(|time| lead_ns + time.start..lead_ns + time.end).collect(),
        };
        if let Some(time) = times.last_mut().filter(|time| time.end == end_ns) {
            time.end += part(phases.ramp_down_ns, last);
        }
        let mut times = times.into_iter();
        let first_time = times.next()?;
        let is_new = first_time.start > lead_ns;
        let start_ns = if is_new { first_time.start } else { part(phases.ramp_up_ns, first) };
        Some(SessionWindow { id, start_ns, stop_ns: first_time.end, is_new, later: times.collect() })
    })
}

impl Shared {
    /// Hands over the running second; false when nobody takes it.
    fn report(&self, sender: &mpsc::UnboundedSender<Report>, number: usize, at_ns: u64, cpu: f64) -> bool {
        for event in self.take_troubles().into_iter().chain(self.take_operations()) {
            let _ = sender.send(Report::Event(Box::new(event)));
        }
        let interval = Box::new(self.recorder.borrow_mut().take_interval());
        let (part, active, open, cpu) = (self.job.number, self.active.get(), self.open.get(), vec![cpu]);
        sender.send(Report::Interval { part, number, at_ns, interval, active, open, cpu }).is_ok()
    }

    /// Hands over the steady state; what is still under way never ended.
    fn conclude(&self, sender: &mpsc::UnboundedSender<Report>, steady_ns: u64, cpu: f64) {
        let now_ns = self.now();
        for under_way in self.under_way.borrow().iter().flatten() {
            self.recorder.borrow_mut().unfinished(
                under_way.operation,
                (under_way.intended_ns, under_way.before_ns),
                now_ns,
            );
            self.ledger.borrow_mut().doubted(under_way.operation);
            self.never_ended(under_way.operation, under_way.intended_ns);
        }
        if let Some(event) = self.take_operations() {
            let _ = sender.send(Report::Event(Box::new(event)));
        }
        for event in self.ledger.borrow().events(self.job.name(), &self.job.operations) {
            let _ = sender.send(Report::Event(Box::new(event)));
        }
        let starts = std::mem::take(&mut *self.starts.borrow_mut());
        if !starts.is_empty() {
            let (intended_ns, actual_ns) = starts.into_iter().unzip();
            let part = self.job.name().to_owned();
            let _ = sender.send(Report::Event(Box::new(Event::Starts { part, intended_ns, actual_ns })));
        }
        let totals = Box::new(std::mem::take(&mut self.recorder.borrow_mut().totals));
        let _ = sender.send(Report::Totals { part: self.job.number, totals, cpu: vec![cpu], steady_ns });
    }
}
