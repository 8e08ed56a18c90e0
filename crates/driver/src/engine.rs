//! Running a plan: one event loop a thread (`worker`), each with its share of the sessions; the main thread merges their
//! counts every second and writes events.

use std::io::Write;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use loadstone_record::event::{EndReason, Event, EVENT_SCHEMA};
use loadstone_schedule::plan::{Load, Plan, Scheme};
use rustix::event::{poll, PollFd, PollFlags};
use rustix::io::Errno;
use tokio::runtime::Runtime;
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

use crate::client::dates;
use crate::clock::Clock;
use crate::job::Job;
use crate::join::{Members, Setting};
use crate::mail;
use crate::record_writer::{write, RecordWriter};
use crate::report::Report;
use crate::timer::{slack_ns, Timer};
use crate::worker::Work;

/// Runs a plan and writes its events to `out`. `Interrupted` when a signal ended it early, or nobody reads them.
pub fn run(setting: Box<dyn Setting>, out: &mut dyn Write, unread: Unread) -> Result<EndReason> {
    Ok(Engine::new(unread)?.run(setting, out)?.unwrap_or(EndReason::Interrupted))
}

/// Becomes true when nobody reads the events any more.
pub struct Unread(watch::Receiver<bool>);

impl Unread {
    /// Of events that go to a place without a reader that could end.
    pub fn never() -> Self {
        Unread(watch::channel(false).1)
    }

    /// Of events on standard output. A driver that prepares, or waits for its start, writes nothing for minutes, so that
    /// it would not notice.
    pub fn of_stdout() -> std::io::Result<Self> {
        let (sender, receiver) = watch::channel(false);
        std::thread::Builder::new().name("reader".into()).spawn(move || {
            let out = std::io::stdout();
            let mut polled = [PollFd::new(&out, PollFlags::empty())]; // errors and hang-ups are always reported
            while let Err(Errno::INTR) = poll(&mut polled, None) {}
            let _ = sender.send(polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP));
        })?;
        Ok(Unread(receiver))
    }
}

/// The main thread. Each step of a run gives None, or false, where a signal came during it.
struct Engine {
    runtime: Runtime,
    signals: Signals,
}

impl Engine {
    fn new(unread: Unread) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = runtime.block_on(async { Signals::new(unread) })?;
        Ok(Engine { runtime, signals })
    }

    fn run(mut self, mut setting: Box<dyn Setting>, out: &mut dyn Write) -> Result<Option<EndReason>> {
        let prepared = self.apart(move || setting.prepare().map(|(plan, members)| (setting, plan, members)))?;
        let Some((setting, plan, members)) = prepared else { return Ok(None) };
        let jobs = Job::all(&plan)?;
        if !self.prepare_users(&jobs, &plan)? {
            return Ok(None);
        }
        let slack_ns = self.runtime.block_on(LocalSet::new().run_until(calibrate()))?;
        let mut threads = Threads::spawn(&plan, &jobs)?;
        if !self.runtime.block_on(are_ready(&mut threads, &mut self.signals))? {
            return Ok(None);
        }
        let Some((clock, members)) = self.agree_on_start(setting, members, out)? else { return Ok(None) };
        threads.start(clock);
        self.record(&plan, (clock, slack_ns), threads, members, out).map(Some)
    }

    /// Works on a thread of its own.
    fn apart<T: Send + 'static>(&mut self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<Option<T>> {
        self.runtime.block_on(apart(&mut self.signals, work))
    }

    /// Does what users did before the run.
    fn prepare_users(&mut self, jobs: &[Arc<Job>], plan: &Plan) -> Result<bool> {
        let prepared = async {
            tokio::select! {
                prepared = prepare(jobs, plan) => prepared.map(|()| true),
                () = self.signals.any() => Ok(false),
            }
        };
        self.runtime.block_on(LocalSet::new().run_until(prepared))
    }

    /// Waits until the other drivers are prepared too, and agrees with them on when to start.
    fn agree_on_start(
        &mut self,
        mut setting: Box<dyn Setting>,
        mut members: Members,
        out: &mut dyn Write,
    ) -> Result<Option<(Clock, Members)>> {
        let gathered = self.apart(move || setting.gather(&mut members).map(|()| (setting, members)))?;
        let Some((mut setting, mut members)) = gathered else { return Ok(None) };
        if setting.waits() {
            write(out, &Event::Ready { schema: EVENT_SCHEMA })?;
        }
        self.apart(move || setting.agree(&mut members).map(|clock| (clock, members)))
    }

    /// Writes what all threads and members report, until the last has ended.
    fn record(
        self,
        plan: &Plan,
        (clock, slack_ns): (Clock, u64),
        threads: Threads,
        members: Members,
        out: &mut dyn Write,
    ) -> Result<EndReason> {
        let Threads { stop, sender, reports, workers, .. } = threads;
        let (drivers, clock_bound_ns) = (plan.member.of.max(1) as usize, members.clock_bound_ns());
        let sources = workers.len() + members.len();
        let lines = members.follow(plan, &sender);
        drop(sender);
        let mut writer = RecordWriter::new(plan, out, sources);
        writer.start(clock, slack_ns, (drivers, clock_bound_ns))?;
        let end_early = || {
            let _ = stop.send(true);
            lines.stop();
        };
        let outcome = self.runtime.block_on(collect(&mut writer, self.signals, reports, end_early));
        for worker in workers {
            worker.join().map_err(|_| anyhow::anyhow!("a driver thread panicked"))?;
        }
        let reason = outcome?;
        writer.finish(clock.now(), reason)?;
        Ok(reason)
    }
}

