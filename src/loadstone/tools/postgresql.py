"""PostgreSQL as tools reach it, and the log of pgbench, which several tools run (PostgreSQL documentation, pgbench)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.tools.kind import Amount, ToolOutput, ToolTask

PG_PROGRAMS = "/usr/lib/postgresql/*/bin"
PG_USER, PG_DATABASE = "loadstone", "postgres"
SET_PG_PATH = f'PATH="$(ls -d {PG_PROGRAMS} 2>/dev/null | tail -n 1):$PATH"'
"""Shell words that put the newest version's programs first."""
FIND_PGBENCH = f'{SET_PG_PATH}; exec pgbench "$@"'
FIND_PSQL = f'{SET_PG_PATH}; exec psql "$@"'
PGBENCH_LOG = "pgbench-log"
"""Prefix of the files with a line for each transaction."""
FAILED = "failed"
"""Time of a transaction that failed."""
US_PER_S = 1_000_000


class ProtocolSettings(Section):
    """How pgbench sends its queries."""

    protocol: str = Field(
        default="prepared", pattern="^(simple|extended|prepared)$", description="`simple`, `extended` or `prepared`"
    )


@dataclass(frozen=True)
class Execution:
    """One execution of a script by a client, as a line of pgbench's log has it."""

    client: int
    number: int
    """1 for the first of its client."""
    script: int
    """Its script, by its place."""
    end_s: float
    """On the wall clock."""
    time_us: int | None
    """None where it failed."""

    @property
    def begin_s(self) -> float:
        """On the wall clock; the end where it failed."""
        return self.end_s - (self.time_us or 0) / US_PER_S


def list_server_options(task: ToolTask) -> list[str]:
    """Returns the options by which pgbench and psql reach the server."""
    return ["-h", task.endpoint.host, "-p", str(task.endpoint.port), "-U", PG_USER]


def find_version(output: ToolOutput) -> str:
    """Returns the line with pgbench's version; empty where there is none."""
    return next((line for line in output.text.splitlines() if line.startswith("pgbench")), "")


def read_log(folder: Path) -> Iterator[Execution]:
    """Yields what pgbench logged in a folder."""
    for file in folder.glob(f"{PGBENCH_LOG}.*"):
        for line in file.read_text().splitlines():
            client, number, time, script, epoch_s, epoch_us, *_ = line.split()
            end_s = int(epoch_s) + int(epoch_us) / US_PER_S
            yield Execution(int(client), int(number), int(script), end_s, None if time == FAILED else int(time))


def count_executions(executions: Iterable[Execution]) -> Amount:
    """Counts executions with their times; those that failed are errors."""
    times_us = [execution.time_us for execution in executions]
    answered = [time_us for time_us in times_us if time_us is not None]
    return Amount.count_times(answered, errors=len(times_us) - len(answered))
