"""Series of runs against kept ones: what is worse for sure, what is not, and what cannot be said."""

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from loadstone.cli.main import build_program
from loadstone.judge.statistics import estimate_group_ratio
from loadstone.model.errors import UsageError
from loadstone.model.records.manifest import HostFacts, ProfileRecord, SystemKind, SystemRecord
from loadstone.model.records.verdict import Verdict
from loadstone.study.answers import AnswerMeans
from loadstone.study.baseline.comparison import Standing, compare_series
from loadstone.study.baseline.condition import Condition, read_condition
from loadstone.study.baseline.series import Baseline, KeptSeries
from loadstone.study.metrics import FIGURE_NAMES, METRIC_ALIASES, METRICS
from loadstone.study.parameters import SettingValue

STUDIES = itertools.count()
QUIET = (100.0, 101.0, 99.0, 100.5, 99.5)


def kept(
    values: Sequence[float], name: str = "main", cores: int = 2, settings: dict[str, SettingValue] | None = None
) -> Baseline:
    """A series with one figure, of a workload of which throughput is told too."""
    profile = ProfileRecord("quick", "", 1, 2, 30, 1)
    metrics = {
        "response_p95": tuple(values),
        "throughput": tuple(1000 / value for value in values),
        "errors": (0.0,) * 5,
    }
    series = KeptSeries(
        "shop", settings or {}, len(values), metrics, load="20 sessions", declaration_sha256="1f", passed=len(values)
    )
    host = HostFacts(cpu_model="one", cores=cores)
    system = SystemRecord(SystemKind.TARGET, {"http": {"host": "shop.example", "port": 8080}, "https": None})
    begun = "2026-01-01T00:00:00+00:00"
    study = f"study-{next(STUDIES)}"
    return Baseline(name, begun, study, {"loadstone": "1"}, host, profile, (series,), system, {}, "real")


def changed(new: Baseline, **fields: Any) -> Baseline:
    """The same with other fields of its only series."""
    return replace(new, series=(replace(new.series[0], **fields),))


def failing(errors: Sequence[float], passed: int) -> Baseline:
    """A series of what is faster, of whose operations these percentages end in an error."""
    new = kept(times(0.7))
    return changed(new, metrics={**new.series[0].metrics, "errors": tuple(errors)}, passed=passed)


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
    told = compare_series(kept(QUIET), kept(times(factor)), [read_condition("p95 > +10%")])
    (change,) = told.changes
    assert (change.standing, told.verdict) == (standing, verdict), change.said
    assert change.ratio == pytest.approx(factor, rel=0.01)
    slower = compare_series(kept(QUIET), kept(times(factor)), [read_condition("throughput < -9.0909%")])
    assert slower.changes[0].standing is standing, slower.changes[0].said


def test_what_can_be_said_is_said_in_percent() -> None:
    told = compare_series(kept(QUIET), kept(times(1.02)), [read_condition("p95 > +10%")])
    assert "95th percentile of response time changes by at most +3.28 %" in told.changes[0].said
    assert not told.notes


def test_too_few_or_scattered_runs_decide_nothing() -> None:
    few = compare_series(kept(QUIET), kept(times(2)[:2]), [read_condition("p95 > +10%")])
    assert few.verdict is Verdict.INVALID and "cannot distinguish" in few.changes[0].said
    wild = compare_series(kept(QUIET), kept([50, 150, 80, 220, 100]), [read_condition("p95 > +10%")])
    assert wild.verdict is Verdict.INVALID and "more runs" in wild.changes[0].said


def test_a_share_of_nothing_has_no_ratio_and_stays_as_it_is() -> None:
    same = compare_series(kept(QUIET), kept(QUIET), [read_condition("errors > +1%")])
    assert same.verdict is Verdict.PASS and "the same in all runs" in same.changes[0].said
    new = kept(QUIET)
    worse = replace(new.series[0], metrics={**new.series[0].metrics, "errors": (0.0, 0.0, 1.0, 0.0, 0.0)})
    told = compare_series(kept(QUIET), replace(new, series=(worse,)), [read_condition("errors > +1%")])
    assert told.verdict is Verdict.INVALID and "no ratio" in told.changes[0].said


def test_figures_of_other_things_are_not_compared() -> None:
    condition = [read_condition("p95 > +10%")]
    with pytest.raises(UsageError, match="another machine"):
        compare_series(kept(QUIET), kept(QUIET, cores=4), condition)
    assert compare_series(kept(QUIET), kept(QUIET, cores=4), condition, may_be_elsewhere=True).verdict is Verdict.PASS
    with pytest.raises(UsageError, match="another load: 20 sessions in `main`, 40 sessions here"):
        compare_series(kept(QUIET), changed(kept(QUIET), load="40 sessions"), condition)
    with pytest.raises(UsageError, match="had other settings"):
        compare_series(kept(QUIET), kept(QUIET, settings={"server.threads": 2}), condition)
    with pytest.raises(UsageError, match="has changed since"):
        compare_series(kept(QUIET), changed(kept(QUIET), declaration_sha256="2e"), condition)
    longer = replace(kept(QUIET), profile=ProfileRecord("quick", "", 1, 2, 60, 1))
    with pytest.raises(UsageError, match="different lengths"):
        compare_series(kept(QUIET), longer, condition)
    other = replace(kept(QUIET), series=(replace(kept(QUIET).series[0], workload="bank"),))
    with pytest.raises(UsageError, match="`main` covers shop, but this series covers bank"):
        compare_series(kept(QUIET), other, condition)


