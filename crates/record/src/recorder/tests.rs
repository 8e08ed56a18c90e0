use super::*;
use crate::fault::Fault;
use crate::outcome::{Before, Grade};
use crate::tally::OperationTally;

#[test]
fn only_operations_that_start_and_end_in_steady_state_count() {
    let steady = 100..200;
    assert_eq!(Window::of(100, Some(200), steady.clone()), Window::Inside);
    assert_eq!(Window::of(99, Some(150), steady.clone()), Window::CutAtStart);
    assert_eq!(Window::of(150, Some(201), steady.clone()), Window::CutAtEnd);
    assert_eq!(Window::of(150, None, steady.clone()), Window::CutAtEnd);
    assert_eq!(Window::of(99, Some(201), steady.clone()), Window::Outside);
    assert_eq!(Window::of(20, Some(30), steady), Window::Outside);
}

/// A steady state from 1 s to 2 s, of two operations.
fn recorder() -> Recorder {
    Recorder::new(2, 1_000_000_000..2_000_000_000)
}

const MS: u64 = 1_000_000;

/// An answer with figures that are all different; from `from_ms` to `to_ms`, sent 3 ms late.
fn rich(operation: usize, from_ms: u64, to_ms: u64, grade: Grade) -> Outcome {
    Outcome {
        operation,
        intended_ns: from_ms * MS,
        sent_ns: (from_ms + 3) * MS,
        end_ns: to_ms * MS,
        first_byte_ns: Some(5 * MS),
        line_ns: 7 * MS,
        bytes: 11,
        tally: OperationTally {
            body_bytes: 41,
            embedded: 13,
            conditional: 17,
            not_modified: 19,
            redirects: 23,
            images_named: 29,
            images_loaded: 31,
            image_bytes: 37,
            ..OperationTally::default()
        },
        requests_beside: 0b11,
        grade,
        fault: None,
        status: 200,
        before: Before::default(),
    }
}

/// Requests, good, tolerable, fail, bytes, and errors of one kind.
fn numbers(counts: &OperationCounts) -> [u64; 6] {
    let errors = counts.errors.get(&Fault::Title).copied().unwrap_or(0);
    [counts.requests, counts.good, counts.tolerable, counts.fail, counts.bytes, errors]
}

/// What is summed up of an operation beside its counts.
fn sums(totals: &OperationTotals) -> [u128; 10] {
    let of = |count: u64| u128::from(count);
    [
        of(totals.tally.cut_at_start),
        of(totals.tally.cut_at_end),
        of(totals.tally.overdue),
        of(totals.tally.embedded),
        of(totals.tally.conditional),
        of(totals.tally.not_modified),
        of(totals.tally.redirects),
        totals.line_ns / u128::from(MS),
        totals.ended_ns / u128::from(MS),
        of(totals.response.count()),
    ]
}

/// Pictures and requests beside the pages of this many operations.
fn beside(totals: &OperationTotals, operations: u64) -> bool {
    let counts = [totals.tally.images_named, totals.tally.images_loaded, totals.tally.image_bytes];
    counts == [29, 31, 37].map(|each| each * operations) && totals.requests_beside == [operations; 2]
}

fn played() -> Recorder {
    let mut recorder = recorder();
    recorder.operation(&rich(1, 1000, 1100, Grade::Good));
    recorder.operation(&rich(1, 1200, 1400, Grade::Tolerable));
    recorder.operation(&rich(1, 1500, 2000, Grade::Fail));
    recorder.operation(&rich(1, 900, 1001, Grade::Good)); // cut at the start
    recorder.operation(&rich(1, 950, 1003, Grade::Good)); // cut at the start
    recorder.operation(&rich(1, 1990, 2001, Grade::Good)); // cut at the end
    recorder.operation(&Outcome { bytes: 29, ..Outcome::failed(1, 1600 * MS, 1700 * MS, Fault::Title) });
    recorder.operation(&rich(0, 100, 200, Grade::Good)); // before it all
    recorder
}

