//! The state of a simulation: what is due, the sessions, and the parts of the plan.

use loadstone_record::event::PartNames;
use loadstone_record::{Outcome, PunctualRecorder};
use loadstone_schedule::arrivals::Arrivals;
use loadstone_schedule::plan::Part;
use loadstone_schedule::rules::Rules;
use loadstone_schedule::session::{Script, Session};
use loadstone_schedule::session_loop::SessionLoop;
use loadstone_schedule::slots::Values;
use loadstone_schedule::stationary::Earlier;

/// What operations take on paper: how long they'll queue at the station, nobody knows before.
pub const AT_ONCE: fn(usize, &Values) -> u64 = |_, _| 0;

/// What is due at an instant. Kept small: the queue moves each several times.
#[derive(Debug)]
pub enum Due {
    /// The next of a part's arrivals.
    Arrival { part: u32 },
    /// A user that came earlier.
    Found { part: u32, user: Box<Earlier> },
    /// A new user of a session.
    Begin { slot: u32 },
    /// An operation, after a pause or at once.
    Start { slot: u32, operation: u32 },
    /// The answer to a session's operation is there.
    End { slot: u32 },
    /// A visitor leaves.
    Leave { slot: u32 },
}

/// A slot for one session: for ever in a population, for one user where they arrive.
pub struct SessionSlot {
    pub part: usize,
    pub session_loop: SessionLoop,
    pub stop_ns: u64,
    pub is_visitor: bool,
    /// The outcome of an operation that ends in a later interval.
    pub under_way: Option<Box<Outcome>>,
}

/// One part: its record and the state of its arrivals.
pub struct PartState<'a> {
    pub part: &'a Part,
    pub seed: u64,
    pub rules: Rules<'a>,
    /// The mean length of a visit where nobody waits; 0 where visits have no end.
    pub visit_ns: u64,
    pub names: PartNames,
    pub recorder: PunctualRecorder,
    pub arrivals: Option<(Arrivals<'a>, u64)>,
    pub active: u64,
}

/// A session that draws values only if what it does next depends on them: nobody sends its requests.
pub fn new_session(script: &Script, seed: u64, id: u64) -> Session {
    match script.depends_on_values() {
        true => Session::new(script, seed, id),
        false => Session::without_values(script, seed, id),
    }
}

impl SessionSlot {
    /// A slot that is played until `stop_ns`.
    pub fn new(part: usize, session: Session, stop_ns: u64, is_visitor: bool) -> Self {
        SessionSlot { part, session_loop: SessionLoop::new(session, stop_ns), stop_ns, is_visitor, under_way: None }
    }
}
