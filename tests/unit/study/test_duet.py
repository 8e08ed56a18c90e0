"""Two runs at the same time: which they are, when they count, and where they are refused."""

from dataclasses import replace

import pytest

from loadstone.model.errors import UsageError
from loadstone.model.profile import PROFILES
from loadstone.study.kinds.compare.loads.question import Compare, compute_overlap, describe_promise
from loadstone.study.kinds.compare.section import CompareSection
from loadstone.study.summary import ComparedSide, RunRequest, RunSummary
from loadstone.workloads import load as load_workload
from tests.made import ask, carry_out, made

DUET = Compare("page", {}, {}, {"server.threads": 2}, ({"rate": 5}, {"rate": 9}), pairs=6, is_duet=True)


def at(begin_s: float, request: RunRequest) -> RunSummary:
    mean = 0.1 + 0.001 * request.seed
    return replace(made(request, response_mean=mean), windows_unix_s=((begin_s, begin_s + 10),))


def test_both_runs_of_a_pair_belong_together_and_the_halves_of_the_cores_change_sides() -> None:
    requests = DUET.plan_runs()
    pairs = list(zip(requests[::2], requests[1::2], strict=True))
    assert len({one.duet for one in requests}) == len(pairs) == 12
    for first, second in pairs:
        assert first.duet == second.duet
        assert {first.side, second.side} == {ComparedSide.A, ComparedSide.B}
        assert first.settings["rate"] == second.settings["rate"]
    firsts = [first.side for first, _ in pairs]
    assert firsts.count(ComparedSide.A) == firsts.count(ComparedSide.B)


@pytest.mark.parametrize(("later_s", "share"), [(0, 1.0), (1, 0.9), (5, 0.5), (20, 0.0)])
def test_the_time_in_common_is_that_of_the_longer_window(later_s: float, share: float) -> None:
    first, second = DUET.plan_runs()[:2]
    assert compute_overlap(at(0, first), at(later_s, second)) == pytest.approx(share)


def test_runs_that_were_not_at_the_same_time_are_left_out() -> None:
    answer, _ = carry_out(
        DUET, lambda one: at(5.0 if one.duet == "page-1" and one.side is ComparedSide.B else 0.0, one)
    )
    assert [load.left_out for load in answer.loads] == [1, 0]
    assert "not at the same time" in answer.headline[0]
    unknown, _ = carry_out(DUET, lambda one: made(one, response_mean=0.1))
    assert not unknown.is_answered


def test_peaks_and_platforms_are_not_compared_at_the_same_time() -> None:
    for section in (CompareSection(duet=True, at="peak"), CompareSection(duet=True, platform=("process", "vm"))):
        with pytest.raises(UsageError, match="--duet"):
            ask(section, [load_workload("support")], PROFILES["quick"])


def test_what_so_many_pairs_find_is_said_before_the_first() -> None:
    assert "6 pairs find, nine times in ten, a difference of 2.1 times the scatter" in describe_promise(DUET)
    assert "cannot distinguish" in describe_promise(replace(DUET, pairs=5))
