"""pgbench: transactions of PostgreSQL's own benchmark (PostgreSQL documentation, pgbench)."""

import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.tools.kind import Amount, ToolFigures, ToolInterval, ToolKind, ToolOutput, ToolOutputError, ToolTask

PG_PROGRAMS = "/usr/lib/postgresql/*/bin"
PG_USER, PG_DATABASE = "loadstone", "postgres"
FILL_STEPS = "dtGvp"
"""Drop the tables, create them, generate rows in the server, vacuum, add primary keys."""
PGBENCH_LOG = "pgbench-log"
"""Prefix of the files with a line for each transaction."""
SCRIPTS = {"tpcb": "tpcb-like", "select": "select-only", "update": "simple-update"}
"""Built-in scripts by operation."""
FIND_PGBENCH = f'PATH="$(ls -d {PG_PROGRAMS} 2>/dev/null | tail -n 1):$PATH"; exec pgbench "$@"'
FAILED = "failed"
"""Time of a transaction that failed."""


class PgbenchSettings(Section):
    """Size of the database and kind of queries."""

    scale: int = Field(default=10, ge=1, le=100_000, description="scale: 100,000 accounts each, 1 or more")
    protocol: str = Field(
        default="prepared", pattern="^(simple|extended|prepared)$", description="`simple`, `extended` or `prepared`"
    )


def prepare(task: ToolTask) -> list[list[str]]:
    """Fills the database again. The server itself generates the rows, so that few bytes reach it."""
    return [_pgbench(task, "--initialize", f"--init-steps={FILL_STEPS}", f"--scale={_settings(task).scale}")]


def build_command(task: ToolTask) -> list[str]:
    """All clients from the first second on; `--no-vacuum`, since the tables are new."""
    clients = [f"--client={task.clients}", f"--jobs={min(task.clients, task.threads)}"]
    script = f"--builtin={SCRIPTS[task.operation]}"
    log = ["--log", f"--log-prefix={task.folder / PGBENCH_LOG}"]
    seconds = f"--time={task.lead_s + task.steady_s:.0f}"
    protocol = f"--protocol={_settings(task).protocol}"
    return _pgbench(task, "--no-vacuum", script, *clients, seconds, protocol, *log)


def _pgbench(task: ToolTask, *options: str) -> list[str]:
    server = ["-h", task.endpoint.host, "-p", str(task.endpoint.port), "-U", PG_USER]
    return ["sh", "-c", FIND_PGBENCH, "pgbench", *server, *options, PG_DATABASE]


def read_figures(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """Transactions that ended in the steady state, by the second of their end."""
    version = next((line for line in output.text.splitlines() if line.startswith("pgbench")), "")
    if not version:
        raise ToolOutputError("no line with pgbench's version")
    ends = sorted(_transactions(task.folder))
    if not ends:
        raise ToolOutputError(f"no transaction in {PGBENCH_LOG}")
    first_s = min(end_s - (time_us or 0) / 1e6 for end_s, time_us in ends)
    times_of: dict[int, list[int | None]] = defaultdict(list)
    for end_s, time_us in ends:
        times_of[math.floor(end_s - first_s - task.lead_s)].append(time_us)
    intervals = [_second(second, times_of[second]) for second in range(int(task.steady_s))]
    return ToolFigures(version, float(int(task.steady_s)), intervals)


def _second(second: int, times_us: list[int | None]) -> ToolInterval:
    answered = [time_us for time_us in times_us if time_us is not None]
    amount = Amount.count_times(answered, errors=len(times_us) - len(answered))
    return ToolInterval(float(second), second + 1.0, amount)


def _transactions(folder: Path) -> Iterator[tuple[float, int | None]]:
    """End on the wall clock in seconds, and time in microseconds, None where it failed."""
    for file in folder.glob(f"{PGBENCH_LOG}.*"):
        for line in file.read_text().splitlines():
            _, _, time_us, _, epoch_s, epoch_us, *_ = line.split()
            yield int(epoch_s) + int(epoch_us) / 1e6, None if time_us == FAILED else int(time_us)


def _settings(task: ToolTask) -> PgbenchSettings:
    assert isinstance(task.settings, PgbenchSettings)
    return task.settings


KIND = ToolKind(
    "pgbench",
    PgbenchSettings,
    build_command,
    read_figures,
    {f"{PG_PROGRAMS}/pgbench": "postgresql-contrib"},
    prepare=prepare,
)
