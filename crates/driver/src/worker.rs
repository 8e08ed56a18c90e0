//! One driver thread: its event loop, its share of the sessions, and what it reports of them every second.

use std::rc::Rc;
use std::sync::Arc;

use anyhow::Result;
use loadstone_record::event::Event;
use loadstone_schedule::plan::{Load, Phases, Plan};
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

use crate::clock::{kernel_ns, thread_cpu_ns, Clock};
use crate::gate::{Gate, Gatekeeper};
use crate::job::Job;
use crate::report::{ticks, Report};
use crate::session::{run_arrivals, run_session, Admission, BEGUN_NS};
use crate::shared::{Common, Shared};
use crate::timer::Timer;
use crate::windows::session_windows;

/// Most operations of a thread's loop between two looks at the kernel.
const EVENTS_A_TURN: u32 = 16;

/// What one thread has to do.
pub struct Work {
    pub plan: Plan,
    pub jobs: Vec<Arc<Job>>,
    pub index: u32,
    /// The clock, once all drivers have agreed on it.
    pub started: watch::Receiver<Option<Clock>>,
    pub stopped: watch::Receiver<bool>,
}

impl Work {
    /// Plays until the run ends; what it has to say goes to `sender`, that it is ready to `readiness`.
    pub fn run(self, sender: &mpsc::UnboundedSender<Report>, readiness: mpsc::UnboundedSender<()>) {
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
        let cpu = self.report_intervals(sender, &timer, &all).await;
        let (steady_ns, share) = cpu.steady();
        all.iter().for_each(|shared| shared.conclude(sender, steady_ns, share));
        Ok(())
    }

    /// Hands over each second as it ends, until the run does; the thread's CPU time.
    async fn report_intervals(
        &mut self,
        sender: &mpsc::UnboundedSender<Report>,
        timer: &Timer,
        all: &[Rc<Shared>],
    ) -> CpuTime {
        let phases = self.plan.phases;
        let mut cpu = CpuTime::beginning(phases, timer.now());
        for (number, (from_ns, at_ns)) in ticks(&phases).enumerate() {
            cpu.interval_begins(from_ns);
            let ended = tokio::select! {
                () = timer.sleep_until(at_ns) => false,
                _ = self.stopped.wait_for(|&stop| stop) => true,
                () = traced_visit_ends(timer, all) => true,
            };
            let now_ns = timer.now();
            let (share, is_steady) = cpu.interval_ends(from_ns, now_ns);
            if is_steady && (ended || at_ns == phases.steady_end()) {
                all.iter().for_each(|shared| shared.note_overdue(now_ns));
            }
            let sent = all.iter().all(|shared| shared.report(sender, number, at_ns.min(now_ns), share));
            if !sent || ended {
                break;
            }
        }
        cpu
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

/// CPU time of a thread.
struct CpuTime {
    phases: Phases,
    /// The end of the interval before, by the run's clock, and the CPU time used until then.
    last: (u64, u64),
    /// CPU time used until the steady state; none before it.
    before_steady_ns: Option<u64>,
    /// CPU time used in the steady state, up to `steady_until`.
    in_steady_ns: u64,
    steady_until: u64,
}

impl CpuTime {
    /// Of a thread whose first interval begins.
    fn beginning(phases: Phases, now_ns: u64) -> Self {
        let last = (now_ns, thread_cpu_ns());
        CpuTime { phases, last, before_steady_ns: None, in_steady_ns: 0, steady_until: 0 }
    }

    /// An interval begins that is to begin at `from_ns`.
    fn interval_begins(&mut self, from_ns: u64) {
        if from_ns == self.phases.steady_start() {
            self.before_steady_ns = Some(thread_cpu_ns());
        }
    }

    /// It ends; the share of it that the thread ran, and whether it belongs to the steady state.
    fn interval_ends(&mut self, from_ns: u64, now_ns: u64) -> (f64, bool) {
        let now = (now_ns, thread_cpu_ns());
        let share = (now.1 - self.last.1) as f64 / now.0.saturating_sub(self.last.0).max(1) as f64;
        self.last = now;
        let before_ns = self.before_steady_ns.filter(|_| from_ns < self.phases.steady_end());
        if let Some(before_ns) = before_ns {
            (self.in_steady_ns, self.steady_until) = (now.1 - before_ns, now.0);
        }
        (share, before_ns.is_some())
    }

    /// Length of the steady state so far, in nanoseconds, and the share of it that the thread ran.
    fn steady(&self) -> (u64, f64) {
        let length_ns = self.steady_until.min(self.phases.steady_end()).saturating_sub(self.phases.steady_start());
        (length_ns, self.in_steady_ns as f64 / length_ns.max(1) as f64)
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
