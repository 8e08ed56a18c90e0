"""A run's records in forms that other tools read: CSV and Parquet series, HdrHistogram log, k6-like summary, JUnit."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from loadstone.model.errors import UsageError
from loadstone.model.figures import Distribution, IterationFigures
from loadstone.model.records.result import Iteration, Result, WorkloadResult
from loadstone.report.junit import as_junit

ExportRow = dict[str, str | int | float]
"""A row of a series."""
Metrics = dict[str, Any]
"""A k6 summary, as that tool lays it out."""


class Form(StrEnum):
    """What a run can be exported as."""

    CSV = "csv"
    HLOG = "hlog"
    K6 = "k6"
    PARQUET = "parquet"
    JUNIT = "junit"


def export(result: Result, form: Form, run: str | None) -> bytes:
    """One iteration of one workload as a file's content, or for JUnit the verdict of all; raises UsageError when it is
    not clear which.
    """
    if form is Form.JUNIT:
        return as_junit(result)
    workload, iteration = _choose(result, run)
    match form:
        case Form.CSV:
            return as_csv(iteration).encode()
        case Form.HLOG:
            return as_hlog(workload.id.label, iteration).encode()
        case Form.K6:
            return (json.dumps(as_k6(workload, iteration.figures), indent=1) + "\n").encode()
        case Form.PARQUET:
            return as_parquet(iteration)


def _choose(result: Result, run: str | None) -> tuple[WorkloadResult, Iteration]:
    runs = {
        f"{workload.id.label}-{iteration.number}": (workload, iteration)
        for workload in result.workloads
        for iteration in workload.iterations
    }
    if run is None and len(runs) == 1:
        return next(iter(runs.values()))
    if run not in runs:
        problem = f"There is no run `{run}`" if run else f"The result holds {len(runs)} runs"
        raise UsageError(f"{problem}. Name one with --run: {', '.join(runs) or 'none'}.")
    return runs[run]


def as_csv(iteration: Iteration) -> str:
    """A row an interval, in seconds, milliseconds and bytes."""
    out = io.StringIO()
    rows = list(_rows(iteration))
    writer = csv.DictWriter(out, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_parquet(iteration: Iteration) -> bytes:
    """The rows of the CSV series with their types; raises UsageError where the package for it is not installed."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise UsageError("Parquet needs the package pyarrow: pip install 'loadstone[parquet]'.") from None
    out = arrow.BufferOutputStream()
    parquet.write_table(arrow.Table.from_pylist(list(_rows(iteration))), out)
    content: bytes = out.getvalue().to_pybytes()
    return content


def _rows(iteration: Iteration) -> Iterator[ExportRow]:
    for interval in iteration.records.intervals:
        counts = interval.operations
        times = {"response": interval.response, "service": interval.service, "lag": interval.lag}
        yield {
            "end_s": round(interval.at_s, 3),
            "length_s": round(interval.length_s, 3),
            "phase": interval.phase,
            "requests": interval.requests,
            "good": sum(count.good for count in counts),
            "tolerable": sum(count.tolerable for count in counts),
            "fail": sum(count.fail for count in counts),
            "bytes": sum(count.bytes for count in counts),
            "errors": interval.error_count,
            **{
                f"{kind}_{name}_ms": round(1000 * value_s, 3)
                for kind, latency in times.items()
                for name, value_s in (("p50", latency.p50_s), ("p99", latency.p99_s), ("max", latency.max_s))
            },
            "sessions_active": interval.sessions_active,
            "connections_open": interval.connections_open,
            "driver_busiest_core_share": round(interval.cpu.busiest, 4),
        }


def as_hlog(workload: str, iteration: Iteration) -> str:
    """A HdrHistogram interval log (format 1.3) with a tag for response time, service time and driver lag.

    Histograms hold microseconds; the column of largest values is in milliseconds, times in seconds from the start.
    The package's own writer is not used: it writes no tags, and its start time line fails.
    """
    start_s = iteration.records.start.start_unix_s if iteration.records.start else 0.0
    lines = [
        f"#[Loadstone {workload}, iteration {iteration.number}; values in microseconds]",
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {start_s:.3f} (seconds since epoch), {datetime.fromtimestamp(start_s, UTC).isoformat()}]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    for interval in iteration.records.intervals:
        times = f"{interval.at_s - interval.length_s:.3f},{interval.length_s:.3f}"
        for kind, histogram in (("response", interval.response), ("service", interval.service), ("lag", interval.lag)):
            if histogram.count:
                lines.append(f"Tag={kind},{times},{1000 * histogram.max_s:.3f},{histogram.hdr}")
    return "\n".join(lines) + "\n"


def as_k6(workload: WorkloadResult, figures: IterationFigures) -> Metrics:
    """The steady state in the shape of a k6 summary export: times in milliseconds.

    An operation is a page with its files, which k6 calls a group; requests alone are not told: there is no `http_reqs`.
    """
    seconds = max(figures.steady_s, 1e-9)
    failed = sum(operation.error_count for operation in figures.operations)
    size = sum(operation.bytes for operation in figures.operations)
    metrics: Metrics = {
        "group_duration": _trend(figures.response),
        "service_time": _trend(figures.service),
        "driver_lag": _trend(figures.lag),
        "operations": {"count": figures.answered, "rate": figures.answered / seconds},
        "operations_failed": {
            "passes": failed,
            "fails": figures.requests - failed,
            "value": failed / max(1, figures.requests),
        },
        "data_received": {"count": size, "rate": size / seconds},
        "iterations": {"count": figures.sessions.finished},
        "vus": {
            "value": workload.criteria.sessions,
            "min": workload.criteria.sessions,
            "max": workload.criteria.sessions,
        },
    }
    for operation in figures.operations:
        metrics[f"group_duration{{group:::{operation.name}}}"] = _trend(operation.response)
    return {"metrics": metrics}


def _trend(times: Distribution) -> Metrics:
    """A k6 trend: milliseconds."""
    if not times.count or times.mean_s is None:
        return {}
    known = times.percentiles_s
    named = {"med": 50.0, "max": 100.0, "p(90)": 90.0, "p(95)": 95.0, "p(99)": 99.0, "p(99.9)": 99.9}
    return {
        "avg": 1000 * times.mean_s,
        **{name: 1000 * known[percent] for name, percent in named.items() if percent in known},
    }
