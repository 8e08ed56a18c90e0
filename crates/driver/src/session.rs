//! The life of a session: user after user, pause, operation, pause, until the run ends. Sessions are there from the
//! start (a population) or come by themselves (arrivals).

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use loadstone_record::recorder::{Outcome, SessionCounts};
use loadstone_record::Fault;
use loadstone_schedule::arrivals::Arrivals;
use loadstone_schedule::plan::{Path, Process};
use loadstone_schedule::session::{Departure, Session};
use loadstone_schedule::session_loop::{Rules, SessionLoop, Turn};

use crate::client::Client;
use crate::shared::{Counted, Shared};

/// Arrivals admitted before sessions get their turn.
const ADMITTED_A_TURN: usize = 32;

/// When a session of a population starts and when it performs no more operations.
#[derive(Clone, Copy, Debug)]
pub struct SessionWindow {
    /// Number of the session in the whole population.
    pub id: u64,
    pub start_ns: u64,
    pub stop_ns: u64,
}

/// Plays users for as long as the session lasts.
pub async fn run_session(shared: Rc<Shared>, window: SessionWindow) {
    let mut player = Player::new(&shared, window.id, window.stop_ns);
    shared.timer.sleep_until(window.start_ns).await;
    let _active = Counted::new(&shared.active);
    let mut free_ns = window.start_ns;
    while free_ns < window.stop_ns {
        free_ns = player.visit(&shared, free_ns, window.stop_ns).await;
        shared.timer.sleep_until(free_ns.min(window.stop_ns)).await;
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

/// An arrival: its number among all, and its instant.
type Arrival = (u64, u64);

/// A place for one session at a time; the task behind it stays when the session has left.
#[derive(Default)]
struct SessionSlot {
    given: Cell<Option<Arrival>>,
    waker: RefCell<Option<Waker>>,
}

/// Lets sessions in as they arrive; each takes a free slot, or a new one.
pub async fn run_arrivals(shared: Rc<Shared>, admission: Admission, process: Process, path: &Path) {
    let free: Rc<RefCell<Vec<Rc<SessionSlot>>>> = Rc::default();
    let (mut slots, mut admitted) = (0, 0);
    let arrivals = Arrivals::new(process, path, shared.job.seed, shared.job.number as u64);
    for (number, at_ns) in (0..).zip(arrivals) {
        if number % admission.of != admission.index {
            continue;
        }
        if at_ns > shared.clock.now() {
            shared.timer.sleep_until(at_ns).await;
        } else if admitted % ADMITTED_A_TURN == ADMITTED_A_TURN - 1 {
            tokio::task::yield_now().await;
        }
        admitted += 1;
        shared.recorder.borrow_mut().sessions(at_ns, SessionCounts { due: 1, ..SessionCounts::default() });
        let slot = free.borrow_mut().pop();
        match slot {
            Some(slot) => {
                slot.given.set(Some((number, at_ns)));
                if let Some(waker) = slot.waker.take() {
                    waker.wake();
                }
            }
            None if slots < admission.most => {
                slots += 1;
                let slot = Rc::new(SessionSlot { given: Cell::new(Some((number, at_ns))), ..SessionSlot::default() });
                tokio::task::spawn_local(receive(shared.clone(), admission, slot, free.clone()));
            }
            None => turn_away(&shared, at_ns, admission.most),
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
        let (number, at_ns) = poll_fn(|context| match slot.given.take() {
            Some(arrival) => Poll::Ready(arrival),
            None => {
                *slot.waker.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
        })
        .await;
        player.session_loop.session.arrive(shared.job.seed, number, admission.owners);
        player.server = shared.job.server_of(number);
        {
            let _active = Counted::new(&shared.active);
            player.visit(&shared, at_ns, end_ns).await;
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
    fn new(shared: &Shared, id: u64, stop_ns: u64) -> Self {
        let session = Session::new(&shared.job.script, shared.job.seed, id);
        Player {
            session_loop: SessionLoop::new(session, stop_ns),
            client: Client::new(shared, id),
            slot: shared.slot(),
            server: shared.job.server_of(id),
        }
    }

    /// Plays one user from `from_ns` on; returns when the next one may come.
    async fn visit(&mut self, shared: &Shared, from_ns: u64, stop_ns: u64) -> u64 {
        let rules = shared.job.rules();
        self.session_loop.begin(&rules, from_ns);
        self.client.renew(shared, self.server);
        count(shared, SessionCounts { begun: 1, ..SessionCounts::default() });
        loop {
            match self.session_loop.next(&rules) {
                Turn::Perform { operation, at_ns } => {
                    if at_ns > self.session_loop.ended_ns() {
                        shared.timer.sleep_until(at_ns).await;
                    }
                    if let Some(next_ns) = self.perform(shared, &rules, operation, at_ns).await {
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
    async fn perform(&mut self, shared: &Shared, rules: &Rules<'_>, operation: usize, intended_ns: u64) -> Option<u64> {
        self.session_loop.session.prepare(rules.script);
        shared.under_way.borrow_mut()[self.slot] = Some((operation, intended_ns));
        let now_ns = shared.clock.now();
        shared.note_start(now_ns, intended_ns);
        let kept = self.session_loop.sent(rules, operation, now_ns);
        shared.recorder.borrow_mut().kept(now_ns, kept.pause, kept.cycle());
        let values = &mut self.session_loop.session.values;
        let outcome = self.client.perform(shared, operation, (intended_ns, now_ns), values).await;
        shared.under_way.borrow_mut()[self.slot] = None;
        shared.recorder.borrow_mut().operation(&outcome);
        if outcome.fault.is_none() {
            self.session_loop.ended(outcome.end_ns);
            return None;
        }
        count(shared, SessionCounts { broken: 1, ..SessionCounts::default() });
        self.client.close(shared);
        Some(self.session_loop.broke(rules, outcome.end_ns))
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
    shared.recorder.borrow_mut().sessions(shared.clock.now(), change);
}
