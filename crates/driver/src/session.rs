//! The life of a session: user after user, pause, operation, pause, until the run ends. Sessions are there from the
//! start (a population) or come by themselves (arrivals).

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::ops::Range;
use std::rc::Rc;
use std::task::{Poll, Waker};

use loadstone_record::counts::SessionCounts;
use loadstone_record::outcome::Outcome;
use loadstone_record::Fault;
use loadstone_schedule::arrivals::Arrivals;
use loadstone_schedule::plan::{Path, Process};
use loadstone_schedule::rules::Rules;
use loadstone_schedule::session::{Departure, Session};
use loadstone_schedule::session_loop::{SessionLoop, Turn};
use loadstone_schedule::slots::Values;
use loadstone_schedule::stationary::{earlier, within_visit};

use crate::client::extent::Extent;
use crate::client::Client;
use crate::gate::Gate;
use crate::shared::{Counted, Shared};

/// The first instant of a run that has begun: until then its clock stands at 0.
pub const BEGUN_NS: u64 = 1;

/// Arrivals admitted before sessions get their turn.
const ADMITTED_A_TURN: usize = 32;

/// When a session of a population starts and when it performs no more operations.
#[derive(Clone, Debug)]
pub struct SessionWindow {
    /// Number of the session in the whole population.
    pub id: u64,
    pub start_ns: u64,
    pub stop_ns: u64,
    /// Whether its first user comes then, instead of being found half-way: where the population grows.
    pub is_new: bool,
    /// When it is there again, where the population shrinks and grows.
    pub later: Box<[Range<u64>]>,
}

/// Plays users for as long as the session lasts. What its first user did before it is found, the server is told before
/// the clock starts: a slow one would otherwise still be at it when the measuring begins.
pub async fn run_session(shared: Rc<Shared>, window: SessionWindow, gate: Gate) {
    let end_ns = window.later.last().map_or(window.stop_ns, |last| last.end);
    let mut player = Player::new(&shared, window.id, end_ns);
    if window.is_new {
        gate.pass().await;
        player.stay(&shared, window.start_ns..window.stop_ns).await;
    } else {
        player.found(&shared, &window, gate).await;
    }
    for again in window.later {
        player.stay(&shared, again).await;
    }
    player.client.close(&shared);
}

/// Which arrivals are this thread's, and how many sessions they may come to.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    /// This thread plays the arrivals whose number leaves `index` when divided by `of`.
    pub index: u64,
    pub of: u64,
    pub most: usize,
    pub owners: u64,
}

/// An arrival.
#[derive(Clone, Copy)]
struct Arrival {
    /// Its number among all.
    number: u64,
    at_ns: u64,
    /// How long ago its user came; 0 for one that comes now.
    age_ns: u64,
}

/// A place for one session at a time; the task behind it stays when the session has left.
#[derive(Default)]
struct SessionSlot {
    given: Cell<Option<Arrival>>,
    waker: RefCell<Option<Waker>>,
}

/// Lets sessions in as they arrive; each takes a free slot, or a new one.
pub async fn run_arrivals(shared: Rc<Shared>, admission: Admission, process: Process, path: &Path) {
    let job = &shared.job;
    let mut found = earlier(process, path, job.seed, job.number as u64, job.visit_ns).into_iter().peekable();
    let mut doorman = Doorman { shared: &shared, admission, free: Rc::default(), slots: 0, admitted: 0 };
    for (number, at_ns) in (0..).zip(Arrivals::new(process, path, job.seed, job.number as u64)) {
        while let Some(user) = found.next_if(|user| user.at_ns <= at_ns) {
            doorman.admit(Arrival { number: user.number, at_ns: user.at_ns, age_ns: user.age_ns }).await;
        }
        doorman.admit(Arrival { number, at_ns, age_ns: 0 }).await;
    }
    for user in found {
        doorman.admit(Arrival { number: user.number, at_ns: user.at_ns, age_ns: user.age_ns }).await;
    }
}