#[test]
fn an_interval_has_all_that_ended_and_the_steady_state_what_lies_in_it() {
    let recorder = played();
    assert_eq!(numbers(&recorder.interval.operations[1]), [7, 4, 1, 2, 6 * 11 + 29, 1]);
    assert_eq!(numbers(&recorder.interval.operations[0]), [1, 1, 0, 0, 11, 0]);
    assert_eq!(recorder.interval.response.count(), 7);
    assert_eq!(recorder.interval.service.count(), 7);
    let totals = &recorder.totals.operations[1];
    assert_eq!(numbers(&totals.counts), [4, 1, 1, 2, 3 * 11 + 29, 1]);
    let ended_ms = 100 + 200 + 500 + 101 + 53 + 100;
    assert!(beside(totals, 3));
    assert_eq!(sums(totals), [2, 1, 0, 3 * 13, 3 * 17, 3 * 19, 3 * 23, 3 * 7, ended_ms, 3]);
    assert_eq!(totals.response.sum_ns, u128::from(800 * MS));
    assert_eq!(totals.service.sum_ns, u128::from(791 * MS));
    assert_eq!(totals.first_byte.sum_ns, u128::from(15 * MS));
    assert_eq!(sums(&recorder.totals.operations[0]), [0; 10]);
}

#[test]
fn what_is_merged_is_the_sum_of_both() {
    let (mut totals, mut interval) = (played().totals, played().interval);
    totals.operations[1].tally.overdue = 2;
    let other = totals.clone();
    totals.merge(&other);
    let ended_ms = 2 * (100 + 200 + 500 + 101 + 53 + 100);
    assert_eq!(numbers(&totals.operations[1].counts), [8, 2, 2, 4, 2 * (3 * 11 + 29), 2]);
    assert!(beside(&totals.operations[1], 6));
    assert_eq!(sums(&totals.operations[1]), [4, 2, 4, 6 * 13, 6 * 17, 6 * 19, 6 * 23, 6 * 7, ended_ms, 6]);
    assert_eq!(totals.operations[1].service.count(), 6);
    assert_eq!(totals.operations[1].first_byte.count(), 6);
    interval.merge(&played().interval);
    assert_eq!(numbers(&interval.operations[1]), [14, 8, 2, 4, 2 * (6 * 11 + 29), 2]);
    assert_eq!((interval.response.count(), interval.service.count()), (14, 14));
}

#[test]
fn what_never_ended_is_cut_at_the_end_and_counted_when_overdue() {
    let mut recorder = recorder();
    recorder.unfinished(1, (1500 * MS, 0), 2500 * MS);
    recorder.unfinished(1, (1600 * MS, 0), 2500 * MS);
    recorder.unfinished(1, (500 * MS, 0), 2500 * MS);
    recorder.unfinished(1, (1700 * MS, 400 * MS), 2500 * MS);
    recorder.overdue(1);
    recorder.overdue(1);
    let totals = &recorder.totals.operations[1];
    assert_eq!(sums(totals)[..3], [0, 2, 2]);
    assert_eq!(lives(totals), [(2, 500 + 400), (0, 0), (4, 500 + 400 + 1500 + 700)]);
}

/// Counts and sums in milliseconds of what came into sight under way, was answered, and left otherwise.
fn lives(totals: &OperationTotals) -> [(u64, u128); 3] {
    [&totals.entered, &totals.answered, &totals.lost].map(|ages| (ages.count(), ages.sum_ns / u128::from(MS)))
}

#[test]
fn operations_are_followed_from_when_they_come_into_sight_until_they_leave_it() {
    let mut recorder = recorder();
    for (from_ms, to_ms) in [(900, 1100), (1200, 1300), (1900, 2600), (2100, 2200), (100, 1000), (500, 2500)] {
        recorder.operation(&rich(1, from_ms, to_ms, Grade::Good));
    }
    recorder.operation(&Outcome { fault: Some(Fault::Title), ..rich(1, 1500, 1610, Grade::Fail) });
    let totals = &recorder.totals.operations[1];
    assert_eq!(lives(totals), [(2, 100 + 500), (2, 200 + 100), (3, 100 + 1500 + 110)]);
    assert_eq!(totals.ended_bytes, 3 * 11);
}