CONDITION = [read_condition("p95 > +10%")]


def target(host: str, port: int = 8080) -> SystemRecord:
    return SystemRecord(SystemKind.TARGET, {"http": {"host": host, "port": port}, "https": None})


def test_a_series_is_told_from_the_one_that_was_saved() -> None:
    saved = kept(QUIET)
    (note,) = compare_series(saved, saved, CONDITION).notes
    assert "compares the series with itself" in note and "`loadstone repeat`" in note
    assert compare_series(saved, replace(saved, study="another"), CONDITION).notes == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"system": target("other.example")},
        {"system": SystemRecord(SystemKind.REFERENCE, {"threads": 1})},
        {"clock": "virtual"},
        {"placement": {"machine": {"platform": "vm"}}},
    ],
)
def test_a_series_of_another_system_is_refused_unless_that_is_meant(fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"`main` was measured on another .*--elsewhere"):
        compare_series(kept(QUIET), replace(kept(QUIET), **fields), CONDITION)
    assert compare_series(kept(QUIET), replace(kept(QUIET), **fields), CONDITION, may_be_elsewhere=True).changes


def test_a_port_may_change_and_a_station_stands_for_a_system_of_any_speed() -> None:
    other = compare_series(kept(QUIET), replace(kept(QUIET), system=target("shop.example", 40123)), CONDITION)
    assert other.verdict is Verdict.PASS and "8080" in other.notes[0] and "40123" in other.notes[0]
    slow, slower = (SystemRecord(SystemKind.STATION, {"service": service}) for service in (0.008, 0.012))
    told = compare_series(replace(kept(QUIET), system=slow), replace(kept(QUIET), system=slower), CONDITION)
    assert told.notes == ("The system's service was 0.008, is 0.012.",)


@pytest.mark.parametrize("conditions", [CONDITION, []])
@pytest.mark.parametrize(
    ("errors", "passed", "verdict"),
    [
        ((0.0,) * 5, 5, Verdict.PASS),
        ((22.0, 21.5, 22.4, 21.9, 22.0), 0, Verdict.FAIL),
        ((0.03, 0.02, 0.0, 0.03, 0.04), 5, Verdict.FAIL),
        ((0.0,) * 5, 0, Verdict.FAIL),
        ((0.0, 0.0, 40.0, 0.0, 0.0), 4, Verdict.INVALID),
        ((0.0, 0.0, 0.001, 0.0, 0.0), 5, Verdict.PASS),
    ],
)
def test_failures_come_before_any_speed(
    errors: Sequence[float], passed: int, verdict: Verdict, conditions: list[Condition]
) -> None:
    told = compare_series(kept(QUIET), failing(errors, passed), conditions)
    assert told.verdict is verdict, told.failing
    assert f"{passed} of 5 runs pass, 5 of 5 of `main`" in told.failing[0].said


def test_series_that_both_fail_are_compared_by_their_good_operations() -> None:
    """Neither passes and nothing ends in an error, but far more operations are late now."""
    before, now = (
        changed(series, metrics={**series.series[0].metrics, "good": good}, passed=0)
        for series, good in (
            (kept(QUIET), (94.0, 93.5, 94.2, 93.8, 94.1)),
            (kept(times(0.7)), (60.0, 61.0, 59.0, 60.5, 62.0)),
        )
    )
    told = compare_series(before, now, CONDITION)
    assert told.verdict is Verdict.FAIL
    assert "good operations 60.50 %, were 93.92 %: this series fails more" in told.failing[0].said
    assert compare_series(now, before, []).verdict is Verdict.PASS


def test_a_workload_that_the_new_series_lacks_is_no_pass() -> None:
    both = kept(QUIET)
    both = replace(both, series=(*both.series, replace(both.series[0], workload="mail")))
    with pytest.raises(UsageError, match="`main` also covers mail, but this series does not"):
        compare_series(both, kept(QUIET), [])
    told = compare_series(kept(QUIET), both, [])
    assert told.verdict is Verdict.PASS
    assert "`main` does not cover mail: these runs are not compared." in told.notes


def test_fewer_errors_are_no_fault() -> None:
    assert compare_series(failing((3.0, 2.0, 3.0, 2.5, 2.0), 0), kept(times(0.7)), CONDITION).verdict is Verdict.PASS


