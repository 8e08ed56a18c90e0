//! Running a plan: one event loop a thread, each with its share of the sessions; the main thread merges their
//! books every second and writes events.

use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use loadstone_record::event::{CpuShare, EndReason, Event, EVENT_SCHEMA};
use loadstone_record::{Interval, Totals};
use loadstone_schedule::plan::{Phase, Phases, Plan};
use loadstone_schedule::SECOND;
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

use crate::clock::{kernel_ns, reading_cost_ns, thread_cpu_ns, Clock};
use crate::shared::{Job, Shared};
use crate::timer::{slack_ns, Timer};
use crate::user::{live, Stay};

/// Time between the plan's arrival and the start of the run, for threads to get ready.
const LEAD_NS: u64 = 100_000_000;
/// Most operations of a thread's loop between two looks at the kernel.
const EVENTS_A_TURN: u32 = 16;

/// What a thread reports.
enum Report {
    Interval { number: usize, at_ns: u64, interval: Box<Interval>, active: u64, open: u64, cpu: f64 },
    Troubles(Vec<Event>),
    Done { totals: Box<Totals>, steady_cpu: f64, steady_ns: u64 },
    Failed(String),
}

/// Runs the plan and writes its events to `out`. `Interrupted` when a signal ended it early.
pub fn run(plan: impl FnOnce() -> Result<Plan>, out: &mut dyn Write) -> Result<EndReason> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let signals = runtime.block_on(async { Signals::new() })?;
    let job = Arc::new(Job::prepare(plan()?)?);
    let (threads, phases) = (job.plan.threads.max(1), job.plan.phases);
    let clock = Clock::starting_in(LEAD_NS);
    let (stop, stopped) = watch::channel(false);
    let (sender, reports) = mpsc::unbounded_channel();
    let workers: Vec<_> = (0..threads)
        .map(|index| {
            let (job, sender, stopped) = (job.clone(), sender.clone(), stopped.clone());
            std::thread::Builder::new()
                .name(format!("driver-{index}"))
                .spawn(move || work(job, clock, index, stopped, sender))
        })
        .collect::<Result<_, _>>()?;
    drop(sender);
    let mut scribe = Scribe { job: &job, out, pending: Vec::new(), phase: None };
    scribe.start(&runtime, clock)?;
    let outcome = runtime.block_on(collect(&mut scribe, signals, reports, stop, threads as usize, phases));
    for worker in workers {
        worker.join().map_err(|_| anyhow::anyhow!("a driver thread panicked"))?;
    }
    let (reason, totals, steady_ns, cpu) = outcome?;
    let names: Vec<String> = scribe.job.operations.iter().map(|operation| operation.name.clone()).collect();
    scribe.write(&Event::totals(steady_ns, &names, &totals, CpuShare { threads: cpu }))?;
    scribe.write(&Event::End { at_ns: clock.now(), reason })?;
    Ok(reason)
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
    scribe: &mut Scribe<'_>,
    mut signals: Signals,
    mut reports: mpsc::UnboundedReceiver<Report>,
    stop: watch::Sender<bool>,
    threads: usize,
    phases: Phases,
) -> Result<(EndReason, Totals, u64, Vec<f64>)> {
    let mut reason = EndReason::Completed;
    let mut totals = Totals::new(scribe.job.operations.len());
    let (mut steady_ns, mut cpu) = (0, Vec::new());
    loop {
        let report = tokio::select! {
            report = reports.recv() => report,
            () = signals.any() => { reason = EndReason::Interrupted; let _ = stop.send(true); continue }
        };
        match report {
            None => return Ok((reason, totals, steady_ns, cpu)),
            Some(Report::Failed(message)) => {
                let _ = stop.send(true);
                anyhow::bail!("a driver thread failed: {message}");
            }
            Some(Report::Troubles(events)) => events.iter().try_for_each(|event| scribe.write(event))?,
            Some(Report::Done { totals: part, steady_cpu, steady_ns: length }) => {
                totals.merge(&part);
                steady_ns = steady_ns.max(length);
                cpu.push(steady_cpu);
            }
            Some(Report::Interval { number, at_ns, interval, active, open, cpu }) => {
                scribe.interval(number, threads, phases, at_ns, &interval, (active, open), cpu)?;
            }
        }
    }
}

