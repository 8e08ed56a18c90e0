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