#[test]
fn what_was_taken_up_half_way_counts_as_ended_with_all_of_its_time_and_bytes() {
    let mut recorder = recorder();
    let before = Before { ns: 70 * MS, bytes: 1000 };
    for (from_ms, to_ms) in [(0, 1500), (1200, 1300), (1900, 2100)] {
        recorder.operation(&Outcome { before, ..rich(1, from_ms, to_ms, Grade::Good) });
    }
    let totals = &recorder.totals.operations[1];
    assert_eq!([totals.counts.requests, totals.tally.cut_at_start, totals.tally.cut_at_end], [0, 2, 0]);
    assert_eq!(lives(totals), [(3, 1070 + 70 + 70), (2, 1570 + 170), (1, 170)]);
    assert_eq!((totals.ended_ns, totals.ended_bytes), (u128::from((1500 + 100 + 140) * MS), 2 * 1011));
}

#[test]
fn the_longest_gap_of_the_steady_state_is_kept() {
    let mut recorder = recorder();
    for (now_ms, gap_ms) in [(900, 50), (1100, 20), (1200, 10), (2100, 90)] {
        recorder.gap(now_ms * MS, gap_ms * MS);
    }
    let mut totals = recorder.totals.clone();
    totals.merge(&Totals { longest_gap_ns: Longest(30 * MS), ..Totals::new(2) });
    assert_eq!([recorder.totals.longest_gap_ns, totals.longest_gap_ns], [Longest(20 * MS), Longest(30 * MS)]);
}

#[test]
fn all_else_counts_in_the_steady_state_alone() {
    let mut recorder = recorder();
    for now_ns in [999, 1000, 1500, 2000].map(|at| at * MS) {
        recorder.lag(now_ns, 2 * MS);
        recorder.kept(now_ns, Some((30, 31)), Some((1, 40, 43)));
        recorder.kept(now_ns, None, None);
        recorder.sessions(now_ns, SessionCounts { begun: 1, broken: 2, ..SessionCounts::default() });
        recorder.connections(now_ns, ConnectionStats { reconnects: 3, ..ConnectionStats::default() });
        recorder.request(now_ns);
    }
    recorder.unplaced(); // whenever that is
    assert_eq!([999, 1000, 2000].map(|at| recorder.is_steady(at * MS)), [false, true, false]);
    let Totals { lag, pauses, sessions, connections, operations, .. } = &recorder.totals;
    assert_eq!((lag.count(), lag.sum_ns), (2, u128::from(4 * MS)));
    assert_eq!([pauses.count, pauses.drawn_ns, pauses.actual_ns], [2, 60, 62]);
    assert_eq!((recorder.totals.pause.count(), recorder.totals.pause.sum_ns), (2, 62));
    let cycles = operations[1].cycles;
    assert_eq!([cycles.count, cycles.drawn_ns, cycles.actual_ns], [2, 80, 86]);
    assert_eq!([sessions.begun, sessions.broken, sessions.due, sessions.unplaced], [2, 4, 0, 1]);
    assert_eq!([connections.reconnects, connections.http_requests], [6, 2]);
    let mut twice = recorder.totals.clone();
    twice.merge(&recorder.totals);
    assert_eq!([twice.lag.count(), twice.pauses.count, twice.sessions.begun], [4, 4, 4]);
    assert_eq!([twice.connections.reconnects, twice.operations[1].cycles.count], [12, 4]);
}

#[test]
fn words_that_all_answers_have_are_kept_for_each_operation() {
    let mut recorder = Recorder::new(2, 0..1);
    recorder.words(1, b"welcome, first visitor");
    recorder.words(1, b"welcome, second visitor");
    let counts = recorder.totals.operations.iter().map(|operation| operation.words.to_record().len());
    assert_eq!(counts.collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn an_interval_is_handed_over_whole_and_the_next_one_is_empty() {
    let mut recorder = played();
    recorder.lag(0, MS);
    recorder.request(0);
    recorder.connections(0, ConnectionStats { connections: 5, ..ConnectionStats::default() });
    let interval = recorder.take_interval();
    assert_eq!([interval.lag.count(), interval.connections.http_requests, interval.connections.connections], [1, 1, 5]);
    assert_eq!(interval.operations.len(), 2);
    let mut twice = interval.clone();
    twice.merge(&interval);
    assert_eq!([twice.lag.count(), twice.connections.connections], [2, 10]);
    let next = recorder.take_interval();
    assert_eq!(next.operations.len(), 2);
    assert_eq!((numbers(&next.operations[1]), next.lag.count()), ([0; 6], 0));
}
