//! The one loop that every session runs, whoever performs its operations: when each begins, what was kept of the pause
//! before it, when the user leaves and when the next one comes.
//!
//! Pure, as all of this crate: the caller waits, performs, and says when. The driver does so with sockets, the
//! discrete-event simulation with a queue of events, the simulation of independent sessions with plain arithmetic.

use crate::plan::{Curve, Pacing, PacingKind, Part};
use crate::session::{Departure, Script, Session, Step};
use crate::Nanos;

/// What all sessions of a part have in common.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    pub script: &'a Script,
    pub pacing: Pacing,
    pub curve: Option<&'a Curve>,
}

impl<'a> Rules<'a> {
    /// The rules of a part whose workload was compiled to `script`.
    pub fn of(part: &'a Part, script: &'a Script) -> Self {
        Rules { script, pacing: part.workload.pacing, curve: part.curve.as_ref() }
    }

    /// A drawn pause as it is at a moment of the run.
    fn bend(&self, pause: Nanos, at_ns: Nanos) -> Nanos {
        self.curve.map_or(pause, |curve| curve.bend(pause, at_ns))
    }
}

/// What the caller does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turn {
    /// Perform this operation at this instant; it may have passed already.
    Perform { operation: usize, at_ns: Nanos },
    /// The user has left; call `begin` for the next one, who may come at once.
    Leave { departure: Departure, operations: u32 },
    /// The next operation would begin at this instant, when the session plays no more.
    Stop { at_ns: Nanos },
}

/// A cycle time as drawn and as kept: from start to start of two operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycle {
    /// The operation whose start began it.
    pub operation: usize,
    pub drawn_ns: Nanos,
    pub actual_ns: Nanos,
}

/// What was kept of the pause before an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kept {
    /// From the end of the operation before: as intended, as it came. None where the user does not pause.
    pub pause: Option<(Nanos, Nanos)>,
    /// None for the first operation of a user, and where pauses are think times.
    pub cycle: Option<Cycle>,
}

impl Kept {
    /// The cycle as it is recorded: operation, time drawn, time kept.
    pub fn cycle(&self) -> Option<(usize, Nanos, Nanos)> {
        self.cycle.map(|cycle| (cycle.operation, cycle.drawn_ns, cycle.actual_ns))
    }
}

/// One session in time: user after user.
#[derive(Clone, Debug)]
pub struct SessionLoop {
    pub session: Session,
    stop_ns: Nanos,
    /// When the operation before was due, and when it ended.
    started_ns: Nanos,
    ended_ns: Nanos,
    /// The pause before the operation that comes.
    pause: Option<Nanos>,
    /// The user's operation before, and when it was really sent.
    sent: Option<(usize, Nanos)>,
}

impl SessionLoop {
    /// Plays until `stop_ns`: no operation begins then or later.
    pub fn new(session: Session, stop_ns: Nanos) -> Self {
        SessionLoop { session, stop_ns, started_ns: 0, ended_ns: 0, pause: None, sent: None }
    }

    /// A new user comes at `at_ns`.
    pub fn begin(&mut self, rules: &Rules<'_>, at_ns: Nanos) {
        self.session.begin(rules.script);
        (self.started_ns, self.ended_ns, self.sent) = (at_ns, at_ns, None);
    }

    /// When the last operation ended, or the user came.
    pub fn ended_ns(&self) -> Nanos {
        self.ended_ns
    }

    /// The pause before the operation that `next` named last, as drawn and bent by the load's curve.
    pub fn pause(&self) -> Option<Nanos> {
        self.pause
    }

    /// Decides what comes next.
    pub fn next(&mut self, rules: &Rules<'_>) -> Turn {
        let (state, pause) = match self.session.next(rules.script) {
            Step::Perform { state, pause } => (state, pause.map(|pause| rules.bend(pause, self.ended_ns))),
            Step::End(departure) => return Turn::Leave { departure, operations: self.session.operations() },
        };
        let next_start = |pause| rules.pacing.next_start(pause, self.started_ns, self.ended_ns);
        let at_ns = pause.map_or(self.ended_ns, next_start);
        self.pause = pause;
        if at_ns >= self.stop_ns {
            return Turn::Stop { at_ns };
        }
        self.started_ns = at_ns;
        Turn::Perform { operation: rules.script.places[state].operation, at_ns }
    }

    /// The operation that `next` named is sent, now.
    pub fn sent(&mut self, rules: &Rules<'_>, operation: usize, now_ns: Nanos) -> Kept {
        let pause = self.pause.map(|_| (self.started_ns - self.ended_ns, now_ns.saturating_sub(self.ended_ns)));
        let cycle = match (rules.pacing.kind, self.pause, self.sent) {
            (PacingKind::Cycle, Some(drawn_ns), Some((operation, sent_ns))) => {
                Some(Cycle { operation, drawn_ns, actual_ns: now_ns.saturating_sub(sent_ns) })
            }
            _ => None,
        };
        self.sent = Some((operation, now_ns));
        Kept { pause, cycle }
    }

    /// The operation ended well.
    pub fn ended(&mut self, end_ns: Nanos) {
        self.ended_ns = end_ns;
    }

    /// The operation failed, and its user gives up. Returns when the next one comes: it takes this one's pause, so that
    /// an absent server is not hammered.
    pub fn broke(&mut self, rules: &Rules<'_>, end_ns: Nanos) -> Nanos {
        self.ended_ns = end_ns;
        self.session.break_off();
        end_ns + self.session.draw_pause(rules.script)
    }
}