/// Lets users in at their time, each to a free slot.
struct Doorman<'a> {
    shared: &'a Rc<Shared>,
    admission: Admission,
    free: Rc<RefCell<Vec<Rc<SessionSlot>>>>,
    slots: usize,
    admitted: usize,
}

/// Whether a user that came earlier has not left meanwhile.
fn is_still_there(shared: &Shared, admission: Admission, arrival: Arrival) -> bool {
    let job = &shared.job;
    let mut session = Session::new(&job.script, job.seed, 0);
    session.arrive(job.seed, arrival.number, admission.owners);
    let times = |operation: usize, values: &Values| job.line_ns(operation, values);
    within_visit(&mut session, &job.rules(), &times, arrival.age_ns).is_ok()
}

impl Doorman<'_> {
    async fn admit(&mut self, arrival: Arrival) {
        let (shared, admission, at_ns) = (self.shared, self.admission, arrival.at_ns);
        if arrival.number % admission.of != admission.index {
            return;
        }
        if at_ns.max(BEGUN_NS) > shared.now() {
            shared.timer.sleep_until(at_ns.max(BEGUN_NS)).await;
        }
        self.admitted += 1;
        if self.admitted.is_multiple_of(ADMITTED_A_TURN) {
            tokio::task::yield_now().await;
        }
        if arrival.age_ns > 0 && !is_still_there(shared, admission, arrival) {
            return;
        }
        if arrival.age_ns == 0 {
            shared.recorder.borrow_mut().sessions(at_ns, SessionCounts { due: 1, ..SessionCounts::default() });
        }
        let slot = self.free.borrow_mut().pop();
        match slot {
            Some(slot) => {
                slot.given.set(Some(arrival));
                if let Some(waker) = slot.waker.take() {
                    waker.wake();
                }
            }
            None if self.slots < admission.most => {
                self.slots += 1;
                let slot = Rc::new(SessionSlot { given: Cell::new(Some(arrival)), ..SessionSlot::default() });
                tokio::task::spawn_local(receive(shared.clone(), admission, slot, self.free.clone()));
            }
            None => turn_away(shared, at_ns, admission.most),
        }
    }
}

