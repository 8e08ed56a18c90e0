"""Records made up for tests: an iteration's figures from a few counts, and a result folder on disk."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from loadstone.model.figures import (
    NO_CONNECTIONS,
    NO_SESSIONS,
    NO_TALLY,
    Criteria,
    Distribution,
    IterationFigures,
    OperationFigures,
)
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES, Profile
from loadstone.model.records.events import (
    EVENT,
    CpuShare,
    EncodedHistogram,
    Event,
    Interval,
    OperationCounts,
    OperationRecord,
    PauseCounts,
    Slowest,
    Totals,
)
from loadstone.model.records.manifest import (
    HostFacts,
    Manifest,
    ProfileRecord,
    StudiedWorkload,
    StudyManifest,
    SystemKind,
    SystemRecord,
)
from loadstone.model.records.status import Status
from loadstone.model.records.workload_id import WorkloadId
from loadstone.run.criteria import make_criteria
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.store.folder import ResultFolder
from loadstone.store.histograms import DIGITS, HIGHEST_US, LOWEST_US
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
        **vars(NO_TALLY),
        name=name,
        requests=requests,
        good=good,
        tolerable=tolerable,
        fail=fail,
        bytes=round(requests * size),
        errors=errors or {},
        cycles=0,
        cycle_drawn_s=0,
        cycle_actual_s=0,
        ended_s=requests * mean_s,
        line_mean_s=mean_s / 2,
        response=spread,
        service=spread,
        first_byte=spread,
        inside=spread,
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
        completed=True,
    )


def criteria(workload: str, sessions: int, profile: Profile | None = None) -> Criteria:
    """What a shipped workload is held to."""
    return make_criteria(load(workload), profile or PROFILES["full"], Population(sessions), shipped=True)


def small_criteria(**changes: object) -> Criteria:
    """Criteria of a workload with two operations, `a` and `b`, equally frequent."""
    made = replace(
        criteria("banking", 100),
        id=WorkloadId("small"),
        expected_shares={"a": 0.5, "b": 0.5},
        mean_pause_s=1.0,
        paused_share=1.0,
        steady_s=100.0,
        longest_operation_s=0.0,
        dispersion={},
        total_dispersion=1.0,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def encoded(*times_us: int) -> EncodedHistogram:
    """Times in microseconds, as the driver writes them."""
    if not times_us:
        return EncodedHistogram(0, 0.0, 0.0, 0.0, 0.0, 0, "")
    histogram = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    for value in times_us:
        histogram.record_value(value)
    median, p99 = (histogram.get_value_at_percentile(at) / 1e6 for at in (50, 99))
    mean_s = sum(times_us) / len(times_us) / 1e6
    return EncodedHistogram(len(times_us), mean_s, median, p99, max(times_us) / 1e6, 0, histogram.encode().decode())


def operation_record(**changes: Any) -> OperationRecord:
    """One operation over the steady state, as the driver writes it."""
    made = OperationRecord(
        name="page",
        counts=OperationCounts(0, 0, 0, 0, 0, {}),
        tally=NO_TALLY,
        ended_s=0.0,
        ended_bytes=0,
        entered=encoded(),
        answered=encoded(),
        lost=encoded(),
        cycles=PauseCounts(0, 0.0, 0.0),
        requests_beside=(),
        line_s=0.0,
        response=encoded(),
        service=encoded(),
        first_byte=encoded(),
        statuses=(),
        slowest=Slowest(0.0, 0.0),
        files=(),
        words=(),
    )
    return replace(made, **changes)


def totals(*operations: OperationRecord, **changes: Any) -> Totals:
    """The steady state of banking, a second long."""
    made = Totals(
        event="totals",
        part="banking",
        steady_s=1.0,
        cpu=CpuShare((0.1,)),
        operations=operations,
        lag=encoded(),
        sessions=NO_SESSIONS,
        pauses=PauseCounts(0, 0.0, 0.0),
        pause=encoded(),
        connections=NO_CONNECTIONS,
        longest_gap_s=0.0,
    )
    return replace(made, **changes)


def interval(second: int, **changes: Any) -> Interval:
    """A second of the steady state of banking, with one operation in it."""
    made = Interval(
        event="interval",
        part="banking",
        at_s=float(second),
        length_s=1.0,
        phase="steady",
        sessions_active=10,
        connections_open=10,
        cpu=CpuShare((0.1,)),
        operations=(),
        response=encoded(1000 * second),
        service=encoded(),
        lag=encoded(),
        connections=NO_CONNECTIONS,
    )
    return replace(made, **changes)


def manifest(**changes: Any) -> Manifest:
    """Of a run of banking with ten users that began with the year."""
    profile = PROFILES["demo"]
    made = Manifest(
        name="banking",
        started="2026-01-01T00:00:00+00:00",
        command=("loadstone", "run", "banking", "--sessions", "10"),
        profile=ProfileRecord.from_profile(profile),
        seed=1,
        driver_threads=1,
        system=SystemRecord(SystemKind.TARGET, {"url": "http://127.0.0.1:1"}),
        target="a test",
        versions={"loadstone": "0.1.0"},
        host=HostFacts(cores=2),
        criteria=(make_criteria(load("banking"), profile, Population(10), shipped=True),),
        declarations={"banking": "[workload]\n"},
    )
    return replace(made, **changes)


def study_manifest(**changes: Any) -> StudyManifest:
    """Of a study of nothing that began with the year."""
    made = StudyManifest(
        name="study",
        kind="repeat",
        started="2026-01-01T00:00:00+00:00",
        identity="x",
        declaration={},
        command=("loadstone", "repeat"),
        profile=ProfileRecord.from_profile(PROFILES["demo"]),
        seed=1,
        driver_threads=1,
        system=SystemRecord(SystemKind.REFERENCE),
        workloads=(StudiedWorkload("banking", "Bank"),),
        versions={},
        host=HostFacts(),
    )
    return replace(made, **changes)


def result_folder(results: Path, events: Sequence[Event], status: Status = Status.COMPLETE) -> Path:
    """A result folder of a one-iteration banking run with the given driver events."""
    folder = ResultFolder.create(results, manifest())
    run = folder.run("banking", 1)
    run.write("plan.json", make_plan([WorkloadLoad(load("banking"), Population(10))], Timing(PROFILES["demo"].phases)))
    with run.open_lines("events.jsonl") as lines:
        for event in events:
            lines.write(EVENT.dump_json(event).decode() + "\n")
    folder.mark(status, "", datetime(2026, 1, 1, tzinfo=UTC))
    folder.seal()
    return folder.path
