//! Where a long run would find a user: part-way through a visit, in a pause or in an operation.
//!
//! Users that all begin at the front page need a whole visit before the pages at its end are asked for as often as
//! declared. So a session is first played on paper, pauses and all, for a few visits; where it stands then is where its
//! user is found when the run begins.

use crate::arrivals::Arrivals;
use crate::plan::{PacingKind, Path, Process, Stage};
use crate::rng::{scramble, Purpose, Stream};
use crate::rules::Rules;
use crate::session::{Session, Step};
use crate::slots::Values;
use crate::Nanos;

/// How long an operation takes where nobody waits, by its number and the values that it was prepared with.
pub type Times<'a> = &'a dyn Fn(usize, &Values) -> Nanos;

/// Visits that the mean length of a visit is taken from.
const VISITS: u64 = 200;
/// Visits on paper before a user is found; one more is spread evenly, so that visits alike do not end together.
const VISITS_BEFORE: f64 = 3.0;
/// Operations after which a visit on paper counts as over: of mixes that hardly end.
const MOST_OPERATIONS: u32 = 1000;
/// Operations on paper before a user of a mix without an end is found: several times as many as between those that begin
/// anew, so that none remembers where all began.
const OPERATIONS_BEFORE: u64 = 20;
/// What the shortest operation counts for, so that visits without pauses take time as well.
const LEAST_NS: Nanos = 1000;

/// Where a user is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Operations of the visit that are over.
    pub ahead: u32,
    /// How many of those the server need not be told of: those before the last that began anew.
    pub skipped: u32,
    pub found: Found,
}

/// What a user is found doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Found {
    /// Pausing before the next operation: for so long since the one before ended, and for so long yet.
    Pausing { done_ns: Nanos, left_ns: Nanos },
    /// Waiting for the next operation's answer.
    Performing(Midway),
}

/// How far an operation has come that was begun before the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Midway {
    pub done_ns: Nanos,
    pub of_ns: Nanos,
}

/// Plays one visit on paper, from its beginning: where it is `age_ns` later, or how long it was when it is over by then.
pub fn within_visit(session: &mut Session, rules: &Rules<'_>, times: Times<'_>, age_ns: Nanos) -> Result<Place, Nanos> {
    session.begin(rules.script);
    let (mut started_ns, mut ended_ns, mut skipped) = (0, 0, 0);
    for ahead in 0..MOST_OPERATIONS {
        let Step::Perform { state, pause } = session.next(rules.script) else { return Err(ended_ns) };
        let from_ns = if rules.pacing.kind == PacingKind::Think { ended_ns } else { started_ns };
        let bent = pause.map(|pause| rules.bend(pause, from_ns));
        started_ns = bent.map_or(ended_ns, |pause| rules.pacing.next_start(pause, started_ns, ended_ns));
        if started_ns > age_ns {
            let found = Found::Pausing { done_ns: age_ns - ended_ns, left_ns: started_ns - age_ns };
            return Ok(Place { ahead, skipped, found });
        }
        session.prepare(rules.script);
        if rules.script.places[state].begins_anew && ended_ns > 0 {
            skipped = ahead;
        }
        let of_ns = times(rules.script.places[state].operation, &session.values).max(LEAST_NS);
        ended_ns = started_ns.saturating_add(of_ns);
        if ended_ns > age_ns {
            let midway = Midway { done_ns: age_ns - started_ns, of_ns };
            return Ok(Place { ahead, skipped, found: Found::Performing(midway) });
        }
    }
    session.break_off();
    Err(ended_ns)
}

/// The mean length of a visit, pauses included; where visits have no end, how long one is played on paper, or 0.
pub fn mean_visit_ns(rules: &Rules<'_>, seed: u64, times: Times<'_>) -> Nanos {
    if rules.script.is_endless() {
        return if rules.script.is_chain() { OPERATIONS_BEFORE * rules.pacing.mean_ns } else { 0 };
    }
    let length = |id| {
        let mut session = Session::new(rules.script, scramble(seed), id);
        within_visit(&mut session, rules, times, Nanos::MAX).err().unwrap_or(0)
    };
    (0..VISITS).map(length).sum::<Nanos>() / VISITS
}

/// How long session `id` is played on paper before its user is found, for visits of so long on the mean.
pub fn horizon_ns(seed: u64, id: u64, mean_visit_ns: Nanos) -> Nanos {
    let visits = VISITS_BEFORE + Stream::new(seed, id, Purpose::Place).unit();
    (visits * mean_visit_ns as f64) as Nanos
}