/// Plays the sessions given to one slot, one after the other.
async fn receive(
    shared: Rc<Shared>,
    admission: Admission,
    slot: Rc<SessionSlot>,
    free: Rc<RefCell<Vec<Rc<SessionSlot>>>>,
) {
    let end_ns = shared.job.phases.end();
    let mut player = Player::new(&shared, 0, end_ns);
    loop {
        let Arrival { number, at_ns, age_ns } = poll_fn(|context| match slot.given.take() {
            Some(arrival) => Poll::Ready(arrival),
            None => {
                *slot.waker.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
        })
        .await;
        player.session_loop.session.arrive(shared.job.seed, number, admission.owners);
        player.client.arrive(number);
        player.server = shared.job.server_of(number);
        if age_ns == 0 || player.is_under_way(&shared, age_ns) {
            let _active = Counted::new(&shared.active);
            player.visit(&shared, at_ns, end_ns).await;
            shared.is_over.set(true);
        }
        free.borrow_mut().push(slot.clone());
    }
}

/// An arrival for which the driver has no session left.
fn turn_away(shared: &Shared, at_ns: u64, most: usize) {
    let fault = Fault::NoSessions;
    shared.trouble(0, fault, &format!("{most} sessions at once on this thread, and all are taken"));
    shared.recorder.borrow_mut().operation(&Outcome::failed(0, at_ns, at_ns + 1, fault));
}

/// One session and the client its users sit at.
struct Player {
    session_loop: SessionLoop,
    client: Client,
    /// Number of its slot on this thread.
    slot: usize,
    /// The machine that its users go to.
    server: usize,
}

impl Player {
    /// Plays the session from where its first user is found on.
    async fn found(&mut self, shared: &Rc<Shared>, window: &SessionWindow, gate: Gate) {
        self.settle(shared, window.id);
        self.begin(shared, window.start_ns);
        let next_ns = self.tell(shared, &gate).await;
        gate.pass().await;
        shared.timer.sleep_until(window.start_ns.max(BEGUN_NS)).await;
        let _active = Counted::new(&shared.active);
        count(shared, SessionCounts { begun: 1, broken: u64::from(next_ns.is_some()), ..SessionCounts::default() });
        if next_ns.is_some() {
            shared.recorder.borrow_mut().unplaced();
        }
        let free_ns = match next_ns {
            Some(next_ns) => next_ns,
            None => self.go_on(shared, window.stop_ns).await,
        };
        self.users(shared, free_ns, window.stop_ns).await;
    }

    /// Plays users who come one after the other over this time.
    async fn stay(&mut self, shared: &Rc<Shared>, time: Range<u64>) {
        shared.timer.sleep_until(time.start.max(BEGUN_NS)).await;
        let _active = Counted::new(&shared.active);
        self.users(shared, time.start, time.end).await;
    }

    async fn users(&mut self, shared: &Rc<Shared>, mut free_ns: u64, stop_ns: u64) {
        shared.timer.sleep_until(free_ns.min(stop_ns)).await;
        while free_ns < stop_ns {
            free_ns = self.visit(shared, free_ns, stop_ns).await;
            shared.timer.sleep_until(free_ns.min(stop_ns)).await;
        }
    }

    fn new(shared: &Shared, id: u64, stop_ns: u64) -> Self {
        let session = Session::new(&shared.job.script, shared.job.seed, id);
        Player {
            session_loop: SessionLoop::new(session, stop_ns),
            client: Client::new(shared, id),
            slot: shared.slot(),
            server: shared.job.server_of(id),
        }
    }

    /// Places its first user where a long run would find it.
    fn settle(&mut self, shared: &Shared, id: u64) {
        let job = &shared.job;
        let times = |operation: usize, values: &Values| job.line_ns(operation, values);
        self.session_loop.settle(&job.rules(), job.seed, id, job.visit_ns, &times);
    }

    /// Places its user where it is some time after it came; false when it has left by then.
    fn is_under_way(&mut self, shared: &Shared, age_ns: u64) -> bool {
        let job = &shared.job;
        let times = |operation: usize, values: &Values| job.line_ns(operation, values);
        self.session_loop.is_under_way(&job.rules(), &times, age_ns).is_ok()
    }

    /// A user comes at `at_ns`, or is found there.
    fn begin(&mut self, shared: &Shared, at_ns: u64) {
        self.session_loop.begin(&shared.job.rules(), at_ns);
        self.client.renew(shared, self.server);
    }

    /// Lets the server know of all that was over when the user was found, in its turn. When that fails, the user leaves
    /// and this is when the next one comes.
    async fn tell(&mut self, shared: &Shared, gate: &Gate) -> Option<u64> {
        let rules = shared.job.rules();
        let _turn = gate.turn().await;
        while self.session_loop.is_behind() {
            if gate.is_in_vain() {
                return Some(self.session_loop.broke(&rules, self.session_loop.ended_ns()));
            }
            let Turn::CatchUp { operation, is_first } = self.session_loop.next(&rules) else { return None };
            let next_ns = self.catch_up(shared, &rules, operation, is_first).await;
            gate.told(next_ns.is_none());
            if next_ns.is_some() {
                return next_ns;
            }
        }
        None
    }

    /// Plays one user from `from_ns` on; returns when the next one may come.
    async fn visit(&mut self, shared: &Shared, from_ns: u64, stop_ns: u64) -> u64 {
        self.begin(shared, from_ns);
        count(shared, SessionCounts { begun: 1, ..SessionCounts::default() });
        self.go_on(shared, stop_ns).await
    }

    /// Plays a user that is there until it leaves; returns when the next one may come.
    async fn go_on(&mut self, shared: &Shared, stop_ns: u64) -> u64 {
        let rules = shared.job.rules();
        loop {
            match self.session_loop.next(&rules) {
                Turn::Perform { operation, at_ns } => {
                    if at_ns > self.session_loop.ended_ns() {
                        shared.timer.sleep_until(at_ns).await;
                    }
                    if let Some(next_ns) = self.perform(shared, &rules, (operation, at_ns), Extent::Whole).await {
                        return next_ns;
                    }
                }
                Turn::CatchUp { operation, is_first } => {
                    if let Some(next_ns) = self.catch_up(shared, &rules, operation, is_first).await {
                        return next_ns;
                    }
                }
                Turn::TakeUp { operation, at_ns, midway } => {
                    let extent = Extent::Rest(midway);
                    if let Some(next_ns) = self.perform(shared, &rules, (operation, at_ns), extent).await {
                        return next_ns;
                    }
                }
                Turn::Leave { departure, operations } => {
                    count(shared, departed(departure, operations));
                    return self.session_loop.ended_ns();
                }
                Turn::Stop { at_ns } => {
                    shared.timer.sleep_until(stop_ns).await;
                    return at_ns;
                }
            }
        }
    }

    /// Performs an operation; when it fails, the user leaves and this is when the next one comes.
    async fn perform(
        &mut self,
        shared: &Shared,
        rules: &Rules<'_>,
        (operation, intended_ns): (usize, u64),
        extent: Extent,
    ) -> Option<u64> {
        self.session_loop.session.prepare(rules.script);
        let now_ns = shared.now();
        shared.note_start(now_ns, intended_ns);
        let kept = self.session_loop.sent(rules, operation, now_ns);
        shared.recorder.borrow_mut().kept(now_ns, kept.pause, kept.cycle());
        let outcome = self.carry_out(shared, operation, (intended_ns, now_ns), extent).await;
        shared.recorder.borrow_mut().operation(&outcome);
        self.go_on_after(shared, rules, &outcome)
    }

    /// Lets the server know of an operation that was over when the user was found; it counts for nothing.
    async fn catch_up(&mut self, shared: &Shared, rules: &Rules<'_>, operation: usize, is_first: bool) -> Option<u64> {
        self.session_loop.session.prepare(rules.script);
        if !shared.must_catch_up(operation, is_first) {
            return None;
        }
        let now_ns = shared.now();
        let outcome = self.carry_out(shared, operation, (now_ns, now_ns), Extent::Page).await;
        if outcome.fault.is_some() && now_ns > 0 {
            shared.recorder.borrow_mut().unplaced(); // before the clock starts, nothing is kept
        }
        self.go_on_after(shared, rules, &outcome)
    }

    /// Has the client perform an operation, which is under way meanwhile.
    async fn carry_out(
        &mut self,
        shared: &Shared,
        operation: usize,
        (intended_ns, now_ns): (u64, u64),
        extent: Extent,
    ) -> Outcome {
        let values = &mut self.session_loop.session.values;
        shared.began(self.slot, operation, (intended_ns, extent), values);
        let outcome = self.client.perform(shared, operation, (intended_ns, now_ns), (extent, values)).await;
        shared.ended(self.slot, &outcome);
        outcome
    }

    fn go_on_after(&mut self, shared: &Shared, rules: &Rules<'_>, outcome: &Outcome) -> Option<u64> {
        // What was told before the clock started ended before its user was found.
        let end_ns = outcome.end_ns.max(self.session_loop.ended_ns());
        if outcome.fault.is_none() {
            self.session_loop.ended(end_ns);
            return None;
        }
        count(shared, SessionCounts { broken: 1, ..SessionCounts::default() });
        self.client.close(shared);
        Some(self.session_loop.broke(rules, end_ns))
    }
}

/// What is counted of a user that leaves in order.
pub fn departed(departure: Departure, operations: u32) -> SessionCounts {
    SessionCounts {
        finished: 1,
        abandoned: u64::from(departure == Departure::Abandoned),
        operations_in_finished: u64::from(operations),
        ..SessionCounts::default()
    }
}

fn count(shared: &Shared, change: SessionCounts) {
    shared.recorder.borrow_mut().sessions(shared.now(), change);
}