def test_other_answers_are_named() -> None:
    whole, error_page = ({"page": AnswerMeans(size, 200)} for size in (8192.0, 66.0))
    new = changed(kept(times(0.05)), answers=(error_page,) * 5)
    note, _ = compare_series(changed(kept(QUIET), answers=(whole,) * 5), new, CONDITION).notes
    assert "page: 66 bytes of this series" in note and "-99 %" in note


@pytest.mark.parametrize("answer", [AnswerMeans(66.0, 200), AnswerMeans(0.0, 200), AnswerMeans(4096.0, 503)])
def test_no_speed_of_other_answers_passes(answer: AnswerMeans) -> None:
    """A later series that answers with an error page or nothing is faster, which says nothing of the system."""
    before = changed(kept(QUIET), answers=({"page": AnswerMeans(4096.0, 200)},) * 5)
    after = compare_series(before, changed(kept(times(0.05)), answers=({"page": answer},) * 5), CONDITION)
    assert after.verdict is Verdict.INVALID
    assert any("save a new baseline" in note for note in after.notes)
    smaller = changed(kept(times(0.95)), answers=({"page": AnswerMeans(3072.0, 200)},) * 5)
    assert compare_series(before, smaller, CONDITION).verdict is Verdict.PASS, "a page may shrink"


@pytest.mark.parametrize(
    ("errors", "standing"),
    [
        ((0.0,) * 5, Standing.KEPT),
        ((0.0, 0.0, 0.05, 0.0, 0.0), Standing.KEPT),
        ((0.0, 0.0, 0.3, 0.0, 0.0), Standing.UNDECIDED),
        ((0.31, 0.29, 0.3, 0.33, 0.28), Standing.BROKEN),
    ],
)
def test_a_share_has_a_limit_of_its_own(errors: Sequence[float], standing: Standing) -> None:
    """The baseline fails as often, so nothing but the limit can break."""
    (change,) = compare_series(failing(errors, 5), failing(errors, 5), [read_condition("errors > 0.1%")]).changes
    assert change.standing is standing, change.said
    assert change.ratio is None and change.now == pytest.approx(sum(errors) / 5)


def test_a_share_that_falls_below_its_limit_breaks_it() -> None:
    new = changed(kept(QUIET), metrics={**kept(QUIET).series[0].metrics, "good": (90.0, 90.2, 89.9, 90.1, 90.0)})
    limits = [read_condition("good < 95%"), read_condition("good < 80%")]
    assert [change.standing for change in compare_series(new, new, limits).changes] == [Standing.BROKEN, Standing.KEPT]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("p95 > 10%", r"`p95 > 10%` has no sign.* `p95 > \+10%`.*errors"),
        ("throughput < 5%", r"such as `throughput < -5%`"),
        ("errors > 101%", "at most 100%"),
        ("error > 1%", "`error` in `error > 1%` is not a known figure.*errors"),
    ],
)
def test_a_refused_condition_names_what_is_missing(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        read_condition(text)


def test_the_help_of_a_check_lists_every_figure() -> None:
    text = CliRunner().invoke(build_program(), ["baseline", "check", "--help"], env={"COLUMNS": "200"}).output
    assert all(name in text for name in ("p95", "errors", "good", "throughput", "server_cpu_per_operation"))
    assert {METRIC_ALIASES[name] for name in FIGURE_NAMES} == set(METRICS)


@pytest.mark.parametrize("text", ["p95", "p95 > 10%", "p96 > +10%", "p95 > +x%", "p95 >> +1%", "p95 < -200%", ""])
def test_a_condition_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"p95 > \+10%"):
        read_condition(text)


def intervals_that_hold(seed: int, count: int, true_ratio: float = math.exp(0.2)) -> int:
    """How many intervals of the ratio of two series of five hold a ratio."""
    drawn, held = np.random.default_rng(seed), 0
    for _ in range(count):
        found = estimate_group_ratio([*drawn.lognormal(0, 0.1, 5)], [*drawn.lognormal(0.2, 0.1, 5)])
        assert found and found.low and found.high
        held += found.low <= true_ratio <= found.high
    return held


def test_an_interval_of_series_holds_the_true_ratio_as_often_as_it_claims() -> None:
    assert intervals_that_hold(7, 6) >= 5
    assert intervals_that_hold(7, 3, true_ratio=1.6) == 0


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    def said(*words: str) -> Any:
        return CliRunner().invoke(build_program(), ["baseline", *words, "--results", str(tmp_path)])

    assert "loadstone baseline save" in said("list").output
    assert "`loadstone repeat WORKLOAD --runs 6` makes one" in str(said("save", "main").exception)
    assert json.loads(said("list", "--json").output) == []
    assert "There is no" in str(said("check", "main").exception)
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines/main.json").write_text('{"schema": 1}')
    assert "Run the series again with `loadstone repeat`" in str(said("check", "main").exception)
