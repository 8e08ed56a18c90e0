"""How a failover is shown: operations about the fault, all outages by length, every trial. Pure."""

from collections.abc import Iterator, Sequence

from loadstone.model.numbers import format_number
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Column, ColumnKind, Figure, Gallery, Paragraph, Row, Table, Tone
from loadstone.page.plot import Plot
from loadstone.study.failure import Failure
from loadstone.study.kinds.failover.answer import FailoverAnswer, Trial
from loadstone.study.summary import RunSummary

NOTE = (
    "An operation is affected if it failed, or took twice as long as any of its kind before the fault and 20 ms more. "
    "It is also affected if it waited in a silence: "
    "no user got a response for longer than chance explains. An operation "
    "in progress when the run ends is neither failed nor affected by that alone, since its duration is unknown. An "
    "outage is the time from the intended start of the first affected operation to the end of the last. Times without "
    "scheduled operations cannot show an outage. Served again: as the platform reports, not as users see it."
)


def render_blocks(answer: FailoverAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """The outages in order of length, and a table of all trials."""
    outages = [(trial, trial.failure.outage) for trial in answer.trials if trial.failure and trial.failure.outage]
    if outages:
        longest, _ = max(outages, key=lambda pair: pair[1].seconds)
        yield Gallery([_picture(longest)])
    if len(outages) > 1:
        lengths = sorted(outage.seconds for _, outage in outages)
        rows = [
            {"x": 100 * (index + 1) / len(lengths), "y": value, "series": "outage"}
            for index, value in enumerate(lengths)
        ]
        plot = Plot("share of trials, %", "outage, s", lines=rows, points=rows)
        yield Gallery([Figure("Outages", "From the shortest to the longest.", plot)])
    titles = (
        *("fault at, s", "longest without a good answer, s", "the same before the fault, s", "outage, s", "affected"),
        *("failed", "served again, s", "protected again, s", "throughput afterwards, %"),
    )
    yield Table([*map(Column, titles), Column("run", ColumnKind.LONG)], list(map(_row, answer.trials)))
    yield Paragraph(NOTE, Tone.QUIET)


def _picture(trial: Trial) -> Figure:
    """Response times about the fault."""
    seen = trial.failure.seen if trial.failure else ()
    points = [
        {"x": operation.at_s, "y": operation.lasted_s, "series": "answered" if operation.is_good else "failed"}
        for operation in seen
        if operation.lasted_s is not None
    ]
    plot = Plot(
        "intended start after the fault, s", "response time, s", points=points, marks=[{"x": 0.0, "label": "fault"}]
    )
    return Figure(f"Operations about the fault of {trial.run}", "The longest outage of all trials.", plot)


def _row(trial: Trial) -> Row:
    failure = trial.failure or Failure()
    outage = failure.outage
    if outage is None:
        return Row([f"{trial.at_s:g}", *[""] * 8, trial.run])
    return Row(
        [
            f"{trial.at_s:g}",
            "never" if outage.silence_s is None else format_number(outage.silence_s, 2),
            format_number(outage.silence_before_s, 2),
            format_number(outage.seconds, 2),
            str(outage.affected),
            str(outage.failed),
            format_number(failure.live_s, 2),
            format_number(failure.protected_s, 2),
            format_number(outage.throughput_pct, 2),
            trial.run,
        ]
    )
