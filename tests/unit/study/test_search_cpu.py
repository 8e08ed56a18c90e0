"""A search that keeps the CPU of the system under test below a limit."""

from dataclasses import replace

import pytest

from loadstone.model.records.check import CheckId
from loadstone.study.run_figures import ProcessUse
from loadstone.study.search.answer import LimitedBy
from loadstone.study.search.cpu_limit import UNWATCHED, compute_used_share
from loadstone.study.search.question import Search
from loadstone.study.summary import RunRequest, RunSummary
from tests.made import carry_out, made

SEARCH = Search("page", {}, "sessions", start=100, width=0.01, below_cpu_pct=60.0)


def play(request: RunRequest) -> RunSummary:
    """A pair that passes up to 1000 sessions, and whose primary then uses the whole of its core."""
    run = made(request, "pass" if request.load <= 1000 else "fail")
    cores = {"web": min(1.0, request.load / 1000), "web, agent a": 0.3, "web, machine b": 0.9, "backend": 0.5}
    processes = {name: ProcessUse(used, 1e6) for name, used in cores.items()}
    return replace(run, processes=processes, capacity={"server_cores": 1.0})


def test_the_load_found_uses_as_much_cpu_as_was_asked_for() -> None:
    answer, _ = carry_out(SEARCH, play)
    assert 594 <= answer.peak <= 600
    assert answer.limit is LimitedBy.RULE
    assert answer.broke_first[0].rule == "CPU of the system under test"
    assert answer.bottleneck == ""
    rules = {check.id: check for load in answer.loads for check in load.rules if load.at == answer.peak}
    assert rules[CheckId.SYSTEM_CPU].figure == pytest.approx(100 * answer.peak / 1000)


def test_rules_limit_a_load_that_leaves_cpu_free() -> None:
    answer, _ = carry_out(replace(SEARCH, below_cpu_pct=100.0), play)
    assert 990 <= answer.peak <= 1000


def test_only_the_primary_of_a_pair_counts() -> None:
    assert compute_used_share(play(SEARCH.plan_runs()[0])) == pytest.approx(0.1)


def test_workers_of_a_modelled_station_count_as_its_cpu() -> None:
    run = replace(made(SEARCH.plan_runs()[0]), metrics={"busy_workers": 3.0}, capacity={"workers": 4.0})
    assert compute_used_share(run) == pytest.approx(0.75)


def test_a_cpu_that_was_not_watched_ends_the_search_with_the_reason() -> None:
    answer, runs = carry_out(SEARCH, lambda request: replace(play(request), processes={}))
    assert answer.limit is LimitedBy.UNFIT and answer.peak is None
    assert len(runs) == 3
    assert UNWATCHED in answer.headline[0]
