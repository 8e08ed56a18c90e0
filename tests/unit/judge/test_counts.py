"""Rules about what operations bring, the mix in points, the cycle of sessions, and times weighted by the mix."""

import math
from dataclasses import replace

import pytest

from loadstone.judge import counts, mix
from loadstone.judge.chance import SURE
from loadstone.judge.check import WEB_WORKLOADS_SOURCE, describe_limits_source
from loadstone.judge.rules import apply_rules, compute_weighted_s
from loadstone.model.figures import NO_SESSIONS, CountLimit, Criteria, Distribution, IterationFigures, OperationFigures
from loadstone.model.profile import Rigor
from loadstone.model.records.check import Check, CheckId, Outcome, Weight
from tests.records import iteration, operation, small_criteria

HOME = CountLimit("pictures fetched", "page", of="images_loaded", at_least=3)
ATTEND = CountLimit("attendees", "page", place=1, at_least=0.06)


def held(limit: CountLimit, *, rigor: Rigor = Rigor.FULL, requests: int = 1000, **brought: object) -> list[Check]:
    page = replace(operation("page", requests, 0.1), **brought)  # type: ignore[arg-type]
    return list(counts.check_counts(small_criteria(count_limits=(limit,), rigor=rigor), iteration((page,), 100.0)))


def outcomes(found: list[Check]) -> list[Outcome]:
    return [check.outcome for check in found]


def test_a_mean_is_held_against_its_bounds() -> None:
    assert outcomes(held(HOME, images_loaded=3000)) == [Outcome.KEPT]
    (broken,) = held(HOME, images_loaded=2999)
    assert (broken.id, broken.outcome, broken.rule) == (CheckId.COUNT, Outcome.BROKEN, "pictures fetched")
    both = replace(HOME, of="images_named", at_least=9.5, at_most=10.5)
    assert outcomes(held(both, images_named=11_000)) == [Outcome.KEPT, Outcome.BROKEN]


def test_requests_are_told_apart_by_their_place() -> None:
    assert outcomes(held(ATTEND, requests_beside=(0, 60))) == [Outcome.KEPT]
    assert outcomes(held(ATTEND, requests_beside=(1000, 59))) == [Outcome.BROKEN]
    assert outcomes(held(ATTEND, requests_beside=(1000,))) == [Outcome.BROKEN], "never made"


def test_short_runs_are_given_what_chance_may_do_and_no_more() -> None:
    # Of 100 pages 4 were attended, where 6 are the least: chance does that often. Of 10,000 it does not.
    assert outcomes(held(ATTEND, rigor=Rigor.REDUCED, requests=100, requests_beside=(0, 4))) == [Outcome.KEPT]
    few = held(ATTEND, rigor=Rigor.REDUCED, requests=10_000, requests_beside=(0, 400))
    assert outcomes(few) == [Outcome.BROKEN]
    assert outcomes(held(HOME, rigor=Rigor.REDUCED, requests=10_000, images_loaded=0)) == [Outcome.BROKEN]


@pytest.mark.parametrize(
    ("of", "most"),
    [
        ("", 1.0),  # a user makes the request or not
        ("images_loaded", 10.0),  # and loads all pictures of a page or none
        ("image_bytes", 10 * 250.0),  # of 250 bytes each
        ("images_named", 3.0),  # every page names as many
    ],
)
def test_chance_is_of_one_operation_with_all_or_nothing(of: str, most: float) -> None:
    bound = 3.0 if of else 0.3
    limit = replace(HOME, of=of, place=0, at_least=bound, at_most=bound)
    brought = {"images_loaded": 40, "image_bytes": 10_000, "images_named": 300, "requests_beside": (30,)}
    checks = held(limit, rigor=Rigor.REDUCED, requests=100, **brought)
    chance = SURE * math.sqrt(bound * (most - bound)) / 10
    assert [check.limit for check in checks] == [pytest.approx(max(0.0, bound - chance)), pytest.approx(bound + chance)]
    source = describe_limits_source(small_criteria())
    assert {(check.unit, check.weight, check.source) for check in checks} == {("", Weight.INVALID, source)}
    detail = f"for each of 100 page; chance may do {chance:.2g} to so few" if chance else "for each of 100 page"
    assert {check.detail for check in checks} == {detail}


def test_a_rule_says_nothing_where_its_operation_never_ran() -> None:
    assert held(HOME, requests=0) == []


def asked(**changes: object) -> Criteria:
    own = {"pacing": "cycle", "expected_shares": {"rare": 0.01, "usual": 0.99}, "rigor": Rigor.FULL, "sessions": 50}
    return small_criteria(**(own | changes))


