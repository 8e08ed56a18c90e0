"""Every word and figure of verdicts, held against a file that is reviewed as code is: stored runs and tiles, made-up
iterations with one thing changed at a time, by full and by reduced rules.
"""

import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from loadstone.judge import placement, statistics, usage
from loadstone.judge.mix import expect_deviation
from loadstone.judge.result import judge_result
from loadstone.judge.rules import apply_rules
from loadstone.judge.tiles import list_tiles
from loadstone.judge.verdict import judge_workload
from loadstone.model.errors import LoadstoneError
from loadstone.model.figures import NO_CONNECTIONS, NO_SESSIONS, Criteria, IterationFigures
from loadstone.model.profile import Rigor
from loadstone.model.records.check import Check
from loadstone.model.records.manifest import PowerRecord
from loadstone.model.records.result import Iteration, Result, WorkloadResult
from loadstone.model.records.sample import MachineViews, OutsideView, Sample
from loadstone.store.read import read_result
from tests.places import DATA
from tests.records import iteration, operation, small_criteria, times


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of before, as they were kept."""
    folder = tmp_path_factory.mktemp("whole")
    with tarfile.open(DATA / "schema-1.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def line(check: Check) -> str:
    """A check in one line."""
    told = (check.id, check.rule, f"{check.figure:.9g} {check.unit} {check.bound} {check.limit:.9g}", check.outcome)
    return " | ".join(map(str, (*told, check.weight, check.detail, check.source)))


@pytest.mark.parametrize("name", ("rate", "pair", "published", "tile"))
def test_a_stored_result_is_judged_to_the_word(before: Path, name: str, snapshot: SnapshotAssertion) -> None:
    assert asdict(judge_result(read_result(before / name), "this version")) == snapshot


def recorded(measured: Iteration, **changes: Any) -> Iteration:
    """An iteration with other records."""
    records = replace(measured.records, **changes)
    return replace(measured, read_records=lambda: records)


def changed_iterations(one: Iteration) -> dict[str, tuple[Iteration, ...]]:
    """What a workload's only iteration may lack."""
    return {
        "a workload has no iteration": (),
        "a window is shorter": (recorded(one, intervals=one.records.intervals[:-2]),),
        "nothing was sampled": (recorded(one, monitor=()),),
        "it never began": (recorded(one, start=None),),
        "it began later": (recorded(one, start=one.records.start and replace(one.records.start, start_unix_s=5e-9)),),
    }


def changed_tiles(result: Result) -> Iterator[tuple[str, Result]]:
    """A run of tiles with one thing changed at a time."""
    first = result.workloads[0]
    yield "a workload is missing", replace(result, workloads=result.workloads[1:])
    yield (
        "a workload has no iteration",
        replace(result, workloads=(replace(first, iterations=()), *result.workloads[1:])),
    )
    for workload in result.workloads:
        (kept,) = workload.iterations
        quiet = replace(kept.figures, operations=(replace(kept.figures.operations[0], good=0, fail=99, overdue=7),))
        others = (other for other in result.workloads if other is not workload)
        worse = replace(workload, iterations=(replace(kept, figures=quiet),))
        yield f"{workload.id.label} is bad", replace(result, workloads=(worse, *others))
    manifest = result.manifest
    yield "there is no tile", replace(result, manifest=replace(manifest, tiles=()))
    entry = replace(manifest.tiles[0], groups={"node": "n1"})
    other = replace(entry, number=2, groups={"node": "n2"})
    yield "there are groups", replace(result, manifest=replace(manifest, tiles=(entry, other)))


def test_a_run_of_tiles_is_judged_to_the_word_whatever_it_lacks(before: Path, snapshot: SnapshotAssertion) -> None:
    told = {}
    for what, result in changed_tiles(read_result(before / "tile")):
        try:
            told[what] = asdict(judge_result(result, "this version"))["consolidation"]
        except LoadstoneError as error:
            told[what] = str(error).replace(str(before), "RESULTS")
    assert told == snapshot


