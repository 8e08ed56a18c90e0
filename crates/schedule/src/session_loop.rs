//! The one loop that every session runs, whoever performs its operations: when each begins, what was kept of the pause
//! before it, when the user leaves and when the next one comes.
//!
//! Pure, as all of this crate: the caller waits, performs, and says when. The driver does so with sockets, the
//! discrete-event simulation with a queue of events, the simulation of independent sessions with plain arithmetic.

use crate::plan::PacingKind;
use crate::rules::Rules;
use crate::session::{Departure, Session, Step};
use crate::stationary::{horizon_ns, within_visit, Found, Midway, Place, Times};
use crate::Nanos;

/// What the caller does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turn {
    /// Perform this operation at this instant; it may have passed already.
    Perform { operation: usize, at_ns: Nanos },
    /// Let the server know, at once and uncounted, of an operation that was over when the user was found.
    CatchUp { operation: usize, is_first: bool },
    /// Take up an operation at this instant that was under way when the user was found.
    TakeUp { operation: usize, at_ns: Nanos, midway: Midway },
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
    /// Where the session's first user is found.
    place: Option<Place>,
    /// What of the pause before the operation that comes lay before its user was found.
    paused_ns: Nanos,
    /// How long the operation under way had lasted before its user was found.
    under_way_ns: Nanos,
}

impl SessionLoop {
    /// Plays until `stop_ns`: no operation begins then or later.
    pub fn new(session: Session, stop_ns: Nanos) -> Self {
        SessionLoop {
            session,
            stop_ns,
            started_ns: 0,
            ended_ns: 0,
            pause: None,
            sent: None,
            place: None,
            paused_ns: 0,
            under_way_ns: 0,
        }
    }

    /// Places the session's first user where a long run would find it; call `begin` next. A mix that has neither an end
    /// nor an order has no visits to be in the middle of.
    pub fn settle(&mut self, rules: &Rules<'_>, seed: u64, id: u64, mean_visit_ns: Nanos, times: Times<'_>) {
        if rules.script.is_endless() && !rules.script.is_chain() {
            return;
        }
        let mut left_ns = horizon_ns(seed, id, mean_visit_ns);
        while let Err(length_ns) = self.is_under_way(rules, times, left_ns) {
            left_ns -= length_ns;
        }
    }

    /// Places the session's user where it is `age_ns` after it came; its visit's length when it has left by then.
    pub fn is_under_way(&mut self, rules: &Rules<'_>, times: Times<'_>, age_ns: Nanos) -> Result<(), Nanos> {
        let before = self.session.clone();
        let place = within_visit(&mut self.session, rules, times, age_ns)?;
        self.session = before;
        self.place = Some(place);
        Ok(())
    }

