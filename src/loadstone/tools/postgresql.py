"""PostgreSQL as tools reach it, and the log of pgbench, which several tools run (PostgreSQL documentation, pgbench)."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.tools.kind import Amount, ToolOutput, ToolOutputError, ToolTask

PG_PROGRAMS = "/usr/lib/postgresql/*/bin"
PG_USER, PG_DATABASE = "loadstone", "postgres"
SET_PG_PATH = f'PATH="$(ls -d {PG_PROGRAMS} 2>/dev/null | tail -n 1):$PATH"'
"""Shell words that put the newest version's programs first."""
FIND_PGBENCH = f'{SET_PG_PATH}; exec pgbench "$@"'
CONNECT_TIMEOUT_S = 300
"""Longest time for all clients to connect and to write the first block of the log."""
MARGIN_S = 1
"""Time that is played beyond the steady state."""
PLAY = f"""{SET_PG_PATH}
log=$1 seconds=$2
shift 2
is_alive() {{ kill -0 $pgbench 2>/dev/null; }}
date '+started %s.%N'
pgbench "$@" &
pgbench=$!
while is_alive && ! [ -s "$(ls "$log".* 2>/dev/null | head -n 1)" ]; do sleep 0.2; done
date '+worked %s.%N'
while [ $seconds -gt 0 ] && is_alive; do sleep 1; seconds=$((seconds - 1)); done
kill -ALRM $pgbench 2>/dev/null
wait $pgbench || exit $?
"""
"""Ends pgbench as its own timer does, but counts from the first block of its log. That timer counts the connecting of
the clients, which takes seconds where the server is emulated.
"""
START_LINE = re.compile(r"^started (\d+\.\d+)$", re.MULTILINE)
WORKED_LINE = re.compile(r"^worked (\d+\.\d+)$", re.MULTILINE)
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


@dataclass(frozen=True)
class Played:
    """What pgbench and the shell around it printed."""

    version: str
    started_s: float
    """When pgbench was started, on the wall clock."""
    worked_s: float
    """When the first transactions were logged. The warm-up begins then, not when all clients are connected: on a slow
    machine, all first transactions together take longer than any warm-up.
    """

    @classmethod
    def read(cls, output: ToolOutput) -> "Played":
        """Reads what was printed. Raises ToolOutputError where something is missing."""
        version = next((line for line in output.text.splitlines() if line.startswith("pgbench")), "")
        started, worked = START_LINE.search(output.text), WORKED_LINE.search(output.text)
        if not version or started is None or worked is None:
            raise ToolOutputError("no line with pgbench's version, none with its start, or none with its first work")
        return cls(version, float(started[1]), float(worked[1]))


def list_server_options(task: ToolTask) -> list[str]:
    """Returns the options by which pgbench and psql reach the server."""
    return ["-h", task.endpoint.host, "-p", str(task.endpoint.port), "-U", PG_USER]


def build_pgbench(task: ToolTask, options: Sequence[str], script: str = "") -> list[str]:
    """Returns the command that plays all clients for the whole task and logs each transaction. Then a script of the
    shell may follow.
    """
    log, seconds = str(task.folder / PGBENCH_LOG), math.ceil(task.lead_s + task.steady_s + MARGIN_S)
    common = [
        *("--no-vacuum", f"--client={task.clients}", f"--jobs={min(task.clients, task.threads)}"),
        *(f"--time={seconds + CONNECT_TIMEOUT_S}", "--log", f"--log-prefix={log}"),
    ]
    arguments = [*list_server_options(task), *common, *options, PG_DATABASE]
    return ["sh", "-c", PLAY + script, "pgbench", log, str(seconds), *arguments]


def count_seconds(task: ToolTask, played: Played, executions: Iterable[Execution]) -> int:
    """Returns the whole seconds of the steady state. It is shorter where pgbench ended before. Raises ToolOutputError
    where no second is left.
    """
    last_s = max((execution.end_s for execution in executions), default=0.0)
    seconds = min(int(task.steady_s), int(last_s - played.worked_s - task.lead_s))
    if seconds < 1:
        raise ToolOutputError(
            f"no second of the steady state has a transaction: the clients took too long to connect, or answers take "
            f"longer than the {task.steady_s:g} s. Use a longer one"
        )
    return seconds


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
