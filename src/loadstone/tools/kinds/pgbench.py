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
    ProtocolSettings,
    count_executions,
    find_version,
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
    return ["sh", "-c", FIND_PGBENCH, "pgbench", *list_server_options(task), *options, PG_DATABASE]


def read_figures(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """Transactions that ended in the steady state, by the second of their end."""
    version = find_version(output)
    if not version:
        raise ToolOutputError("no line with pgbench's version")
    executions = list(read_log(task.folder))
    if not executions:
        raise ToolOutputError(f"no transaction in {PGBENCH_LOG}")
    first_s = min(execution.begin_s for execution in executions)
    by_second: dict[int, list[Execution]] = defaultdict(list)
    for execution in executions:
        by_second[math.floor(execution.end_s - first_s - task.lead_s)].append(execution)
    intervals = [
        ToolInterval(float(second), second + 1.0, count_executions(by_second[second]))
        for second in range(int(task.steady_s))
    ]
    return ToolFigures(version, float(int(task.steady_s)), intervals)


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