/// A user that came before the run, or while its rate was still rising, and is found at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earlier {
    /// Its number; those of the run's own arrivals are smaller.
    pub number: u64,
    pub at_ns: Nanos,
    /// How long ago it came.
    pub age_ns: Nanos,
}

/// Mean visits before the run whose users may still be there.
const VISITS_EARLIER: u64 = 6;
/// The number of the first user that came earlier.
const FIRST_EARLIER: u64 = 1 << 40;

/// Users that may be there besides those that arrive along `path`, so that at the end of its first stage as many are
/// there, and as far in their visits, as if its rate had always been what it is then. They are found evenly over that
/// stage. A trace says itself who comes; it has none.
pub fn earlier(process: Process, path: &Path, seed: u64, part: u64, mean_visit_ns: Nanos) -> Vec<Earlier> {
    let Path::Stages { stages } = path else { return Vec::new() };
    let Some(first) = stages.first() else { return Vec::new() };
    let before_ns = mean_visit_ns.saturating_mul(VISITS_EARLIER);
    let steady = Stage { length_ns: before_ns, from_per_s: first.to_per_s, to_per_s: first.to_per_s };
    let missing = (first.to_per_s - first.from_per_s).max(0.0);
    let rising = Stage { length_ns: first.length_ns, from_per_s: missing, to_per_s: 0.0 };
    let path = Path::Stages { stages: vec![steady, rising] };
    let instants = Arrivals::new(process, &path, scramble(seed), part);
    let find = |(number, came_ns): (u64, Nanos)| {
        let from_ns = came_ns.max(before_ns);
        let left_ns = before_ns + first.length_ns - from_ns;
        let chance = Stream::new(seed, number, Purpose::Place).unit();
        let found_ns = from_ns + (left_ns as f64 * chance) as Nanos;
        Earlier { number, at_ns: found_ns - before_ns, age_ns: found_ns - came_ns }
    };
    let mut found: Vec<Earlier> = (FIRST_EARLIER..).zip(instants).map(find).collect();
    found.sort_by_key(|user| user.at_ns);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Workload;
    use crate::session::Script;
    use crate::session_loop::{SessionLoop, Turn};
    use crate::SECOND;

    /// Visits of three pages in a row with ten seconds between them; the second may come again, the last takes a minute.
    fn workload(pacing: &str) -> Workload {
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
        let state = |(at, name): (usize, &&str)| serde_json::json!({ "name": name, "operation": at, "pause": "drawn", "set": [] });
        let row = |to: &[(u32, f64)], finish: f64| {
            let edges = to.iter().map(|(state, chance)| serde_json::json!({ "state": state, "probability": chance }));
            serde_json::json!({ "to": edges.collect::<Vec<_>>(), "finish": finish })
        };
        let names = ["front", "look", "fetch"];
        serde_json::from_value(serde_json::json!({
            "name": "test", "values": [], "operations": names.map(operation),
            "states": names.iter().enumerate().map(state).collect::<Vec<_>>(),
            "mix": {
                "kind": "matrix", "start": 0,
                "rows": [row(&[(1, 1.0)], 0.0), row(&[(1, 0.75), (2, 0.25)], 0.0), row(&[], 1.0)],
            },
            "pacing": { "kind": pacing, "distribution": "exponential", "mean_ns": 10 * SECOND, "cap_ns": null },
            "connections": {
                "protocol": "http1", "parallel": 1, "page_bytes_per_s": null, "embedded_bytes_per_s": null,
                "requests_each": null, "kept_between_users": true, "full_handshakes": 0.0,
            },
        }))
        .expect("a workload")
    }

    fn times(operation: usize, _: &Values) -> Nanos {
        if operation == 2 {
            60 * SECOND
        } else {
            0
        }
    }

    /// How often each operation ended in the first `window_ns` of many sessions that are found on their way.
    fn ended(workload: &Workload, window_ns: Nanos, settles: bool) -> [f64; 3] {
        let script = Script::compile(workload).expect("a workload");
        let rules = Rules { script: &script, pacing: workload.pacing, curve: None };
        let visit_ns = mean_visit_ns(&rules, 1, &times);
        let mut counts = [0.0; 3];
        for id in 0..20_000 {
            let mut turns = SessionLoop::new(Session::new(&script, 1, id), window_ns);
            if settles {
                turns.settle(&rules, 1, id, visit_ns, &times);
            }
            turns.begin(&rules, 0);
            loop {
                let (operation, end_ns) = match turns.next(&rules) {
                    Turn::Perform { operation, at_ns } => (operation, at_ns + times(operation, &turns.session.values)),
                    Turn::TakeUp { operation, at_ns, midway } => (operation, at_ns + midway.of_ns - midway.done_ns),
                    Turn::CatchUp { .. } => continue,
                    Turn::Leave { .. } => {
                        turns.begin(&rules, turns.ended_ns());
                        continue;
                    }
                    Turn::Stop { .. } => break,
                };
                turns.ended(end_ns);
                counts[operation] += if end_ns <= window_ns { 1.0 } else { 0.0 };
                if end_ns > window_ns {
                    break;
                }
            }
        }
        let total: f64 = counts.iter().sum();
        counts.map(|count| count / total)
    }

    #[test]
    fn from_the_first_second_on_operations_have_the_shares_of_a_long_run() {
        // A visit has 1 + 4 + 1 operations. About 20,000 x 20 s x 6 / 110 s end: standard error 0.25 % of the total.
        for pacing in ["think", "cycle"] {
            let shares = ended(&workload(pacing), 20 * SECOND, true);
            for (share, due) in shares.iter().zip([1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0]) {
                assert!((share - due).abs() < 0.01, "{pacing}: {shares:?}");
            }
        }
        assert_eq!(ended(&workload("think"), 20 * SECOND, false)[2], 0.0);
    }

    /// Two operations that follow each other without an end; before the first the browser forgets all it has.
    fn endless() -> Workload {
        let mut declared = serde_json::to_value(workload("cycle")).expect("plain data");
        let page = declared["operations"][0].clone();
        declared["operations"][0]["before"] = serde_json::json!([{ "when": [], "forgets": true, "page": page }]);
        let row = |to: &[(u32, f64)]| {
            let edges = to.iter().map(|(state, chance)| serde_json::json!({ "state": state, "probability": chance }));
            serde_json::json!({ "to": edges.collect::<Vec<_>>(), "finish": 0.0 })
        };
        declared["mix"]["rows"] = serde_json::json!([row(&[(1, 1.0)]), row(&[(1, 0.75), (2, 0.25)]), row(&[(0, 1.0)])]);
        serde_json::from_value(declared).expect("a workload")
    }

    #[test]
    fn without_an_end_users_are_found_half_way_too_and_tell_what_they_still_remember() {
        let workload = endless();
        for (share, due) in ended(&workload, 20 * SECOND, true).iter().zip([1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0]) {
            assert!((share - due).abs() < 0.01, "{share} instead of {due}");
        }
        let script = Script::compile(&workload).expect("a workload");
        let rules = Rules { script: &script, pacing: workload.pacing, curve: None };
        let visit_ns = mean_visit_ns(&rules, 1, &times);
        for id in 0..200 {
            let mut turns = SessionLoop::new(Session::new(&script, 1, id), Nanos::MAX);
            turns.settle(&rules, 1, id, visit_ns, &times);
            turns.begin(&rules, 0);
            let mut told = Vec::new();
            while let Turn::CatchUp { operation, is_first } = turns.next(&rules) {
                assert_eq!(is_first, told.is_empty());
                told.push(operation);
            }
            assert!(turns.session.operations() > 5, "each has been there for a while");
            let begins = told.iter().filter(|&&operation| operation == 0).count();
            assert!(
                begins == usize::from(!told.is_empty()) && told.first().is_none_or(|&first| first == 0),
                "{told:?}"
            );
        }
    }

    #[test]
    fn a_visit_takes_its_pauses_and_its_operations() {
        let workload = workload("think");
        let script = Script::compile(&workload).expect("a workload");
        let rules = Rules { script: &script, pacing: workload.pacing, curve: None };
        // Five pauses of ten seconds on the mean, and a minute; standard error of 200 visits about 3 s.
        let mean_s = mean_visit_ns(&rules, 1, &times) as f64 / SECOND as f64;
        assert!((mean_s - 110.0).abs() < 12.0, "{mean_s}");
    }

    #[test]
    fn what_is_over_is_caught_up_with_before_the_user_goes_on() {
        let workload = workload("think");
        let script = Script::compile(&workload).expect("a workload");
        let rules = Rules { script: &script, pacing: workload.pacing, curve: None };
        let mut caught = 0;
        for id in 0..100 {
            let mut turns = SessionLoop::new(Session::new(&script, 1, id), Nanos::MAX);
            turns.settle(&rules, 1, id, 100 * SECOND, &times);
            turns.begin(&rules, 5);
            let mut before = Vec::new();
            let now = loop {
                match turns.next(&rules) {
                    Turn::CatchUp { operation, is_first } => {
                        assert_eq!(is_first, before.is_empty());
                        before.push(operation);
                    }
                    Turn::Perform { operation, .. } => break operation,
                    Turn::TakeUp { operation, midway, .. } => {
                        assert!(midway.done_ns < midway.of_ns);
                        break operation;
                    }
                    other => panic!("{other:?}"),
                }
            };
            assert_eq!(turns.session.operations() as usize, before.len() + 1);
            assert!(
                before.iter().skip(1).all(|&operation| operation == 1) && before.iter().take(1).all(|&one| one == 0)
            );
            assert_eq!(now == 0, before.is_empty());
            caught += usize::from(!before.is_empty());
        }
        assert!(caught > 80, "{caught}");
    }

    #[test]
    fn a_pause_that_began_before_counts_as_a_whole() {
        let workload = workload("think");
        let script = Script::compile(&workload).expect("a workload");
        let rules = Rules { script: &script, pacing: workload.pacing, curve: None };
        let (mut kept_ns, mut pauses) = (0, 0);
        for id in 0..20_000 {
            let mut turns = SessionLoop::new(Session::new(&script, 1, id), Nanos::MAX);
            turns.settle(&rules, 1, id, 110 * SECOND, &times);
            turns.begin(&rules, 0);
            let (operation, at_ns) = loop {
                match turns.next(&rules) {
                    Turn::CatchUp { .. } => {}
                    Turn::Perform { operation, at_ns } | Turn::TakeUp { operation, at_ns, .. } => {
                        break (operation, at_ns)
                    }
                    other => panic!("{other:?}"),
                }
            };
            if let Some((intended_ns, actual_ns)) = turns.sent(&rules, operation, at_ns + 3).pause {
                assert_eq!(actual_ns, intended_ns + 3);
                kept_ns += intended_ns;
                pauses += 1;
            }
        }
        // A pause in which somebody is found is twice as long as others: 20 s; standard error 0.13 s.
        let mean_s = kept_ns as f64 / f64::from(pauses) / SECOND as f64;
        assert!((mean_s - 20.0).abs() < 0.6, "{mean_s}");
    }

    #[test]
    fn a_server_that_takes_long_to_be_told_changes_no_pause() {
        let workload = workload("think");
        let script = Script::compile(&workload).expect("a workload");
        let rules = Rules { script: &script, pacing: workload.pacing, curve: None };
        for id in 0..200 {
            let found_pause = |told_in_ns: Nanos| {
                let mut turns = SessionLoop::new(Session::new(&script, 1, id), Nanos::MAX);
                turns.settle(&rules, 1, id, 100 * SECOND, &times);
                turns.begin(&rules, 0);
                loop {
                    match turns.next(&rules) {
                        Turn::CatchUp { .. } => turns.ended(turns.ended_ns() + told_in_ns),
                        Turn::Perform { operation, at_ns } => break turns.sent(&rules, operation, at_ns).pause,
                        Turn::TakeUp { .. } => break None,
                        other => panic!("{other:?}"),
                    }
                }
            };
            assert_eq!(found_pause(0), found_pause(30 * SECOND));
        }
    }

    #[test]
    fn users_that_came_earlier_make_up_for_the_rising_rate() {
        let visit_ns = 100 * SECOND;
        let stage = Stage { length_ns: 10 * SECOND, from_per_s: 0.0, to_per_s: 50.0 };
        let path = Path::Stages { stages: vec![stage, Stage { from_per_s: 50.0, ..stage }] };
        let found = earlier(Process::Constant, &path, 1, 0, visit_ns);
        // 600 s at 50 a second, and half of what ten seconds would have brought.
        assert!(found.len().abs_diff(30_000 + 250) <= 1, "{}", found.len());
        assert!(found.iter().all(|user| user.at_ns <= 10 * SECOND));
        // They came evenly over all of the time before the end of the stage that brings too few.
        let came = |user: &Earlier| user.at_ns as i64 - user.age_ns as i64;
        let late = found.iter().filter(|user| came(user) > 0).count();
        assert!(late.abs_diff(250) <= 1, "{late}");
        assert!(found.is_sorted_by_key(|user| user.at_ns));
        assert_eq!(earlier(Process::Poisson, &Path::Trace { at_ns: vec![1] }, 1, 0, visit_ns), []);
    }
}