    /// A new user comes at `at_ns`, or one that was placed is found.
    pub fn begin(&mut self, rules: &Rules<'_>, at_ns: Nanos) {
        self.session.due_ns = at_ns;
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

    /// What a pause counts from.
    fn paused_from(&self, rules: &Rules<'_>) -> Nanos {
        match rules.pacing.kind {
            PacingKind::Think => self.ended_ns,
            PacingKind::Cycle => self.started_ns,
        }
    }

    /// Whether the server must first be told of operations that were over when the user was found.
    pub fn is_behind(&self) -> bool {
        let number = self.session.operations();
        self.place.is_some_and(|place| place.ahead > place.skipped.saturating_sub(number))
    }

    /// Decides what comes next.
    pub fn next(&mut self, rules: &Rules<'_>) -> Turn {
        if let Some(place) = self.place.take() {
            return self.find(rules, place);
        }
        let (state, pause) = match self.session.next(rules.script) {
            Step::Perform { state, pause } => (state, pause.map(|pause| rules.bend(pause, self.paused_from(rules)))),
            Step::End(departure) => return Turn::Leave { departure, operations: self.session.operations() },
        };
        let before_ns = std::mem::take(&mut self.under_way_ns);
        let pause = match rules.pacing.kind {
            PacingKind::Cycle => pause.map(|pause| pause.saturating_sub(before_ns)),
            PacingKind::Think => pause,
        };
        let next_start = |pause| rules.pacing.next_start(pause, self.started_ns, self.ended_ns);
        let at_ns = pause.map_or(self.ended_ns, next_start);
        self.pause = pause;
        if at_ns >= self.stop_ns {
            return Turn::Stop { at_ns };
        }
        (self.started_ns, self.session.due_ns) = (at_ns, at_ns);
        Turn::Perform { operation: rules.script.places[state].operation, at_ns }
    }

    /// What a placed user does next: what is over of its visit, then what it was found doing.
    fn find(&mut self, rules: &Rules<'_>, mut place: Place) -> Turn {
        let number = self.session.operations();
        if number < place.skipped {
            self.pass_over(rules, place.skipped - number);
            place.ahead -= place.skipped - number;
        }
        let is_first = number <= place.skipped;
        let state = match self.session.next(rules.script) {
            Step::Perform { state, .. } => state,
            // The visit on paper had this operation; a real answer told that it does not come.
            Step::End(departure) => return Turn::Leave { departure, operations: self.session.operations() },
        };
        let operation = rules.script.places[state].operation;
        if place.ahead > 0 {
            self.place = Some(Place { ahead: place.ahead - 1, ..place });
            return Turn::CatchUp { operation, is_first };
        }
        let (done_ns, left_ns) = match place.found {
            Found::Pausing { done_ns, left_ns } => (done_ns, left_ns),
            Found::Performing(_) => (0, 0),
        };
        // The server takes its time to be told: the user goes on from where it was found when that is done.
        let at_ns = self.ended_ns.saturating_add(left_ns);
        self.pause = matches!(place.found, Found::Pausing { .. }).then_some(done_ns + left_ns);
        self.paused_ns = done_ns;
        if at_ns >= self.stop_ns {
            return Turn::Stop { at_ns };
        }
        (self.started_ns, self.session.due_ns) = (at_ns, at_ns);
        match place.found {
            Found::Pausing { .. } => Turn::Perform { operation, at_ns },
            Found::Performing(midway) => {
                self.under_way_ns = midway.done_ns;
                Turn::TakeUp { operation, at_ns, midway }
            }
        }
    }

    /// Lets the session go through operations that nobody need be told of.
    fn pass_over(&mut self, rules: &Rules<'_>, operations: u32) {
        for _ in 0..operations {
            self.session.next(rules.script);
            self.session.prepare(rules.script);
        }
    }

    /// The operation that `next` named is sent, now.
    pub fn sent(&mut self, rules: &Rules<'_>, operation: usize, now_ns: Nanos) -> Kept {
        let before_ns = std::mem::take(&mut self.paused_ns);
        let kept = |_| (self.started_ns - self.ended_ns + before_ns, now_ns.saturating_sub(self.ended_ns) + before_ns);
        let pause = self.pause.map(kept);
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
        (self.place, self.paused_ns, self.under_way_ns) = (None, 0, 0);
        self.session.break_off();
        end_ns + self.session.draw_pause(rules.script)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::plan::{Curve, Workload};
    use crate::session::Script;

    /// Three operations in a row, pauses of 10 ns, and a curve that halves them from 100 ns on.
    fn script(workload: &Workload) -> Script {
        Script::compile(workload).expect("a workload")
    }

    fn workload(kind: &str) -> Workload {
        let operation = |name: &str| {
            serde_json::json!({
                "name": name, "scheme": "http", "method": "GET", "path": "/", "query": [], "form": [], "body": null,
                "headers": [], "redirects": 0, "extract": [], "embedded": [], "limit": { "kind": "none" },
                "expect": {
                    "status": [200], "title": null, "contains": [], "absent": [], "markers_every": 0, "bytes": null,
                },
                "timeout_ns": 1,
            })
        };
        let state = |(at, name): (usize, &str)| serde_json::json!({ "name": name, "operation": at, "pause": "drawn", "set": [] });
        let names = ["a", "b", "c"];
        serde_json::from_value(serde_json::json!({
            "name": "test", "values": [], "operations": names.map(operation),
            "states": names.iter().enumerate().map(|(at, name)| state((at, name))).collect::<Vec<_>>(),
            "mix": { "kind": "sequence", "states": [2, 0, 1] },
            "pacing": { "kind": kind, "distribution": "fixed", "mean_ns": 10, "cap_ns": null },
            "connections": {
                "protocol": "http1", "parallel": 1, "page_bytes_per_s": null, "embedded_bytes_per_s": null,
                "requests_each": null, "kept_between_users": true, "full_handshakes": 0.0,
            },
        }))
        .expect("a workload")
    }

    fn turns(script: &Script, stop_ns: Nanos) -> SessionLoop {
        SessionLoop::new(Session::new(script, 1, 0), stop_ns)
    }

    #[test]
    fn think_time_begins_where_the_operation_before_ended() {
        let workload = workload("think");
        let script = script(&workload);
        let rules = Rules { script: &script, pacing: workload.pacing, curve: None };
        let mut turns = turns(&script, 1000);
        turns.begin(&rules, 5);
        assert_eq!(turns.next(&rules), Turn::Perform { operation: 2, at_ns: 5 });
        assert_eq!(turns.pause(), None);
        assert_eq!(turns.sent(&rules, 2, 6), Kept::default());
        turns.ended(50);
        assert_eq!(turns.next(&rules), Turn::Perform { operation: 0, at_ns: 60 });
        assert_eq!(turns.pause(), Some(10));
        // Sent 3 ns late.
        assert_eq!(turns.sent(&rules, 0, 63), Kept { pause: Some((10, 13)), cycle: None });
        turns.ended(70);
        assert_eq!(turns.next(&rules), Turn::Perform { operation: 1, at_ns: 80 });
        turns.ended(90);
        assert_eq!(turns.next(&rules), Turn::Leave { departure: Departure::Finished, operations: 3 });
        assert_eq!(turns.ended_ns(), 90);
    }

    #[test]
    fn who_is_found_before_what_an_answer_takes_away_leaves_and_does_not_stop() {
        let mut workload = workload("think");
        workload.operations[2].extract = vec![crate::plan::Extract { value: "ticket".into(), ..Default::default() }];
        (0..2).for_each(|state| workload.states[state].when = vec!["{ticket}".into()]);
        let script = script(&workload);
        let rules = Rules { script: &script, pacing: workload.pacing, curve: None };
        let mut turns = turns(&script, 1000);
        turns.place = Some(Place { skipped: 0, ahead: 1, found: Found::Pausing { done_ns: 0, left_ns: 5 } });
        turns.begin(&rules, 0);
        assert_eq!(turns.next(&rules), Turn::CatchUp { operation: 2, is_first: true });
        assert_eq!(turns.next(&rules), Turn::Leave { departure: Departure::Finished, operations: 1 });
        turns.begin(&rules, 0);
        assert!(matches!(turns.next(&rules), Turn::Perform { operation: 2, .. }), "the next user comes");
    }

    #[test]
    fn cycles_count_from_start_to_start_and_are_forgotten_by_the_next_user() {
        let workload = workload("cycle");
        let script = script(&workload);
        let rules = Rules { script: &script, pacing: workload.pacing, curve: None };
        let mut turns = turns(&script, 1000);
        turns.begin(&rules, 0);
        turns.next(&rules);
        turns.sent(&rules, 2, 1);
        turns.ended(4);
        assert_eq!(turns.next(&rules), Turn::Perform { operation: 0, at_ns: 10 });
        let cycle = Cycle { operation: 2, drawn_ns: 10, actual_ns: 11 };
        let kept = turns.sent(&rules, 0, 12);
        assert_eq!(kept, Kept { pause: Some((6, 8)), cycle: Some(cycle) });
        assert_eq!(kept.cycle(), Some((2, 10, 11)));
        // Its answer takes longer than the cycle: the next one begins at once.
        turns.ended(35);
        assert_eq!(turns.next(&rules), Turn::Perform { operation: 1, at_ns: 35 });
        assert_eq!(turns.broke(&rules, 40), 50);
        turns.begin(&rules, 50);
        assert_eq!(turns.next(&rules), Turn::Perform { operation: 2, at_ns: 50 });
        assert_eq!(turns.sent(&rules, 2, 50), Kept::default());
    }

    #[test]
    fn nothing_begins_at_the_stop_or_after_it() {
        let workload = workload("think");
        let script = script(&workload);
        let rules = Rules { script: &script, pacing: workload.pacing, curve: None };
        for (stop_ns, expected) in [(60, Turn::Stop { at_ns: 60 }), (61, Turn::Perform { operation: 0, at_ns: 60 })] {
            let mut turns = turns(&script, stop_ns);
            turns.begin(&rules, 5);
            turns.next(&rules);
            turns.ended(50);
            assert_eq!(turns.next(&rules), expected);
        }
    }

    #[test]
    fn the_curve_of_the_moment_bends_the_pause() {
        let workload = workload("think");
        let script = script(&workload);
        let curve = Curve { step_ns: 100, factors: vec![1.0, 2.0], shift_ns: 0 };
        let rules = Rules { script: &script, pacing: workload.pacing, curve: Some(&curve) };
        let mut turns = turns(&script, 1000);
        turns.begin(&rules, 0);
        turns.next(&rules);
        turns.ended(80);
        assert_eq!(turns.next(&rules), Turn::Perform { operation: 0, at_ns: 90 });
        // Six units at the usual load, four at twice as much.
        turns.ended(94);
        assert_eq!(turns.next(&rules), Turn::Perform { operation: 1, at_ns: 102 });
        assert_eq!(turns.pause(), Some(8));
    }
}