/// The driver's threads, and the lines to them.
struct Threads {
    workers: Vec<JoinHandle<()>>,
    /// Ends them early.
    stop: watch::Sender<bool>,
    /// Tells them the clock that all drivers have agreed on.
    start: watch::Sender<Option<Clock>>,
    /// Hears each that is ready.
    ready: mpsc::UnboundedReceiver<()>,
    sender: mpsc::UnboundedSender<Report>,
    reports: mpsc::UnboundedReceiver<Report>,
}

impl Threads {
    fn spawn(plan: &Plan, jobs: &[Arc<Job>]) -> Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let (start, started) = watch::channel(None);
        let (sender, reports) = mpsc::unbounded_channel();
        let (readiness, ready) = mpsc::unbounded_channel();
        let mut workers = Vec::new();
        for index in 0..plan.threads.max(1) {
            let (started, stopped) = (started.clone(), stopped.clone());
            let work = Work { plan: plan.clone(), jobs: jobs.to_vec(), index, started, stopped };
            let (sender, readiness) = (sender.clone(), readiness.clone());
            let worker = std::thread::Builder::new().name(format!("driver-{index}"));
            workers.push(worker.spawn(move || work.run(&sender, readiness))?);
        }
        Ok(Threads { workers, stop, start, ready, sender, reports })
    }

    fn start(&self, clock: Clock) {
        let _ = self.start.send(Some(clock));
    }
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
        let mut users = vec![Vec::new(); job.servers.len()];
        ours.clone().for_each(|id| users[job.server_of(id)].push(id));
        mail.note_users(users);
        mail::populate::populate(mail, ours.filter_map(address)).await?;
    }
    Ok(())
}

/// Waits until all threads' sessions are ready; false when a signal came first.
async fn are_ready(threads: &mut Threads, signals: &mut Signals) -> Result<bool> {
    for _ in 0..threads.workers.len() {
        let is_ready = tokio::select! {
            said = threads.ready.recv() => said.is_some(),
            () = signals.any() => return Ok(false),
        };
        if !is_ready {
            let Ok(Report::Failed(message)) = threads.reports.try_recv() else {
                anyhow::bail!("a driver thread is gone")
            };
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

/// Requests to end early, listened for from the very beginning: signals, and the end of whoever reads the events.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    unread: Unread,
}

impl Signals {
    fn new(unread: Unread) -> std::io::Result<Self> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Signals { interrupt, terminate, unread })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            Ok(_) = self.unread.0.wait_for(|is_unread| *is_unread) => {}
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
