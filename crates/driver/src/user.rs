//! The life of a session: user after user, pause, operation, pause, until the run ends. Sessions are there from the
//! start (a population) or come by themselves (arrivals).

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use loadstone_record::recorder::{Outcome, SessionCounts};
use loadstone_record::Fault;
use loadstone_schedule::arrivals::Arrivals;
use loadstone_schedule::plan::{PacingKind, Path, Process};
use loadstone_schedule::session::{Departure, Session, Step};

use crate::page::Browser;
use crate::shared::{Counted, Shared};

/// Arrivals admitted before sessions get their turn.
const ADMITTED_A_TURN: usize = 32;

/// When a session of a population starts and when it performs no more operations.
#[derive(Clone, Copy, Debug)]
pub struct Stay {
    /// Number of the session in the whole population.
    pub id: u64,
    pub start_ns: u64,
    pub stop_ns: u64,
}

/// Plays users until `stay.stop_ns`.
pub async fn live(shared: Rc<Shared>, stay: Stay) {
    let mut player = Player::new(&shared, stay.id);
    shared.timer.sleep_until(stay.start_ns).await;
    let _active = Counted::new(&shared.active);
    let mut free_ns = stay.start_ns;
    while free_ns < stay.stop_ns {
        free_ns = player.visit(&shared, stay.stop_ns, free_ns).await;
        shared.timer.sleep_until(free_ns.min(stay.stop_ns)).await;
    }
    player.browser.close(&shared);
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
struct Seat {
    given: Cell<Option<Arrival>>,
    waker: RefCell<Option<Waker>>,
}

/// Lets sessions in as they arrive; each takes a free seat, or a new one.
pub async fn admit(shared: Rc<Shared>, admission: Admission, process: Process, path: &Path) {
    let free: Rc<RefCell<Vec<Rc<Seat>>>> = Rc::default();
    let (mut seats, mut admitted) = (0, 0);
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
        let seat = free.borrow_mut().pop();
        match seat {
            Some(seat) => {
                seat.given.set(Some((number, at_ns)));
                if let Some(waker) = seat.waker.take() {
                    waker.wake();
                }
            }
            None if seats < admission.most => {
                seats += 1;
                let seat = Rc::new(Seat { given: Cell::new(Some((number, at_ns))), ..Seat::default() });
                tokio::task::spawn_local(receive(shared.clone(), admission, seat, free.clone()));
            }
            None => turn_away(&shared, at_ns, admission.most),
        }
    }
}

/// Plays the sessions given to one seat, one after the other.
async fn receive(shared: Rc<Shared>, admission: Admission, seat: Rc<Seat>, free: Rc<RefCell<Vec<Rc<Seat>>>>) {
    let mut player = Player::new(&shared, 0);
    let end_ns = shared.job.phases.end();
    loop {
        let (number, at_ns) = poll_fn(|context| match seat.given.take() {
            Some(arrival) => Poll::Ready(arrival),
            None => {
                *seat.waker.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
        })
        .await;
        player.session.arrive(shared.job.seed, number, admission.owners);
        player.server = shared.job.server_of(number);
        {
            let _active = Counted::new(&shared.active);
            player.visit(&shared, end_ns, at_ns).await;
        }
        free.borrow_mut().push(seat.clone());
    }
}

/// An arrival for which the driver has no session left.
fn turn_away(shared: &Shared, at_ns: u64, most: usize) {
    let fault = Fault::NoSessions;
    shared.trouble(0, fault, &format!("{most} sessions at once on this thread, and all are taken"));
    shared.recorder.borrow_mut().operation(&Outcome::failed(0, at_ns, at_ns + 1, fault));
}

/// One session and the browser its users sit at.
struct Player {
    session: Session,
    browser: Browser,
    /// Number of its seat on this thread.
    seat: usize,
    /// The machine that its users go to.
    server: usize,
}

impl Player {
    fn new(shared: &Shared, id: u64) -> Self {
        let session = Session::new(&shared.job.script, shared.job.seed, id);
        Player { session, browser: Browser::new(shared, id), seat: shared.seat(), server: shared.job.server_of(id) }
    }

    /// Plays one user from `from_ns` on; returns when the next one may come.
    async fn visit(&mut self, shared: &Shared, stop_ns: u64, from_ns: u64) -> u64 {
        let (job, session) = (&*shared.job, &mut self.session);
        session.begin(&job.script);
        self.browser.renew(shared, self.server);
        count(shared, SessionCounts { begun: 1, ..SessionCounts::default() });
        let pacing = job.part.workload.pacing;
        let (mut started_ns, mut ended_ns) = (from_ns, from_ns);
        let mut before: Option<(usize, u64)> = None;
        loop {
            let (state, pause) = match session.next(&job.script) {
                Step::Perform { state, pause } => {
                    let bend = |pause| job.part.curve.as_ref().map_or(pause, |curve| curve.bend(pause, ended_ns));
                    (state, pause.map(bend))
                }
                Step::End(departure) => {
                    let abandoned = u64::from(departure == Departure::Abandoned);
                    let operations_in_finished = u64::from(session.operations());
                    count(
                        shared,
                        SessionCounts { finished: 1, abandoned, operations_in_finished, ..Default::default() },
                    );
                    return ended_ns;
                }
            };
            let intended_ns = pause.map_or(ended_ns, |pause| pacing.next_start(pause, started_ns, ended_ns));
            if intended_ns > ended_ns {
                shared.timer.sleep_until(intended_ns.min(stop_ns)).await;
            }
            if intended_ns >= stop_ns {
                return intended_ns;
            }
            session.prepare(&job.script);
            let operation = job.script.places[state].operation;
            shared.under_way.borrow_mut()[self.seat] = Some((operation, intended_ns));
            let now_ns = shared.clock.now();
            shared.note_start(now_ns, intended_ns);
            if pause.is_some() {
                let actual_ns = now_ns.saturating_sub(ended_ns);
                shared.recorder.borrow_mut().pause(now_ns, intended_ns - ended_ns, actual_ns);
            }
            if let (PacingKind::Cycle, Some(drawn_ns), Some((last, sent_ns))) = (pacing.kind, pause, before) {
                shared.recorder.borrow_mut().cycle(now_ns, last, drawn_ns, now_ns.saturating_sub(sent_ns));
            }
            before = Some((operation, now_ns));
            let times = (intended_ns, now_ns);
            let outcome = self.browser.perform(shared, operation, times, &mut session.values).await;
            shared.under_way.borrow_mut()[self.seat] = None;
            shared.recorder.borrow_mut().operation(&outcome);
            (started_ns, ended_ns) = (intended_ns, outcome.end_ns);
            if outcome.fault.is_some() {
                count(shared, SessionCounts { broken: 1, ..SessionCounts::default() });
                session.break_off();
                self.browser.close(shared);
                // The next user takes this one's pause, so that an absent server is not hammered.
                return ended_ns + session.draw_pause(&job.script);
            }
        }
    }
}

fn count(shared: &Shared, change: SessionCounts) {
    shared.recorder.borrow_mut().sessions(shared.clock.now(), change);
}
