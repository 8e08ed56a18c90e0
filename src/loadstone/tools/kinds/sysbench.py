"""sysbench: its OLTP mix of reads and writes over PostgreSQL (https://github.com/akopytov/sysbench)."""

import re
import shlex
from collections.abc import Iterator

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.tools.kind import Amount, ToolFigures, ToolInterval, ToolKind, ToolOutput, ToolOutputError, ToolTask
from loadstone.tools.postgresql import PG_DATABASE, PG_USER

SYSBENCH = "/usr/bin/sysbench"
SECOND_LINE = re.compile(r"^\[ (\d+)s \] thds: (\d+) tps: ([\d.]+) .* err/s: ([\d.]+)", re.MULTILINE)
TIME_LINE = re.compile(r"^ *([\d.]+) \|[* ]* (\d+)$", re.MULTILINE)
"""A line of the histogram: milliseconds and how many."""
ERRORS = re.compile(r"ignored errors: +(\d+)")
SUM_MS = re.compile(r"^ +sum: +([\d.]+)$", re.MULTILINE)
TOTAL_S = re.compile(r"total time: +([\d.]+)s")
VERSION_LINE = re.compile(r"^(sysbench [\w.-]+)", re.MULTILINE)


class SysbenchSettings(Section):
    """Size of the database."""

    tables: int = Field(default=4, ge=1, le=1000, description="number of tables, 1 or more")
    rows: int = Field(default=25_000, ge=1, le=100_000_000, description="rows of each table, 1 or more")


def prepare(task: ToolTask) -> list[list[str]]:
    """Fills the database anew."""
    return [_sysbench(task, "cleanup"), _sysbench(task, "prepare")]


def build_command(task: ToolTask) -> list[str]:
    """Plays the seconds that are not counted, then the others; reports each second, and all times at the end."""
    counted = _sysbench(task, "run", f"--time={task.steady_s:.0f}", "--report-interval=1", "--histogram")
    if task.lead_s < 1:
        return counted
    lead = _sysbench(task, "run", f"--time={task.lead_s:.0f}")
    return ["sh", "-c", f"{shlex.join(lead)} > /dev/null && exec {shlex.join(counted)}"]


def _sysbench(task: ToolTask, step: str, *options: str) -> list[str]:
    assert isinstance(task.settings, SysbenchSettings)
    server = [f"--pgsql-host={task.endpoint.host}", f"--pgsql-port={task.endpoint.port}"]
    account = [f"--pgsql-user={PG_USER}", f"--pgsql-db={PG_DATABASE}"]
    size = [f"--tables={task.settings.tables}", f"--table-size={task.settings.rows}", f"--threads={task.clients}"]
    return [SYSBENCH, task.operation, "--db-driver=pgsql", *server, *account, *size, *options, step]


def read_figures(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """Seconds from the reports, times from the histogram."""
    version, total_s, sum_ms = (pattern.search(output.text) for pattern in (VERSION_LINE, TOTAL_S, SUM_MS))
    if version is None or total_s is None or sum_ms is None:
        raise ToolOutputError("no version, no total time or no sum of times")
    times_us = {max(1, round(1000 * float(ms))): int(number) for ms, number in TIME_LINE.findall(output.text)}
    errors = sum(map(int, ERRORS.findall(output.text)))
    total = Amount(sum(times_us.values()) + errors, 0, errors, float(sum_ms[1]) / 1000, times_us)
    # The last transactions end after the time that was asked for.
    return ToolFigures(version[1], max(task.steady_s, float(total_s[1])), list(_seconds(output.text)), measured=total)


def _seconds(output: str) -> Iterator[ToolInterval]:
    """Each second; the mean time of closed clients without pauses is their number by the throughput."""
    for end_s, threads, per_s, errors in SECOND_LINE.findall(output):
        count = round(float(per_s))
        mean_s = int(threads) / float(per_s) if count else 0.0
        amount = Amount.estimate(count, 0, mean_s) + Amount(round(float(errors)), errors=round(float(errors)))
        yield ToolInterval(float(end_s) - 1, float(end_s), amount)


KIND = ToolKind("sysbench", SysbenchSettings, build_command, read_figures, {SYSBENCH: "sysbench"}, prepare=prepare)
