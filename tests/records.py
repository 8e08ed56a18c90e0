"""Records made up for tests: an iteration's figures from a few counts, and a result folder on disk."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from loadstone.model.figures import Criteria, Distribution, IterationFigures, OperationFigures
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES, Profile
from loadstone.run.criteria import make_criteria
from loadstone.run.plan import Part, Timing, make_plan
from loadstone.store.folder import ResultFolder
from loadstone.model.records.manifest import Status
from loadstone.workloads import load


def times(count: int, mean_s: float) -> Distribution:
    """A distribution in which every time is the mean."""
    return Distribution(count, mean_s, dict.fromkeys((50.0, 90.0, 95.0, 99.0, 99.9, 100.0), mean_s))


def operation(
    name: str,
    requests: int,
    mean_s: float,
    size: float = 1000,
    grades: tuple[int, int, int] | None = None,
    errors: Mapping[str, int] | None = None,
) -> OperationFigures:
    """An operation's figures."""
    good, tolerable, fail = grades or (requests, 0, 0)
    spread = times(requests, mean_s)
    return OperationFigures(
        name=name,
        requests=requests,
        good=good,
        tolerable=tolerable,
        fail=fail,
        bytes=round(requests * size),
        errors=errors or {},
        cut_at_start=0,
        cut_at_end=0,
        cycles=0,
        cycle_drawn_s=0,
        cycle_actual_s=0,
        ended_s=requests * mean_s,
        overdue=0,
        embedded=0,
        conditional=0,
        not_modified=0,
        redirects=0,
        line_mean_s=mean_s / 2,
        response=spread,
        service=spread,
        first_byte=spread,
    )


def iteration(
    operations: tuple[OperationFigures, ...], seconds: float = 1800.0, mean_pause_s: float = 1.0
) -> IterationFigures:
    """An iteration in which the driver had no trouble."""
    count = sum(one.response.count for one in operations)
    mean_s = sum((one.response.mean_s or 0) * one.response.count for one in operations) / max(1, count)
    return IterationFigures(
        steady_s=seconds,
        operations=operations,
        response=times(count, mean_s),
        service=times(count, mean_s),
        lag=times(count, 0.0002),
        driver_cpu=(0.3,),
        pauses=100,
        pause_drawn_s=100 * mean_pause_s,
        pause_actual_s=100.01 * mean_pause_s,
        sessions={},
        connections={},
        completed=True,
    )


def criteria(workload: str, sessions: int, profile: Profile | None = None) -> Criteria:
    """The terms of a shipped workload."""
    return make_criteria(load(workload), profile or PROFILES["full"], Population(sessions), shipped=True)


def small_terms(**changes: object) -> Criteria:
    """Terms of a workload with two operations, `a` and `b`, equally frequent."""
    made = replace(
        criteria("banking", 100),
        workload="small",
        expected_shares={"a": 0.5, "b": 0.5},
        mean_pause_s=1.0,
        paused_share=1.0,
        steady_s=100.0,
        longest_operation_s=0.0,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def result_folder(results: Path, events: list[dict[str, object]], status: Status = Status.COMPLETE) -> Path:
    """A result folder of a one-iteration banking run with the given driver events."""
    profile = PROFILES["demo"]
    manifest = {
        "command": ["loadstone", "run", "banking", "--sessions", "10"],
        "profile": {"name": profile.name, "about": profile.about, **asdict(profile.phases)},
        "seed": 1,
        "driver_threads": 1,
        "target": "a test",
        "verify_certificates": True,
        "versions": {"loadstone": "0.1.0"},
        "host": {"cores": 2, "mitigations": {}, "cgroup_limits": {}},
        "terms": [asdict(make_criteria(load("banking"), profile, Population(10), shipped=True))],
        "declarations": {"banking": "[workload]\n"},
    }
    folder = ResultFolder.create(results, "banking", datetime(2026, 1, 1, tzinfo=UTC), manifest)
    run = folder.run("banking", 1)
    run.write("plan.json", make_plan([Part(load("banking"), Population(10))], Timing(profile.phases)))
    with run.lines("events.jsonl") as lines:
        for event in events:
            lines.write(json.dumps(event) + "\n")
    folder.mark(status, "", datetime(2026, 1, 1, tzinfo=UTC))
    folder.seal()
    return folder.path