def without_right_answers(workload: WorkloadResult) -> WorkloadResult:
    """The same operations ended, none of them with a right answer."""
    (iteration,) = workload.iterations
    wrong = tuple(replace(operation, response=times(0, 0.0)) for operation in iteration.figures.operations)
    changed = replace(iteration, figures=replace(iteration.figures, operations=wrong))
    return replace(workload, iterations=(changed,))


def test_wrong_answers_count_for_the_rate_of_web_pages_alone(before: Path) -> None:
    result = read_result(before / "tile")
    wrong = replace(result, workloads=tuple(map(without_right_answers, result.workloads)))
    right_tile, wrong_tile = list_tiles(result)[0].tile, list_tiles(wrong)[0].tile
    assert wrong_tile.web == right_tile.web > 0
    assert min(right_tile.app, right_tile.mail) > wrong_tile.app == wrong_tile.mail == 0


def figures(**changes: Any) -> IterationFigures:
    """5000 operations of two kinds in 100 s, as Little's law has them for a hundred sessions."""
    return replace(iteration((operation("a", 2500, 1.0), operation("b", 2500, 1.0)), 100.0), **changes)


def with_first(**changes: Any) -> IterationFigures:
    """The same, with the first kind changed."""
    first, second = figures().operations
    return figures(operations=(replace(first, **changes), second))


ITERATIONS: Mapping[str, Callable[[], IterationFigures]] = {
    "as it should be": figures,
    "graded": lambda: with_first(good=2000, tolerable=300, fail=200),
    "wrong answers": lambda: with_first(errors={"title": 3, "reset": 40, "no_ports": 2, "no_sessions": 1}, fail=46),
    "one kind only": lambda: figures(operations=figures().operations[:1]),
    "another mix": lambda: figures(operations=(operation("a", 2600, 1.0), operation("b", 2400, 1.0))),
    "few operations": lambda: iteration((operation("a", 12, 1.0), operation("b", 8, 1.0)), 100.0),
    "none at all": lambda: figures(operations=()),
    "too many": lambda: figures(operations=(operation("a", 3500, 1.0), operation("b", 3400, 1.0))),
    "cut": lambda: with_first(cut_at_start=30, cut_at_end=31, overdue=5),
    "ended early": lambda: figures(completed=False, steady_s=60.0, trouble="a server died"),
    "late driver": lambda: figures(lag=times(5000, 0.4), driver_cpu=(0.3, 0.97)),
    "no lag known": lambda: figures(lag=times(0, 0.0), driver_cpu=()),
    "pauses longer": lambda: figures(pause_actual_s=108.0),
    "pauses drawn longer": lambda: figures(pause_drawn_s=170.0, pause_actual_s=170.0),
    "no pauses": lambda: figures(pauses=0, pause_drawn_s=0.0, pause_actual_s=0.0),
    "cycles": lambda: with_first(cycles=900, cycle_drawn_s=1800.0, cycle_actual_s=1850.0),
    "cycles kept": lambda: with_first(cycles=900, cycle_drawn_s=1800.0, cycle_actual_s=1801.0),
    "memory pressure": lambda: figures(tcp_pressure_s=2.5),
    "no memory pressure": lambda: figures(tcp_pressure_s=0.0),
    "conditional": lambda: with_first(embedded=100, conditional=60, not_modified=20),
    "sessions": lambda: figures(sessions=replace(NO_SESSIONS, due=100, begun=80, finished=70, abandoned=20, broken=5)),
    "connections": lambda: figures(connections=replace(NO_CONNECTIONS, connections=50, connected_late=9, reconnects=3)),
    "bytes": lambda: with_first(bytes=9_000_000),
}
HELD_TO: Mapping[str, dict[str, Any]] = {
    "full": {},
    "reduced": {"rigor": Rigor.REDUCED},
    "cycle": {"pacing": "cycle", "each_share_pct": 90.0},
    "arrivals": {"sessions": 0, "due": 90.0, "is_even": False, "operations_per_session": 50.0},
    "even arrivals": {"sessions": 0, "due": 101.0, "operations_per_session": 50.0, "rigor": Rigor.REDUCED},
    "audited": {"audited": True, "longest_operation_s": 4000.0, "published_bytes": {"a": 1100.0, "b": 1000.0}},
    "reduced and long": {"rigor": Rigor.REDUCED, "longest_operation_s": 4000.0, "each_share_pct": 99.9},
    "no pauses": {"mean_pause_s": 0.0, "paused_share": 0.5},
}


