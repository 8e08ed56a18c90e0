"""The search for the peak of tiles, against hosts whose capacity is known."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.errors import UsageError
from loadstone.model.machine import Placement
from loadstone.model.records.verdict import Verdict
from loadstone.model.tiles import Tiles
from loadstone.run.tiles.spec import build_tiles_spec, find_tile, list_tile_loads
from loadstone.study.base import TileRuns
from loadstone.study.kinds.tiles.answer import TilesAnswer, TileTrial, describe_tenths
from loadstone.study.kinds.tiles.question import TilesPeak
from loadstone.study.summary import RunRequest, RunSummary
from loadstone.study.tenths import TENTHS


def play(question: TilesPeak, run: Callable[[int], TileTrial]) -> list[TileTrial]:
    """Answers the question's runs until it wants no more; it must end."""
    tried: list[TileTrial] = []
    while (tenths := question.plan_next_tenths(tried)) is not None:
        tried.append(run(tenths))
        assert len(tried) < 60
    return tried


def answer(question: TilesPeak, tried: list[TileTrial]) -> TilesAnswer:
    """What the question says of runs that came out so."""
    return question.answer([_summary(question, number, trial) for number, trial in enumerate(tried)])


def _summary(question: TilesPeak, number: int, trial: TileTrial) -> RunSummary:
    request = RunRequest(f"{number}", question.workload, {TENTHS: str(trial.tenths)}, number)
    metrics = {"score": trial.score, "tiles_quality": trial.qos_pct}
    return RunSummary(request, request.key, trial.verdict, trial.reasons, metrics=metrics)


def host(capacity: int) -> Callable[[int], TileTrial]:
    """A host that holds so many tenths of a tile."""
    return lambda tenths: TileTrial(
        tenths, Verdict.PASS if tenths <= capacity else Verdict.FAIL, 9.8 * tenths, 100, ("p99 too long",)
    )


@given(st.integers(0, 640))
def test_the_peak_is_found_to_a_tenth_of_a_tile(capacity: int) -> None:
    question = TilesPeak("tile", 64)
    tried = play(question, host(capacity))
    peak = question.find_peak(tried)
    assert (peak.tenths if peak else 0) == capacity
    assert len(tried) <= 17
    assert answer(question, tried).is_answered == (capacity > 0)


def test_a_score_that_stops_rising_ends_the_search() -> None:
    question = TilesPeak("tile", 64)
    tried = play(question, lambda tenths: TileTrial(tenths, Verdict.PASS, min(9.8 * tenths, 300 - tenths / 100), 100))
    peak = question.find_peak(tried)
    assert peak is not None
    assert peak.tenths == 40  # the last load whose score was above those of all smaller ones that were tried
    assert "stops rising" in answer(question, tried).headline[1]


def test_a_run_that_cannot_be_judged_is_tried_once_more_and_then_named() -> None:
    question = TilesPeak("tile", 8)
    tried = play(
        question,
        lambda tenths: TileTrial(tenths, Verdict.INVALID if tenths > 20 else Verdict.PASS, tenths, 100, ("lag",)),
    )
    assert [one.tenths for one in tried[:4]] == [10, 20, 40, 40]
    peak = question.find_peak(tried)
    assert peak is not None
    assert peak.tenths == 20
    assert "no run is fit to be judged: lag" in answer(question, tried).headline[1]


def test_a_limit_on_tiles_is_said() -> None:
    question = TilesPeak("tile", 3)
    tried = play(question, host(1000))
    assert [one.tenths for one in tried] == [10, 20, 30]
    assert "--most-tiles" in answer(question, tried).headline[1]


def test_loads_in_words() -> None:
    assert [describe_tenths(tenths) for tenths in (3, 10, 25)] == ["0.3 of a tile", "1 tile", "2.5 tiles"]


def runs(most_tiles: int, **roles: dict[str, object]) -> TileRuns:
    """Runs of a search with settings of single machines."""
    tiles = Tiles(find_tile("laptop"), list_tile_loads(1, None))
    return TileRuns(build_tiles_spec("x", tiles, Path(), placement=Placement(roles=roles)), most_tiles)


def of_tenths(tenths: int) -> RunRequest:
    return RunRequest("1", "laptop", {TENTHS: str(tenths)}, 1)


def test_a_search_sets_the_machines_of_tiles_that_it_adds_later() -> None:
    base = runs(3, **{"3.web": {"cpus": 1}, "db": {"cpus": 1}})
    base.check(of_tenths(10))
    assert set(base.make_spec(of_tenths(20), Path()).placement.roles) == {"db"}
    assert set(base.make_spec(of_tenths(30), Path()).placement.roles) == {"3.web", "db"}
    with pytest.raises(UsageError, match=r"There is no copy 4 of `web`\. Its copies are 1 to 3"):
        runs(3, **{"4.web": {"cpus": 1}}).check(of_tenths(10))


def test_a_search_on_other_machines_is_another_one() -> None:
    assert runs(3).identify() == runs(3).identify()
    assert runs(3).identify() != runs(3, web={"cpus": 1}).identify()
    assert runs(3, web={"cpus": 1}).declare().placement["machines.web"] == {"cpus": 1}
