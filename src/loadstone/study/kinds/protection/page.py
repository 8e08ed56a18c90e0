"""How the cost of protection is shown: one table of all workloads, then times, processes and the log of each. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from loadstone.model.numbers import (
    MIB_PER_BYTE,
    format_number,
    format_rounded,
    format_signed_percent,
    format_three_digits,
)
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Heading, Paragraph, Row, Table, Tone
from loadstone.page.plot import DifferencePlot, PairedBarPlot
from loadstone.study.difference import ComparedMetric, FoundDifference
from loadstone.study.kinds.protection.answer import BothTimes, ProtectionAnswer
from loadstone.study.metrics import METRICS
from loadstone.study.run_figures import PairLog, ProcessUse
from loadstone.study.summary import RunSummary

NOTE = (
    "Both sides are the same machine: board, processor model and instruction counting. Intervals and p-values come "
    "from one permutation test within the pairs of runs, 95 %. The rule is 1.2 times disk reads and received traffic "
    "(VMware 2009); the model is fitted to our own measurements (docs/fault-tolerance.md)."
)
PROCESS_NOTE = (
    "The process with the machine's name is the primary, `machine` the secondary. Each side has an agent. Cores and "
    "memory are means over the steady states."
)
KIND_COLUMNS = (Column("log", ColumnKind.TEXT), Column("Mbit/s"), Column("share\n%"))
KIND_NOTE = (
    "Log of the steady state by what its events are about. Network: received packets. Disk: requests that were done, "
    "and the data of reads from a shared disk. Clock: read times and timers. The number of instructions before an "
    "event counts with the event."
)
ALONE_TITLE, PROTECTED_TITLE = "without protection", "with protection"


def build_overview(answers: Sequence[ProtectionAnswer]) -> Iterator[Block]:
    """All workloads in one table, and the change of their throughput in one picture."""
    yield Heading("Cost of protection", 2, "overview")
    rows = [_difference_row(answer) for answer in answers if "throughput" in answer.metrics]
    drawn = [row for row in rows if row["low"] is not None]
    if drawn:
        caption = "With protection against without it, with intervals; red: found by the test."
        yield Gallery([Figure("Change of throughput", caption, DifferencePlot("difference, %", drawn), is_wide=True)])
    yield Table(_columns(), [_row(answer) for answer in answers])
    yield Paragraph(NOTE, Tone.QUIET)


def _columns() -> list[Column]:
    texts = [Column("workload", ColumnKind.TEXT)]
    titles = (
        *("pairs", "throughput\nratio", "interval", "p", "mean ms\nwithout", "mean ms\nwith", "p95 ms\nwithout"),
        *("p95 ms\nwith", "log\nMbit/s", "rule\nMbit/s", "model\nMbit/s", "received\nMbit/s", "disk reads\nMB/s"),
        *("lag\nms", "held p50\nms", "held p99\nms", "slowed\n%"),
    )
    return [*texts, *map(Column, titles)]


def _row(answer: ProtectionAnswer) -> Row:
    log, traffic, prediction = answer.log, answer.traffic, answer.prediction
    return Row(
        [
            answer.workload,
            format_number(answer.pairs),
            *_ratio_cells(answer.metrics.get("throughput")),
            *(cell for name in ("response_mean", "response_p95") for cell in _times(answer.metrics.get(name))),
            format_three_digits(None if log is None else log.log_mbit_per_s),
            format_three_digits(None if prediction is None else prediction.rule_mbit_per_s),
            format_three_digits(None if prediction is None else prediction.model_mbit_per_s),
            format_three_digits(None if traffic is None else traffic.received_mbit_per_s),
            format_three_digits(None if traffic is None else traffic.read_mbytes_per_s),
            *(
                format_three_digits(None if log is None else getattr(log, name))
                for name in ("lag_ms", "held_ms", "held_p99_ms", "slowed_pct")
            ),
        ]
    )


def _ratio_cells(metric: ComparedMetric | None) -> list[str | Cell]:
    if metric is None or metric.difference is None:
        return ["", "", ""]
    difference = metric.difference
    tone = Tone.BROKEN if difference.is_found else Tone.PLAIN
    interval = (
        "" if difference.low is None or difference.high is None else f"{difference.low:.3f} to {difference.high:.3f}"
    )
    return [f"{difference.ratio:.3f}", interval, Cell(format_number(difference.p, 3), tone)]


def _times(metric: ComparedMetric | None) -> tuple[str, str]:
    if metric is None:
        return "", ""
    return format_three_digits(1000 * metric.a.mean), format_three_digits(1000 * metric.b.mean)


def _difference_row(answer: ProtectionAnswer) -> dict[str, Any]:
    difference = answer.metrics["throughput"].difference
    return {"name": answer.workload, **_percents(difference), "found": difference is not None and difference.is_found}


def _percents(difference: FoundDifference | None) -> dict[str, float | None]:
    names = {"value": "ratio", "low": "low", "high": "high"}
    ratios: dict[str, float | None] = {name: getattr(difference, field, None) for name, field in names.items()}
    return {name: None if ratio is None else 100 * (ratio - 1) for name, ratio in ratios.items()}


def build_blocks(answer: ProtectionAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """Pictures of both sides, then the tables behind them."""
    figures = [_metric_figure(name, answer.metrics[name]) for name in _drawn(answer)]
    if figures:
        yield Gallery([*figures, *_process_figures(answer)])
    if answer.operations:
        yield Table(_operation_columns(), [_operation_row(*item) for item in answer.operations.items()])
    if answer.log is not None and answer.log.mbit_per_s_by_kind:
        yield Table(list(KIND_COLUMNS), list(_kind_rows(answer.log)))
        yield Paragraph(KIND_NOTE, Tone.QUIET)
    if answer.processes:
        yield Table(_process_columns(), list(_process_rows(answer)))
        yield Paragraph(PROCESS_NOTE, Tone.QUIET)


def _drawn(answer: ProtectionAnswer) -> list[str]:
    return [name for name in ("throughput", "response_mean", "response_p95") if name in answer.metrics]


def _metric_figure(name: str, metric: ComparedMetric) -> Figure:
    rows = [
        {"name": METRICS[name].title, "series": side, "value": values.mean, "low": values.low, "high": values.high}
        for side, values in ((ALONE_TITLE, metric.a), (PROTECTED_TITLE, metric.b))
    ]
    difference = metric.difference
    change = "" if difference is None else f" Change: {format_signed_percent(difference.ratio)} %."
    caption = f"Means over the runs with intervals.{change}"
    return Figure(METRICS[name].plot_title, caption, PairedBarPlot(METRICS[name].axis_title, rows))


def _process_figures(answer: ProtectionAnswer) -> Iterator[Figure]:
    names = list(dict.fromkeys((*answer.processes_alone, *answer.processes)))
    rows = [
        {"name": name, "series": side, "value": uses[name].cores, "low": None, "high": None}
        for name in names
        for side, uses in ((ALONE_TITLE, answer.processes_alone), (PROTECTED_TITLE, answer.processes))
        if name in uses
    ]
    if rows:
        yield Figure("CPU by process", "Means over the steady states.", PairedBarPlot("cores", rows))


def _operation_columns() -> list[Column]:
    titles = ("per second", "mean, ms", "p95, ms")
    sides = [Column(f"{title}\n{side}") for title in titles for side in ("without", "with")]
    return [Column("operation", ColumnKind.TEXT), *sides]


def _operation_row(name: str, both: BothTimes) -> Row:
    sides = (both.alone, both.protected)
    per_s = [format_rounded(None if side is None else side.per_s) for side in sides]
    mean_ms = [_ms(None if side is None else side.mean_s) for side in sides]
    p95_ms = [_ms(None if side is None else side.p95_s) for side in sides]
    return Row([name, *per_s, *mean_ms, *p95_ms])


def _ms(seconds: float | None) -> str:
    return format_three_digits(None if seconds is None else 1000 * seconds)


def _kind_rows(log: PairLog) -> Iterator[Row]:
    for kind, rate in log.mbit_per_s_by_kind.items():
        share = rate / log.log_mbit_per_s if log.log_mbit_per_s else None
        yield Row([kind, format_three_digits(rate), format_number(None if share is None else 100 * share, 1)])


def _process_columns() -> list[Column]:
    titles = ("cores\nwithout", "cores\nwith", "memory MiB\nwithout", "memory MiB\nwith")
    return [Column("process", ColumnKind.TEXT), *map(Column, titles)]


def _process_rows(answer: ProtectionAnswer) -> Iterator[Row]:
    sides: tuple[Mapping[str, ProcessUse], ...] = (answer.processes_alone, answer.processes)
    for name in dict.fromkeys(name for side in sides for name in side):
        uses = [side.get(name) for side in sides]
        cores = [format_rounded(None if use is None else use.cores) for use in uses]
        memory = [format_number(None if use is None else use.resident_bytes * MIB_PER_BYTE) for use in uses]
        yield Row([name, *cores, *memory])