@pytest.mark.parametrize("held_to", HELD_TO)
def test_every_rule_says_what_it_saw(held_to: str, snapshot: SnapshotAssertion) -> None:
    criteria = small_criteria(**HELD_TO[held_to])
    told = {}
    for name, make in ITERATIONS.items():
        law = expect_deviation(criteria, make())
        told[name] = [line(check) for check in apply_rules(criteria, make())]
        told[name] += [repr(law), str(law and (law.net_pct, law.worst))]
    verdict = judge_workload(criteria, [make() for make in list(ITERATIONS.values())[:3]])
    told["workload"] = [str(verdict.verdict), str(verdict.compliant), *verdict.reasons, *verdict.not_judged]
    assert told == snapshot


def test_use_is_told_of_every_machine_and_role(before: Path, snapshot: SnapshotAssertion) -> None:
    monitor = read_result(before / "tile").workloads[0].iterations[0].records.monitor
    roles = sorted({role for sample in monitor for role in sample.trees})
    machines = usage.list_measured_machines(monitor)
    told: dict[str, Any] = {"host": usage.compute_host_usage(monitor), "machines": machines}
    told["roles"] = {role: usage.compute_tree_usage(monitor, role) for role in roles}
    told["inside"] = {name: usage.compute_inside_usage(monitor, name) for name in machines}
    told["outside"] = {name: usage.compute_outside_usage(monitor, name) for name in machines}
    assert told == snapshot


def test_what_a_machine_costs_the_host_is_the_mean_of_what_is_known() -> None:
    known = {"read_bytes_per_s": 100.0, "write_bytes_per_s": 20.0, "latency_ms": 4.0}
    lines = {"public": {"bytes_sent_per_s": 7.0, "bytes_recv_per_s": 5.0}, "private": {"bytes_sent_per_s": 3.0}}
    views = (
        OutsideView({"vcpu": 0.5, "device": 0.25}, known, lines, 1000.0),
        OutsideView({"vcpu": 1.5}, {"read_bytes_per_s": 300.0}, {}, None),
        None,
    )
    seen = read_sample()
    monitor = [replace(seen, machines={"web": MachineViews(None, view)}) for view in views]
    monitor.append(replace(seen, machines={}))
    assert usage.compute_outside_usage(monitor, "web") == {
        "vcpu_cores": 1.0,
        "device_cores": 0.25,
        "cores": 1.125,
        "exits_per_s": 1000.0,
        "disk_ms": 4.0,
        "disk_bytes_per_s": 210.0,
        "network_sent_per_s": 10.0,
        "network_recv_per_s": 5.0,
    }
    assert usage.list_outside_views(monitor, "web") == list(views)
    assert usage.compute_outside_usage(monitor, "app") == usage.compute_inside_usage(monitor, "web") == {}


def read_sample() -> Sample:
    """A sample of a host that was asked for nothing."""
    return Sample(0.0, 1.0, {}, {}, {}, {}, {}, {})


def many_tiles(result: Result, count: int) -> Result:
    """A run of one tile as often as asked for; every second one is on another node and does less."""
    entry = result.manifest.tiles[0]
    entries = [replace(entry, number=at + 1, groups={"node": f"n{at % 2}", "rack": "only"}) for at in range(count)]
    workloads = [
        replace(workload, criteria=of_tile(workload.criteria, at + 1), iterations=(slower(one, at),))
        for at in range(count)
        for workload in result.workloads
        for one in workload.iterations
    ]
    return replace(result, workloads=tuple(workloads), manifest=replace(result.manifest, tiles=tuple(entries)))


def of_tile(criteria: Criteria, number: int) -> Criteria:
    """The same workload of another tile."""
    return replace(criteria, id=replace(criteria.id, tile=number))