/// An interval that not all threads have reported yet.
struct Pending {
    at_ns: u64,
    interval: Interval,
    active: u64,
    open: u64,
    cpu: Vec<f64>,
}

/// Writes events in order.
struct Scribe<'a> {
    job: &'a Job,
    out: &'a mut dyn Write,
    pending: Vec<Option<Pending>>,
    phase: Option<Phase>,
}

impl Scribe<'_> {
    fn write(&mut self, event: &Event) -> Result<()> {
        serde_json::to_writer(&mut *self.out, event)?;
        self.out.write_all(b"\n")?;
        self.out.flush().context("nobody reads the driver's events any more")
    }

    fn start(&mut self, runtime: &tokio::runtime::Runtime, clock: Clock) -> Result<()> {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        let ahead = clock.to_monotonic(0).saturating_sub(kernel_ns(rustix::time::ClockId::Monotonic));
        let slack = runtime.block_on(async {
            let local = LocalSet::new();
            local
                .run_until(async {
                    let timer = Timer::new(Clock::starting_in(0))?;
                    tokio::task::spawn_local(timer.clone().run());
                    Ok::<u64, std::io::Error>(slack_ns(&timer).await)
                })
                .await
        })?;
        let operations = self.job.operations.iter().map(|operation| operation.name.clone()).collect();
        self.write(&Event::Start {
            schema: EVENT_SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            threads: self.job.plan.threads.max(1),
            sessions: self.job.plan.sessions,
            operations,
            start_unix_ns: wall + ahead,
            clock_cost_ns: reading_cost_ns(),
            timer_slack_ns: slack,
        })?;
        self.enter(self.job.plan.phases.at(0), 0)
    }

    fn enter(&mut self, phase: Phase, at_ns: u64) -> Result<()> {
        if self.phase != Some(phase) {
            self.phase = Some(phase);
            self.write(&Event::Phase { phase: name_of(phase), at_ns })?;
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // one report, taken apart
    fn interval(
        &mut self,
        number: usize,
        threads: usize,
        phases: Phases,
        at_ns: u64,
        interval: &Interval,
        open: (u64, u64),
        cpu: f64,
    ) -> Result<()> {
        while self.pending.len() <= number {
            self.pending.push(None);
        }
        let operations = self.job.operations.len();
        let pending = self.pending[number].get_or_insert_with(|| Pending {
            at_ns,
            interval: Interval::new(operations),
            active: 0,
            open: 0,
            cpu: Vec::new(),
        });
        pending.interval.merge(interval);
        pending.active += open.0;
        pending.open += open.1;
        pending.cpu.push(cpu);
        if pending.cpu.len() < threads {
            return Ok(());
        }
        let Some(whole) = self.pending[number].take() else { return Ok(()) };
        let from_ns = ticks(&phases).nth(number).map_or(0, |(from, _)| from);
        let phase = phases.at(from_ns);
        self.enter(phase, from_ns)?;
        let cpu = CpuShare { threads: whole.cpu };
        let counts = (whole.active, whole.open);
        let length = whole.at_ns.saturating_sub(from_ns);
        self.write(&Event::interval(whole.at_ns, length, name_of(phase), counts, &whole.interval, cpu))
    }
}

fn name_of(phase: Phase) -> String {
    serde_json::to_value(phase).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The intervals of a run: every second, and wherever a phase changes.
fn ticks(phases: &Phases) -> impl Iterator<Item = (u64, u64)> {
    let mut edges: Vec<u64> = (0..=phases.end() / SECOND).map(|second| second * SECOND).collect();
    edges.extend([phases.ramp_up_ns, phases.steady_start(), phases.steady_end(), phases.end()]);
    edges.sort_unstable();
    edges.dedup();
    let pairs: Vec<(u64, u64)> = edges.windows(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.into_iter()
}

fn work(
    job: Arc<Job>,
    clock: Clock,
    index: u32,
    stopped: watch::Receiver<bool>,
    sender: mpsc::UnboundedSender<Report>,
) {
    let built = tokio::runtime::Builder::new_current_thread().enable_io().event_interval(EVENTS_A_TURN).build();
    let result = built.map_err(anyhow::Error::from).and_then(|runtime| {
        runtime.block_on(LocalSet::new().run_until(play(job, clock, index, stopped, sender.clone())))
    });
    if let Err(error) = result {
        let _ = sender.send(Report::Failed(format!("{error:#}")));
    }
}

/// This thread's sessions: every n-th of the population, with its place in ramp-up and ramp-down.
fn stays(plan: &Plan, index: u32) -> Vec<Stay> {
    let (sessions, threads) = (u64::from(plan.sessions), u64::from(plan.threads.max(1)));
    let phases = plan.phases;
    (u64::from(index)..sessions)
        .step_by(threads as usize)
        .enumerate()
        .map(|(local, id)| {
            let part = |length: u64| (u128::from(length) * u128::from(id) / u128::from(sessions)) as u64;
            let (start_ns, stop_ns) = (part(phases.ramp_up_ns), phases.steady_end() + part(phases.ramp_down_ns));
            Stay { id, local, start_ns, stop_ns }
        })
        .collect()
}

async fn play(
    job: Arc<Job>,
    clock: Clock,
    index: u32,
    mut stopped: watch::Receiver<bool>,
    sender: mpsc::UnboundedSender<Report>,
) -> Result<()> {
    let phases = job.plan.phases;
    let timer = Timer::new(clock)?;
    tokio::task::spawn_local(timer.clone().run());
    let stays = stays(&job.plan, index);
    let shared = Rc::new(Shared::new(job, clock, timer.clone(), stays.len()));
    let sessions: Vec<_> = stays.into_iter().map(|stay| tokio::task::spawn_local(live(shared.clone(), stay))).collect();
    let (mut steady_from, mut steady_cpu, mut steady_until) = (None, 0, 0);
    let mut last = (clock.now(), thread_cpu_ns());
    for (number, (from_ns, at_ns)) in ticks(&phases).enumerate() {
        if from_ns == phases.steady_start() {
            steady_from = Some(thread_cpu_ns());
        }
        let ended = tokio::select! {
            () = timer.sleep_until(at_ns) => false,
            _ = stopped.wait_for(|&stop| stop) => true,
        };
        let now = (clock.now(), thread_cpu_ns());
        let cpu = (now.1 - last.1) as f64 / now.0.saturating_sub(last.0).max(1) as f64;
        last = now;
        if let Some(from) = steady_from.filter(|_| from_ns < phases.steady_end()) {
            steady_cpu = now.1 - from;
            steady_until = now.0;
            if ended || at_ns == phases.steady_end() {
                shared.note_overdue(now.0);
            }
        }
        let interval = Box::new(shared.recorder.borrow_mut().take_interval());
        let (active, open) = (shared.active.get(), shared.open.get());
        let at_ns = at_ns.min(now.0);
        let _ = sender.send(Report::Troubles(shared.take_troubles()));
        let report = Report::Interval { number, at_ns, interval, active, open, cpu };
        if sender.send(report).is_err() || ended {
            break;
        }
    }
    sessions.iter().for_each(|session| session.abort());
    for (operation, intended_ns) in shared.under_way.borrow().iter().flatten() {
        shared.recorder.borrow_mut().unfinished(*operation, *intended_ns);
    }
    let steady_ns = steady_until.min(phases.steady_end()).saturating_sub(phases.steady_start());
    let steady_cpu = steady_cpu as f64 / steady_ns.max(1) as f64;
    let totals = Box::new(std::mem::take(&mut shared.recorder.borrow_mut().totals));
    let _ = sender.send(Report::Done { totals, steady_cpu, steady_ns });
    Ok(())
}