def played(rare: int, usual: int, steady_s: float = 100.0) -> IterationFigures:
    return iteration((operation("rare", rare, 0.1), operation("usual", usual, 0.1)), steady_s)


def by_id(found: list[Check], name: CheckId) -> Check:
    return next(check for check in found if check.id is name)


def test_shares_may_be_off_by_points_so_that_a_rare_operation_may_vanish_by_that_rule_alone() -> None:
    found = list(mix.check_mix(asked(mix_points=2.0), played(0, 10_000)))
    assert by_id(found, CheckId.MIX_POINTS).outcome is Outcome.KEPT
    assert by_id(found, CheckId.UNSAMPLED).outcome is Outcome.BROKEN
    assert by_id(found, CheckId.SHARES).outcome is Outcome.BROKEN
    found = list(mix.check_mix(asked(mix_points=2.0), played(310, 9_690)))
    assert by_id(found, CheckId.MIX_POINTS).outcome is Outcome.BROKEN


@pytest.mark.parametrize(("answered", "outcome"), [(953, Outcome.KEPT), (952, Outcome.BROKEN)])
def test_sessions_must_bring_their_operations(answered: int, outcome: Outcome) -> None:
    # 50 sessions for 100 s, at most 5.25 s each: 952.4 operations.
    found = list(mix.check_mix(asked(most_cycle_s=5.25), played(9, answered - 9)))
    assert by_id(found, CheckId.SESSION_CYCLE).outcome is outcome


def timed(rare_s: float, usual_s: float) -> IterationFigures:
    def one(name: str, count: int, seconds: float) -> OperationFigures:
        times = Distribution(count, seconds, {90.0: seconds, 100.0: seconds})
        return replace(operation(name, count, seconds), response=times)

    return iteration((one("rare", 100, rare_s), one("usual", 9_900, usual_s)), 100.0)


def test_times_are_weighted_by_the_declared_mix_and_the_tightest_kind_is_named() -> None:
    held_to = asked(each_share_pct=90.0, limits_s={"rare": 4.0, "usual": 1.0})
    assert compute_weighted_s(held_to, timed(2.0, 0.1)) == pytest.approx(0.01 * 2.0 + 0.99 * 0.1)
    check = by_id(list(apply_rules(held_to, timed(2.0, 0.1))), CheckId.WEIGHTED_PERCENTILE)
    assert (check.limit, check.outcome) == (pytest.approx(0.01 * 4 + 0.99), Outcome.KEPT)
    assert check.detail == "p90; rare uses most of its limit, 50 %"
    assert (check.unit, check.weight, check.source) == ("s", Weight.NOTE, describe_limits_source(held_to))
    assert compute_weighted_s(held_to, timed(0.0, 0.1)) == pytest.approx(0.99 * 0.1)
    assert compute_weighted_s(asked(each_share_pct=90.0), timed(2.0, 0.1)) is None, "kinds are not judged by themselves"
    assert compute_weighted_s(replace(held_to, expected_shares={}), timed(2.0, 0.1)) is None, "there is no mix"


@pytest.mark.parametrize(
    ("dispersion", "due", "outcome"),
    [
        (0.0, 238, Outcome.KEPT),
        (0.0, 237, Outcome.BROKEN),
        (1.0, 190, Outcome.KEPT),
        (1.0, 117, Outcome.BROKEN),
        (1.0, 0, Outcome.BROKEN),
        (9.0, 117, Outcome.KEPT),
    ],
)
def test_a_driver_that_brings_too_few_arrivals_makes_the_run_invalid(
    dispersion: float, due: int, outcome: Outcome
) -> None:
    one = replace(played(9, 991), sessions=replace(NO_SESSIONS, due=due, begun=due))
    held_to = asked(due=240.0, due_dispersion=dispersion, pacing="think", rigor=Rigor.REDUCED)
    check = by_id(list(mix.check_mix(held_to, one)), CheckId.ARRIVALS_DUE)
    assert (check.outcome, check.weight) == (outcome, Weight.INVALID)
    assert (check.figure, check.unit, check.source) == (pytest.approx(100 * due / 240), "%", WEB_WORKLOADS_SOURCE)
    assert check.detail == f"{due} were due, 240 to be expected; what chance does at most"


def test_arrivals_whose_number_grows_without_a_law_are_not_held_to_one() -> None:
    one = replace(played(9, 991), sessions=replace(NO_SESSIONS, due=1, begun=1))
    found = mix.check_mix(asked(due=240.0, due_dispersion=None, pacing="think", rigor=Rigor.REDUCED), one)
    assert all(check.id is not CheckId.ARRIVALS_DUE for check in found)
