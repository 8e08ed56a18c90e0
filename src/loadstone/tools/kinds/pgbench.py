"""pgbench: transactions of PostgreSQL's own benchmark (PostgreSQL documentation, pgbench)."""

import math
from collections import defaultdict

from pydantic import Field

from loadstone.tools.kind import ToolFigures, ToolInterval, ToolKind, ToolOutput, ToolOutputError, ToolTask
from loadstone.tools.postgresql import (
    FIND_PGBENCH,
    PG_DATABASE,
    PG_PROGRAMS,
    PGBENCH_LOG,
    Execution,
    Played,
    ProtocolSettings,
    build_pgbench,
    count_executions,
    count_seconds,
    list_server_options,
    read_log,
)

FILL_STEPS = "dtGvp"
"""Drop the tables, create them, generate rows in the server, vacuum, add primary keys."""
SCRIPTS = {"tpcb": "tpcb-like", "select": "select-only", "update": "simple-update"}
"""Built-in scripts by operation."""


class PgbenchSettings(ProtocolSettings):
    """Size of the database and kind of queries."""

    scale: int = Field(default=10, ge=1, le=100_000, description="scale: 100,000 accounts each, 1 or more")


def prepare(task: ToolTask) -> list[list[str]]:
    """Fills the database again. The server itself generates the rows, so that few bytes reach it."""
    options = ["--initialize", f"--init-steps={FILL_STEPS}", f"--scale={_settings(task).scale}"]
    return [["sh", "-c", FIND_PGBENCH, "pgbench", *list_server_options(task), *options, PG_DATABASE]]


def build_command(task: ToolTask) -> list[str]:
    """All clients from the first second on; `--no-vacuum`, since the tables are new."""
    return build_pgbench(task, [f"--builtin={SCRIPTS[task.operation]}", f"--protocol={_settings(task).protocol}"])


def read_figures(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """Transactions that ended in the steady state, by the second of their end."""
    played = Played.read(output)
    executions = list(read_log(task.folder))
    if not executions:
        raise ToolOutputError(f"no transaction in {PGBENCH_LOG}")
    steady_from_s = played.worked_s + task.lead_s
    by_second: dict[int, list[Execution]] = defaultdict(list)
    for execution in executions:
        by_second[math.floor(execution.end_s - steady_from_s)].append(execution)
    intervals = [
        ToolInterval(float(second), second + 1.0, count_executions(by_second[second]))
        for second in range(count_seconds(task, played, executions))
    ]
    return ToolFigures(played.version, float(len(intervals)), intervals, steady_from_s - played.started_s)


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
