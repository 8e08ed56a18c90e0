"""The site of events: its mix, paces, limits and data, held against the published ones."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from loadstone.cli.main import build_program
from loadstone.model.workload import Workload
from loadstone.model.workload.operation import TimeLimit
from loadstone.run.plan import plan_embedded_files
from loadstone.workloads import load
from loadstone.workloads.scaling import compute_rows
from loadstone.workloads.shares import compute_dispersion, compute_shares

DATA = Path(__file__).parents[2] / "data"
NAMES = {
    "HomePage": "home",
    "Login": "login",
    "TagSearch": "tag_search",
    "EventDetail": "event_detail",
    "PersonDetail": "person_detail",
    "AddPerson": "add_person",
    "AddEvent": "add_event",
}
"""Operations by the published matrix's names for them."""
PUBLISHED = dict(zip(NAMES.values(), (26.152, 10.223, 33.445, 24.681, 2.611, 0.843, 2.045), strict=True))
"""Shares in % of a long run (docs/applications.md, Events)."""


@pytest.fixture(scope="module")
def events() -> Workload:
    return load("events")


def simulated(*words: str) -> dict[str, object]:
    done = CliRunner().invoke(build_program(), ["simulate", "events", "--sessions", "100", "--json", *words])
    assert done.exit_code == 0, done.output
    told: dict[str, object] = json.loads(done.stdout)
    return told


def test_the_mix_is_the_published_matrix_and_has_its_shares(events: Workload) -> None:
    with (DATA / "events_matrix.csv").open() as file:
        published = {NAMES[row.pop("from_op_pct")]: row for row in csv.DictReader(file)}
    for name, row in published.items():
        declared = events.mix.from_[name]
        assert {NAMES[to]: float(share) / 100 for to, share in row.items() if float(share)} == pytest.approx(declared)
    mix = compute_shares(events)
    assert {name: 100 * share for name, share in mix.operations.items()} == pytest.approx(PUBLISHED, abs=0.001)
    assert (mix.operations_per_session, mix.finished, mix.paused) == (None, None, 1)


def test_an_hour_has_the_published_shares_and_cycle() -> None:
    told = simulated("--seconds", "3600", "--server", "fixed:0")
    found = {one["name"]: one["share_pct"] for one in told["operations"]}  # type: ignore[attr-defined]
    assert found == pytest.approx(PUBLISHED, abs=0.3)
    # Cut off at 25 s; standard error of 72,000 cycles: 0.019 s.
    assert told["mean_pause_s"] == pytest.approx(4.966, abs=0.06)


@pytest.mark.parametrize(("response_s", "kept"), [(0.9, True), (1.1, False)])
def test_a_constant_response_breaks_the_rule_of_cycles_where_that_was_derived(response_s: float, kept: bool) -> None:
    told = simulated("--seconds", "7200", "--server", f"fixed:{response_s}")
    assert told["cycles"]["is_kept"] is kept  # type: ignore[index]
    off = {one["name"]: one["cycle_actual_s"] / one["cycle_drawn_s"] - 1 for one in told["operations"]}  # type: ignore[attr-defined]
    # Those whose cycles have a least length wait for no answer that is shorter.
    assert off["add_person"] == off["add_event"] == pytest.approx(0, abs=1e-9)
    assert min(off["home"], off["tag_search"]) > 0.01


def test_dispersion_of_a_mix_without_an_end_is_that_of_long_runs(events: Workload) -> None:
    stream = np.random.default_rng(1)
    names = list(events.list_states())
    chances = np.array([[events.mix.from_[name].get(to, 0.0) for to in names] for name in names]).cumsum(axis=1)
    runs, length, at = 400, 2000, np.zeros(400, int)
    counts = np.zeros((runs, len(names)))
    for _ in range(length):
        at = np.minimum((stream.random(runs)[:, None] > chances[at]).sum(axis=1), len(names) - 1)
        counts[np.arange(runs), at] += 1
    share = counts.mean(axis=0) / length
    measured = counts.var(axis=0) / (length * share * (1 - share))
    # The relative standard error of a variance of 400 runs is 7 %.
    for name, ratio in zip(names, measured.tolist(), strict=True):
        assert compute_dispersion(events)[name] == pytest.approx(ratio, rel=0.25), name


def test_limits_and_their_mean_by_the_mix_are_the_published_ones(events: Workload) -> None:
    limits = {name: operation.limit for name, operation in events.operations.items()}
    assert all(isinstance(limit, TimeLimit) for limit in limits.values())
    seconds = {name: limit.good_s for name, limit in limits.items() if isinstance(limit, TimeLimit)}
    assert seconds == dict(zip(NAMES.values(), (1, 1, 2, 2, 2, 3, 4), strict=True))
    assert sum(PUBLISHED[name] / 100 * limit for name, limit in seconds.items()) == pytest.approx(1.686, abs=0.001)


def test_pages_have_the_published_files(events: Workload) -> None:
    published = {
        "home": (33, 494_069),
        "login": (0, 0),
        "tag_search": (30, 352_687),
        "event_detail": (42, 459_653),
        "person_detail": (30, 352_687),
        "add_person": (31, 361_810),
        "add_event": (31, 361_810),
    }
    for name, (count, size) in published.items():
        files = plan_embedded_files(events, events.operations[name])
        assert (len(files), sum(file["bytes"] for file in files)) == (count, size), name
        assert len({file["path"] for file in files}) == count
    sent = {name: [upload.bytes for upload in events.operations[name].uploads.values()] for name in published}
    assert (sent["add_person"], sent["add_event"]) == ([671_520], [669_128, 129_617])


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        (1, (2_500, 622, 1_866)),
        (25, (2_500, 622, 1_866)),
        (50, (5_000, 1_225, 3_675)),
        (100, (10_000, 2_311, 6_933)),
        (400, (40_000, 4_820, 14_460)),
        (1_000, (100_000, 5_000, 15_000)),
    ],
)
def test_data_grows_with_users_by_the_published_law(
    events: Workload, sessions: int, expected: tuple[int, int, int]
) -> None:
    assert tuple(compute_rows(events, sessions).values()) == expected
