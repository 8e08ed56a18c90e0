"""Users of a database, played by pgbench with scripts of our own.

Pauses are executions of their own: pgbench's time of an execution includes every `\\sleep` in it, so a script either
pauses or works, and a variable of the client says which comes next. The log then has a line for each pause and for each
operation, and no pause counts as response time.
"""

import math
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from loadstone.tools.kind import (
    Amount,
    ToolEnding,
    ToolFigures,
    ToolInterval,
    ToolOutput,
    ToolOutputError,
    ToolTask,
)
from loadstone.tools.postgresql import (
    FIND_PSQL,
    PG_DATABASE,
    PG_PROGRAMS,
    PGBENCH_LOG,
    SET_PG_PATH,
    Execution,
    count_executions,
    find_version,
    list_server_options,
    read_log,
)

SCRIPTED_NEEDS = {f"{PG_PROGRAMS}/pgbench": "postgresql-contrib", f"{PG_PROGRAMS}/psql": "postgresql-client"}
FILL_FILE = "fill.sql"
SCRIPTS_FOLDER = "scripts"
"""Of SQL files, below this package."""
CHECK_FILE = "check_rows.sql"
FRACTION_FACTOR = 10_000
"""Weight of a share of 1 where shares are fractions."""
CONNECT_TIMEOUT_S = 300
"""Longest time for all clients to connect and to write the first block of the log."""
MARGIN_S = 1
"""Time that is played beyond the steady state."""
PLAY = f"""{SET_PG_PATH}
log=$1 seconds=$2
shift 2
date '+started %s.%N'
pgbench "$@" &
pgbench=$!
while kill -0 $pgbench 2>/dev/null && ! [ -s "$(ls "$log".* 2>/dev/null | head -n 1)" ]; do sleep 0.2; done
while [ $seconds -gt 0 ] && kill -0 $pgbench 2>/dev/null; do sleep 1; seconds=$((seconds - 1)); done
kill -ALRM $pgbench 2>/dev/null
wait $pgbench || exit $?
"""
"""Ends pgbench as its own timer does, but counts from the first block of its log. That timer counts the connecting of
the clients, which takes seconds where the server is emulated.
"""
START_LINE = re.compile(r"^started (\d+\.\d+)$", re.MULTILINE)
US_PER_MS = 1000


@dataclass(frozen=True)
class Script:
    """A script of pgbench, and how often it is chosen against the others."""

    name: str
    weight: int
    text: str

    @property
    def file(self) -> str:
        """Its file in the folder of the run."""
        return f"{self.name}.sql"


@dataclass(frozen=True)
class UserStep:
    """What a user did in an execution."""

    execution: Execution
    operation: str | None
    """None for a pause."""
    ending: str = ""
    """How it ended well; empty where there is only one way."""


def compute_weights(shares: Mapping[str, float]) -> dict[str, int]:
    """Returns whole weights in the proportion of the shares, without those that are 0. Whole shares are kept."""
    factor = 1 if all(share == round(share) for share in shares.values()) else FRACTION_FACTOR
    weights = {name: round(factor * share) for name, share in shares.items()}
    return {name: weight for name, weight in weights.items() if weight}


def read_script(folder: str, name: str) -> str:
    """Returns one of our SQL files."""
    root = resources.files("loadstone.tools") / SCRIPTS_FOLDER
    return (root / folder / name).read_text() if folder else (root / name).read_text()


def list_files(folder: str, scripts: Iterable[Script]) -> dict[str, str]:
    """Returns the files that psql and pgbench read, by name."""
    filling = read_script("", CHECK_FILE) + read_script(folder, FILL_FILE)
    return {FILL_FILE: filling, **{script.file: script.text for script in scripts}}


def build_filling(task: ToolTask, sizes: Mapping[str, int]) -> list[list[str]]:
    """Returns the command that fills the database again and checks its rows. The server generates them."""
    variables = [part for name, size in sizes.items() for part in ("-v", f"{name}={size}")]
    file = ["-v", "ON_ERROR_STOP=1", "-f", str(task.folder / FILL_FILE)]
    return [["sh", "-c", FIND_PSQL, "psql", "-X", "-q", *list_server_options(task), *variables, *file, PG_DATABASE]]


