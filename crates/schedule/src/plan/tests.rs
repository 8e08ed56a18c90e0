use super::*;

#[test]
fn phases_follow_each_other_and_each_begins_where_the_one_before_ends() {
    let phases = Phases { ramp_up_ns: 2, warm_up_ns: 3, steady_ns: 5, ramp_down_ns: 7 };
    assert_eq!([phases.steady_start(), phases.steady_end(), phases.end()], [5, 10, 17]);
    let at = [0, 1, 2, 4, 5, 9, 10, 16, 17].map(|at| phases.at(at));
    use Phase::*;
    assert_eq!(at, [RampUp, RampUp, WarmUp, WarmUp, Steady, Steady, RampDown, RampDown, Done]);
}

#[test]
fn ten_years_are_sane_and_more_is_not() {
    let most = 315_619_200_000_000_000;
    let phases = |steady_ns| Phases { ramp_up_ns: 0, warm_up_ns: 0, steady_ns, ramp_down_ns: 0 };
    assert!(phases(most).are_sane());
    assert!(!phases(most + 1).are_sane());
}

#[test]
fn methods_are_written_as_in_requests() {
    let all = [Method::Get, Method::Head, Method::Post, Method::Put, Method::Patch, Method::Delete];
    assert_eq!(all.map(Method::as_str), ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);
}

#[test]
fn drivers_play_blocks_of_their_threads_in_turn() {
    let played = |index| (0..12).filter(move |&number| Member { index, of: 3 }.plays(number, 2)).collect::<Vec<u64>>();
    assert_eq!([played(0), played(1), played(2)], [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]]);
    assert!((0..12).all(|number| Member::default().plays(number, 2)));
}
