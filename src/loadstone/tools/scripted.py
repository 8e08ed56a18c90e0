"""Users of a database, played by pgbench with scripts of our own.

Pauses are executions of their own: pgbench's time of an execution includes every `\\sleep` in it, so a script either
pauses or works, and a variable of the client says which comes next. The log then has a line for each pause and for each
operation, and no pause counts as response time.
"""

import math
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
    Execution,
    Played,
    build_pgbench,
    count_executions,
    count_seconds,
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
    options = [
        f"--protocol={protocol}",
        *(f"--define={name}={value}" for name, value in variables.items()),
        *(f"--file={task.folder / script.file}@{script.weight}" for script in scripts),
    ]
    asking = shlex.join(["psql", "-X", "-q", "-A", "-t", *list_server_options(task), "-c", query, PG_DATABASE])
    return build_pgbench(task, options, f"{asking}\n" if query else "")


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

    Raises ToolOutputError.
    """
    played = Played.read(output)
    steady_from_s = played.worked_s + task.lead_s
    seconds = count_seconds(task, played, (step.execution for step in steps))
    steps_of: dict[int, list[UserStep]] = defaultdict(list)
    for step in steps:
        steps_of[math.floor(step.execution.end_s - steady_from_s)].append(step)
    intervals = [_interval(second, steps_of[second]) for second in range(seconds)]
    steady = [step for second in range(seconds) for step in steps_of[second]]
    return ToolFigures(
        played.version,
        float(seconds),
        intervals,
        begin_s=steady_from_s - played.started_s,
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
