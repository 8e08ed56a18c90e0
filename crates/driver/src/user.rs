//! The life of one session of the population: user after user, pause, operation, pause, until the run ends.

use std::rc::Rc;

use loadstone_record::recorder::SessionCounts;
use loadstone_schedule::session::{Departure, Session, Step};

use crate::page::Browser;
use crate::shared::{Counted, Shared};

/// When a session starts and when it performs no more operations.
#[derive(Clone, Copy, Debug)]
pub struct Stay {
    /// Number of the session in the whole population.
    pub id: u64,
    /// Number among this thread's sessions.
    pub local: usize,
    pub start_ns: u64,
    pub stop_ns: u64,
}

/// Plays users until `stay.stop_ns`.
pub async fn live(shared: Rc<Shared>, stay: Stay) {
    let job = shared.job.clone();
    let mut session = Session::new(&job.script, job.plan.seed, stay.id);
    let mut browser = Browser::new(&shared);
    shared.timer.sleep_until(stay.start_ns).await;
    let _active = Counted::new(&shared.active);
    let mut free_ns = stay.start_ns;
    while free_ns < stay.stop_ns {
        session.begin(&job.script);
        browser.renew(&shared);
        count(&shared, SessionCounts { begun: 1, ..SessionCounts::default() });
        free_ns = visit(&shared, &mut session, &mut browser, stay, free_ns).await;
    }
    browser.close(&shared);
}

/// Plays one user; returns when the next one may come.
async fn visit(shared: &Shared, session: &mut Session, browser: &mut Browser, stay: Stay, from_ns: u64) -> u64 {
    let job = shared.job.clone();
    let pacing = job.plan.workload.pacing;
    let (mut started_ns, mut ended_ns) = (from_ns, from_ns);
    loop {
        let (state, pause) = match session.next(&job.script) {
            Step::Perform { state, pause } => (state, pause),
            Step::End(departure) => {
                let abandoned = u64::from(departure == Departure::Abandoned);
                let operations_in_finished = u64::from(session.operations());
                count(shared, SessionCounts { finished: 1, abandoned, operations_in_finished, ..Default::default() });
                return ended_ns;
            }
        };
        let intended_ns = pause.map_or(ended_ns, |pause| pacing.next_start(pause, started_ns, ended_ns));
        shared.timer.sleep_until(intended_ns.min(stay.stop_ns)).await;
        if intended_ns >= stay.stop_ns {
            return intended_ns;
        }
        keep_books(shared, intended_ns, pause, ended_ns);
        session.prepare(&job.script);
        let operation = job.script.places[state].operation;
        shared.under_way.borrow_mut()[stay.local] = Some((operation, intended_ns));
        let outcome = browser.perform(shared, operation, intended_ns, &mut session.values).await;
        shared.under_way.borrow_mut()[stay.local] = None;
        shared.recorder.borrow_mut().operation(&outcome);
        (started_ns, ended_ns) = (intended_ns, outcome.end_ns);
        if outcome.fault.is_some() {
            count(shared, SessionCounts { broken: 1, ..SessionCounts::default() });
            session.break_off();
            browser.close(shared);
            // The next user takes this one's pause, so that an absent server is not hammered.
            return ended_ns + session.draw_pause(&job.script);
        }
    }
}

fn keep_books(shared: &Shared, intended_ns: u64, pause: Option<u64>, ended_ns: u64) {
    let now = shared.clock.now();
    let mut recorder = shared.recorder.borrow_mut();
    recorder.lag(now, now.saturating_sub(intended_ns));
    if pause.is_some() {
        recorder.pause(now, intended_ns - ended_ns, now.saturating_sub(ended_ns));
    }
}

fn count(shared: &Shared, change: SessionCounts) {
    shared.recorder.borrow_mut().sessions(shared.clock.now(), change);
}
