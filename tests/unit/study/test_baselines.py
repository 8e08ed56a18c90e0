"""Series of runs against kept ones: what is worse for sure, what is not, and what cannot be said."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from loadstone.cli.main import whole_program
from loadstone.judge.statistics import ratio_of_groups
from loadstone.model.errors import UsageError
from loadstone.model.records.manifest import HostFacts, ProfileRecord
from loadstone.model.records.verdict import Verdict
from loadstone.study.baseline import Baseline, KeptSeries, Standing, against, read_condition

QUIET = (100.0, 101.0, 99.0, 100.5, 99.5)


def kept(
    values: Sequence[float], name: str = "main", cores: int = 2, settings: dict[str, str] | None = None
) -> Baseline:
    """A series with one figure, of a workload of which throughput is told too."""
    profile = ProfileRecord("quick", "", 1, 2, 30, 1)
    metrics = {
        "response_p95": tuple(values),
        "throughput": tuple(1000 / value for value in values),
        "errors": (0.0,) * 5,
    }
    series = KeptSeries("shop", settings or {"sessions": "20"}, len(values), metrics)
    host = HostFacts(cpu_model="one", cores=cores)
    return Baseline(name, "2026-01-01T00:00:00+00:00", "study", {"loadstone": "1"}, host, profile, (series,))


def times(factor: float) -> list[float]:
    return [value * factor for value in QUIET]


@pytest.mark.parametrize(
    ("factor", "standing", "verdict"),
    [
        (1.0, Standing.KEPT, Verdict.PASS),
        (1.05, Standing.KEPT, Verdict.PASS),
        (0.5, Standing.KEPT, Verdict.PASS),
        (1.10, Standing.UNDECIDED, Verdict.INVALID),
        (1.2, Standing.BROKEN, Verdict.FAIL),
    ],
)
def test_a_change_is_judged_by_its_interval(factor: float, standing: Standing, verdict: Verdict) -> None:
    told = against(kept(QUIET), kept(times(factor)), [read_condition("p95 > +10%")])
    (change,) = told.changes
    assert (change.standing, told.verdict) == (standing, verdict), change.said
    assert change.ratio == pytest.approx(factor, rel=0.01)
    slower = against(kept(QUIET), kept(times(factor)), [read_condition("throughput < -9.0909%")])
    assert slower.changes[0].standing is standing, slower.changes[0].said


def test_what_can_be_said_is_said_in_percent() -> None:
    told = against(kept(QUIET), kept(times(1.02)), [read_condition("p95 > +10%")])
    assert "95th percentile of response time is at most +3" in told.changes[0].said
    assert not told.notes


def test_too_few_or_scattered_runs_decide_nothing() -> None:
    few = against(kept(QUIET), kept(times(2)[:2]), [read_condition("p95 > +10%")])
    assert few.verdict is Verdict.INVALID and "cannot tell" in few.changes[0].said
    wild = against(kept(QUIET), kept([50, 150, 80, 220, 100]), [read_condition("p95 > +10%")])
    assert wild.verdict is Verdict.INVALID and "more runs" in wild.changes[0].said


def test_a_share_of_nothing_has_no_ratio_and_stays_as_it_is() -> None:
    same = against(kept(QUIET), kept(QUIET), [read_condition("errors > +1%")])
    assert same.verdict is Verdict.PASS and "the same in all runs" in same.changes[0].said
    new = kept(QUIET)
    worse = replace(new.series[0], metrics={**new.series[0].metrics, "errors": (0.0, 0.0, 1.0, 0.0, 0.0)})
    told = against(kept(QUIET), replace(new, series=(worse,)), [read_condition("errors > +1%")])
    assert told.verdict is Verdict.INVALID and "no ratio" in told.changes[0].said


def test_figures_of_other_things_are_not_compared() -> None:
    condition = [read_condition("p95 > +10%")]
    with pytest.raises(UsageError, match="another machine"):
        against(kept(QUIET), kept(QUIET, cores=4), condition)
    assert against(kept(QUIET), kept(QUIET, cores=4), condition, may_be_elsewhere=True).verdict is Verdict.PASS
    with pytest.raises(UsageError, match="another load"):
        against(kept(QUIET), kept(QUIET, settings={"sessions": "40"}), condition)
    longer = replace(kept(QUIET), profile=ProfileRecord("quick", "", 1, 2, 60, 1))
    with pytest.raises(UsageError, match="same time"):
        against(kept(QUIET), longer, condition)
    other = replace(kept(QUIET), series=(replace(kept(QUIET).series[0], workload="bank"),))
    with pytest.raises(UsageError, match="`main` is of shop, this is of bank"):
        against(kept(QUIET), other, condition)


@pytest.mark.parametrize("text", ["p95", "p95 > 10%", "p96 > +10%", "p95 > +x%", "p95 >> +1%", "p95 < -200%", ""])
def test_a_condition_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"p95 > \+10%"):
        read_condition(text)


def intervals_that_hold(seed: int, count: int, true_ratio: float = math.exp(0.2)) -> int:
    """How many intervals of the ratio of two series of five hold a ratio."""
    drawn, held = np.random.default_rng(seed), 0
    for _ in range(count):
        found = ratio_of_groups([*drawn.lognormal(0, 0.1, 5)], [*drawn.lognormal(0.2, 0.1, 5)])
        assert found and found.low and found.high
        held += found.low <= true_ratio <= found.high
    return held


def test_an_interval_of_series_holds_the_true_ratio_as_often_as_it_claims() -> None:
    assert intervals_that_hold(7, 6) >= 5
    assert intervals_that_hold(7, 3, true_ratio=1.6) == 0


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    def said(*words: str) -> Any:
        return CliRunner().invoke(whole_program(), ["baseline", *words, "--results", str(tmp_path)])

    assert "loadstone baseline save" in said("list").output
    assert json.loads(said("list", "--json").output) == []
    assert "There is no" in str(said("check", "main").exception)
