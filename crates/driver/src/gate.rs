//! What stands between a thread's sessions and the start of the clock: each has its turn to tell its server what its user
//! did before, a few at a time, and then waits until everyone may begin.

use std::cell::Cell;
use std::rc::Rc;

use tokio::sync::{mpsc, watch, Semaphore, SemaphorePermit};

/// Most sessions of a thread that tell their servers at once: as many as keep a server busy and no more, since nothing of
/// this is measured.
const MOST_AT_ONCE: u64 = 16;
/// So many rounds of sessions that tell at once are always allowed: few sessions do so in turn, since many sites lose
/// some of the log-ins of one account that come at the same instant.
const ROUNDS: u64 = 16;
/// Failures in a row after which nobody is told any more: the run itself will show what is wrong, and sooner.
const MOST_FAILURES: u32 = 32;

/// Lets sessions through; each has its copy.
#[derive(Clone)]
pub struct Gate {
    turns: Rc<Semaphore>,
    failures: Rc<Cell<u32>>,
    /// Held until its session is ready.
    unready: mpsc::Sender<()>,
    opened: watch::Receiver<bool>,
}

/// Knows when all sessions are ready, and lets them begin.
pub struct Gatekeeper {
    unready: mpsc::Receiver<()>,
    opens: watch::Sender<bool>,
}

impl Gate {
    /// A gate for so many sessions that is closed, and its keeper. All copies of the gate must be handed out, or dropped.
    pub fn closed(sessions: u64) -> (Self, Gatekeeper) {
        let (held, unready) = mpsc::channel(1);
        let (opens, opened) = watch::channel(false);
        let turns = Rc::new(Semaphore::new(at_once(sessions)));
        (Gate { turns, failures: Rc::default(), unready: held, opened }, Gatekeeper { unready, opens })
    }

    /// Waits for a turn, which lasts as long as what is returned.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }

    /// A server was told something, or did not take it.
    pub fn told(&self, well: bool) {
        self.failures.set(if well { 0 } else { self.failures.get() + 1 });
    }

    /// Whether telling more makes no sense.
    pub fn is_in_vain(&self) -> bool {
        self.failures.get() >= MOST_FAILURES
    }

    /// Its session is ready; waits until all may begin.
    pub async fn pass(self) {
        let Gate { unready, mut opened, .. } = self;
        drop(unready);
        let _ = opened.wait_for(|&is_open| is_open).await;
    }
}

/// How many of so many sessions tell their servers at once.
fn at_once(sessions: u64) -> usize {
    (sessions / ROUNDS).clamp(1, MOST_AT_ONCE) as usize
}

impl Gatekeeper {
    /// Waits until all sessions are ready.
    pub async fn ready(&mut self) {
        while self.unready.recv().await.is_some() {}
    }

    /// Lets all begin.
    pub fn open(&self) {
        let _ = self.opens.send(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_sessions_tell_in_turn_and_many_a_few_at_a_time() {
        assert_eq!([0, 3, 31, 32, 160, 256, 100_000].map(at_once), [1, 1, 1, 2, 10, 16, 16]);
    }

    #[test]
    fn nobody_begins_before_all_are_ready_and_told_to() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let (gate, mut keeper) = Gate::closed(256);
        let begun = Rc::new(Cell::new(0));
        runtime.block_on(tokio::task::LocalSet::new().run_until(async {
            for _ in 0..40 {
                let (gate, begun) = (gate.clone(), begun.clone());
                tokio::task::spawn_local(async move {
                    let turn = gate.turn().await;
                    assert!(gate.turns.available_permits() < MOST_AT_ONCE as usize);
                    tokio::task::yield_now().await;
                    drop(turn);
                    gate.pass().await;
                    begun.set(begun.get() + 1);
                });
            }
            drop(gate);
            keeper.ready().await;
            assert_eq!(begun.get(), 0);
            keeper.open();
            while begun.get() < 40 {
                tokio::task::yield_now().await;
            }
        }));
    }

    #[test]
    fn telling_is_in_vain_after_many_failures_in_a_row() {
        let (gate, _keeper) = Gate::closed(256);
        for _ in 0..MOST_FAILURES - 1 {
            gate.told(false);
        }
        assert!(!gate.is_in_vain());
        gate.told(true);
        gate.told(false);
        assert!(!gate.is_in_vain());
        for _ in 0..MOST_FAILURES {
            gate.told(false);
        }
        assert!(gate.is_in_vain());
    }
}