def build_playing(
    task: ToolTask, protocol: str, scripts: Sequence[Script], variables: Mapping[str, int], query: str = ""
) -> list[str]:
    """Returns the command that prints when it starts, plays all clients, and prints the answer to a query if any."""
    log, seconds = str(task.folder / PGBENCH_LOG), math.ceil(task.lead_s + task.steady_s + MARGIN_S)
    options = [
        *("--no-vacuum", f"--client={task.clients}", f"--jobs={min(task.clients, task.threads)}"),
        *(f"--time={seconds + CONNECT_TIMEOUT_S}", f"--protocol={protocol}"),
        *("--log", f"--log-prefix={log}"),
        *(f"--define={name}={value}" for name, value in variables.items()),
        *(f"--file={task.folder / script.file}@{script.weight}" for script in scripts),
    ]
    asking = shlex.join(["psql", "-X", "-q", "-A", "-t", *list_server_options(task), "-c", query, PG_DATABASE])
    text = f"{PLAY}{asking}\n" if query else PLAY
    return ["sh", "-c", text, "pgbench", log, str(seconds), *list_server_options(task), *options, PG_DATABASE]


def read_executions(folder: Path) -> dict[int, list[Execution]]:
    """Returns all executions by client, in their order. Raises ToolOutputError where some are missing."""
    executions: dict[int, list[Execution]] = defaultdict(list)
    for execution in read_log(folder):
        executions[execution.client].append(execution)
    if not executions:
        raise ToolOutputError(f"no transaction in {PGBENCH_LOG}: the clients took too long to connect")
    for client_number, lines in executions.items():
        lines.sort(key=lambda execution: execution.number)
        if [execution.number for execution in lines] != list(range(1, len(lines) + 1)):
            raise ToolOutputError(f"{PGBENCH_LOG} has not all transactions of client {client_number}")
    return executions


def build_figures(task: ToolTask, output: ToolOutput, steps: Sequence[UserStep]) -> ToolFigures:
    """Returns the figures of all operations and pauses that ended in the steady state, by the second of their end.

    The warm-up begins when all clients are connected. Users who connect too slowly shorten the steady state.
    """
    version = find_version(output)
    started = START_LINE.search(output.text)
    if not version or started is None:
        raise ToolOutputError("no line with pgbench's version, or none with its start")
    steady_from_s = min(step.execution.begin_s for step in steps) + task.lead_s
    seconds = min(int(task.steady_s), int(max(step.execution.end_s for step in steps) - steady_from_s))
    if seconds < 1:
        raise ToolOutputError("the clients took too long to connect, and no second of the steady state was left")
    steps_of: dict[int, list[UserStep]] = defaultdict(list)
    for step in steps:
        steps_of[math.floor(step.execution.end_s - steady_from_s)].append(step)
    intervals = [_interval(second, steps_of[second]) for second in range(seconds)]
    steady = [step for second in range(seconds) for step in steps_of[second]]
    return ToolFigures(
        version,
        float(seconds),
        intervals,
        begin_s=steady_from_s - float(started[1]),
        pauses=_amount(step for step in steady if step.operation is None),
        endings=_endings(steps, steady),
    )


def _interval(second: int, steps: Sequence[UserStep]) -> ToolInterval:
    steps_of: dict[str, list[UserStep]] = defaultdict(list)
    for step in steps:
        if step.operation is not None:
            steps_of[step.operation].append(step)
    return ToolInterval.build_mix(second, second + 1.0, {name: _amount(taken) for name, taken in steps_of.items()})


def _amount(steps: Iterable[UserStep]) -> Amount:
    return count_executions(step.execution for step in steps)


def _endings(steps: Iterable[UserStep], steady: Iterable[UserStep]) -> tuple[ToolEnding, ...]:
    """How operations ended that end well in several ways."""
    run_counts, steady_counts = (
        Counter((step.operation, step.ending) for step in each if step.ending and step.operation)
        for each in (steps, steady)
    )
    return tuple(
        ToolEnding(operation, ending, count, steady_counts[operation, ending])
        for (operation, ending), count in sorted(run_counts.items())
        if operation
    )