def slower(one: Iteration, at: int) -> Iteration:
    """An iteration that did a little less, and much less on odd tiles."""
    share = 1 - 0.002 * at - 0.3 * (at % 2)
    fewer = (
        replace(
            kind,
            requests=round(kind.requests * share),
            response=replace(kind.response, count=round(kind.response.count * share)),
        )
        for kind in one.figures.operations
    )
    return replace(one, figures=replace(one.figures, operations=tuple(fewer)))


@pytest.mark.parametrize("count", (11, 12, 14))
def test_placement_is_tested_where_there_are_tiles_enough(
    before: Path, count: int, snapshot: SnapshotAssertion
) -> None:
    verdict = judge_result(many_tiles(read_result(before / "tile"), count), "this version").consolidation
    assert rounded(verdict and {"placement": verdict.placement, "tiles": verdict.tiles}) == snapshot


def test_scores_by_the_watt_come_in_three_categories(before: Path, snapshot: SnapshotAssertion) -> None:
    result = read_result(before / "tile")
    meters = (
        PowerRecord("system", "a socket", "", 120.0, 30, 80.0, 12),
        PowerRecord("server", "packages", "it went away", 40.0, 29, None, 0),
    )
    metered = replace(result, manifest=replace(result.manifest, power=meters))
    verdict = judge_result(metered, "this version").consolidation
    assert verdict is not None
    told = {"power": verdict.power, "checks": [line(check) for check in verdict.checks]}
    assert rounded(told) == snapshot


def test_statistics_are_the_same_to_the_last_digit_but_one(snapshot: SnapshotAssertion) -> None:
    random = np.random.default_rng(7)
    series = {size: [float(f"{value:.6g}") for value in random.normal(10, 1, size)] for size in (2, 3, 7, 12)}
    told: dict[str, Any] = {}
    for size, values in series.items():
        other = [value * 1.1 for value in reversed(values)]
        told[f"{size} summary"] = statistics.summarize(values)
        told[f"{size} spread"] = statistics.summarize(values).spread_pct
        told[f"{size} drift"] = statistics.compute_drift_p(values)
        told[f"{size} outlier"] = statistics.find_outlier([*values, 30.0])
        found = statistics.estimate_difference(list(zip(values, other, strict=True)))
        told[f"{size} difference"] = (found, found and found.is_found, found and found.excluded_pct)
        told[f"{size} unpaired"] = statistics.compute_unpaired_p(values, other)
    told["four"] = [statistics.compute_drift_p([1.0, 2.0, 3.0, 5.0]), statistics.find_outlier([1.0, 1.0, 1.0, 9.0])]
    told["two kinds"] = [statistics.find_outlier([1.0, 1.0, 1.0, 1.0, 2.0]), statistics.find_outlier([3.0] * 5)]
    told["no difference"] = [
        statistics.estimate_difference(pairs) for pairs in ([], [(1.0, 0.0)], [(0.0, 1.0)], [(2.0, 3.0)])
    ]
    told["holm"] = statistics.correct_by_holm([0.01, 0.04, 0.03, 0.5])
    assert rounded(told) == snapshot


def test_groups_that_did_worse_are_told(snapshot: SnapshotAssertion) -> None:
    groups = ["n1", "n2"] * 8
    random = np.random.default_rng(3)
    worse = [1.0 - 0.2 * (name == "n2") + 0.01 * random.random() for name in groups]
    same = [1.0 + 0.01 * random.random() for _ in groups]
    found = placement.compare_groups(groups, {"score": worse, "web": same, "flat": [1.0] * 16})
    told = {"findings": found, "worse": placement.select_worse_groups(found), "sides": placement.choose_groups(groups)}
    told["parity"] = placement.group_by_parity(range(1, 6))
    told["varying"] = placement.list_varying({"score": worse, "flat": [1.0] * 16})
    told["split"] = placement.split(groups, "n1", worse)
    assert rounded(told) == snapshot


def rounded(value: Any) -> Any:
    """Numbers to nine digits: what is behind them differs between processors."""
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.9g}")
    if hasattr(value, "__dataclass_fields__"):
        return {name: rounded(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {str(key): rounded(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(held) for held in value]
    return value
