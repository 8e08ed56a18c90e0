"""DVD store: customers of a shop's database who log in, search and buy. pgbench plays our scripts.

The facts are those of the published tests of fault tolerance (docs/protection.md); tables, data and SQL are our own.

An order is a pause, an entrance, searches and a purchase, each an execution of its own. Which script pgbench draws for
the entrance decides how its customer enters and how many searches follow, so that the log tells every step.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

from pydantic import Field

from loadstone.tools.kind import ToolFigures, ToolKind, ToolOutput, ToolTask
from loadstone.tools.postgresql import Execution, ProtocolSettings
from loadstone.tools.scripted import (
    SCRIPTED_NEEDS,
    US_PER_MS,
    Script,
    UserStep,
    build_figures,
    build_filling,
    build_playing,
    compute_weights,
    list_files,
    read_executions,
    read_script,
)

DVD_STORE_SCRIPTS = "dvd_store"
SIZES = {
    "S": {"customers": 20_000, "orders": 12_000, "products": 10_000},
    "M": {"customers": 2_000_000, "orders": 1_200_000, "products": 100_000},
    "L": {"customers": 200_000_000, "orders": 120_000_000, "products": 1_000_000},
}
"""Rows by scale; the orders are those of a year."""
ENTRANCES = ("login", "new-customer")
SEARCH, PURCHASE = "search", "purchase"
BOUGHT, ROLLED_BACK = "bought", "rolled_back"
STEPS = """\\if :step = 0
\\set step 1
\\set pause random(0, 2 * :think_us)
\\sleep :pause us
\\elif :step = 1
\\set step 2
\\set searches {searches}
{entrance}\\elif :step = 2
\\set searches :searches - 1
\\if :searches = 0
\\set step 3
\\endif
{search}\\else
\\set step 0
{purchase}\\endif
"""
REFUSALS = "SELECT 'refused ' || client || ' ' || purchase FROM dvd_store.refusals ORDER BY client, purchase"
REFUSAL = re.compile(r"^refused (\d+) (\d+)$", re.MULTILINE)


class DvdStoreSettings(ProtocolSettings):
    """Size of the database and habits of its customers."""

    scale: Literal["S", "M", "L"] = Field(
        default="S", description="20 thousand, 2 million or 200 million customers: `S`, `M` or `L`"
    )
    think_ms: int = Field(default=400, ge=0, le=3_600_000, description="mean pause before an order in milliseconds")
    searches: int = Field(default=5, ge=1, le=30, description="mean number of searches of an order, 1 to 30")
    rows: int = Field(default=8, ge=1, le=1000, description="mean of the most rows of a search, 1 or more")
    lines: int = Field(default=10, ge=1, le=1000, description="mean number of lines of an order, 1 or more")


def list_scripts(task: ToolTask) -> list[Script]:
    """Returns a script for each way to enter and each number of searches, by the shares of the ways."""
    texts = {name: read_script(DVD_STORE_SCRIPTS, f"{name}.sql") for name in (*ENTRANCES, SEARCH, PURCHASE)}
    weights = _weigh_entrances(task)
    return [
        Script(
            f"{name}-{searches}",
            weights[name],
            STEPS.format(searches=searches, entrance=texts[name], search=texts[SEARCH], purchase=texts[PURCHASE]),
        )
        for name, searches in list_entrances(task)
    ]


def list_entrances(task: ToolTask) -> list[tuple[str, int]]:
    """Returns how a customer enters and how many searches follow, by the place of the script."""
    return [(name, searches) for name in _weigh_entrances(task) for searches in range(1, 2 * _settings(task).searches)]


def _weigh_entrances(task: ToolTask) -> dict[str, int]:
    """Only the entrances have weights; an order has its searches and one purchase, whatever their shares are."""
    return compute_weights({name: task.shares[name] for name in ENTRANCES if name in task.shares})


def build_files(task: ToolTask) -> dict[str, str]:
    """The SQL that fills the database, and the scripts."""
    return list_files(DVD_STORE_SCRIPTS, list_scripts(task))


def prepare(task: ToolTask) -> list[list[str]]:
    """Fills the database again."""
    return build_filling(task, SIZES[_settings(task).scale])


def build_command(task: ToolTask) -> list[str]:
    """All customers from the first second on; each begins with a pause. The purchases that were refused come last."""
    settings = _settings(task)
    habits = {
        "think_us": settings.think_ms * US_PER_MS,
        "rows_mean": settings.rows,
        "lines_mean": settings.lines,
    }
    state = {"step": 0, "searches": 0, "purchase": 0, "customer": 1}
    variables = {**state, **habits, **SIZES[settings.scale]}
    return build_playing(task, settings.protocol, list_scripts(task), variables, REFUSALS)


def read_figures(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """Follows every client through its orders."""
    refused = {(int(client), int(purchase)) for client, purchase in REFUSAL.findall(output.text)}
    entrances = list_entrances(task)
    steps = [
        step
        for executions in read_executions(task.folder).values()
        for step in follow_client(executions, entrances, refused)
    ]
    return build_figures(task, output, steps)


def follow_client(
    executions: Sequence[Execution], entrances: Sequence[tuple[str, int]], refused: set[tuple[int, int]]
) -> Iterator[UserStep]:
    """Yields what a client did: pauses, entrances, searches and purchases, which may be refused."""
    left = iter(executions)
    for purchases, pause in enumerate(left, start=1):
        yield UserStep(pause, None)
        for entrance in islice(left, 1):
            operation, searches = entrances[entrance.script]
            yield UserStep(entrance, operation)
            yield from (UserStep(search, SEARCH) for search in islice(left, searches))
        for purchase in islice(left, 1):
            yield UserStep(purchase, PURCHASE, _ending(purchase, is_refused=(purchase.client, purchases) in refused))


def _ending(purchase: Execution, *, is_refused: bool) -> str:
    if purchase.time_us is None:
        return ""
    return ROLLED_BACK if is_refused else BOUGHT


def _settings(task: ToolTask) -> DvdStoreSettings:
    assert isinstance(task.settings, DvdStoreSettings)
    return task.settings


KIND = ToolKind(
    "dvd-store",
    DvdStoreSettings,
    build_command,
    read_figures,
    SCRIPTED_NEEDS,
    prepare=prepare,
    files=build_files,
    played=frozenset((*ENTRANCES, SEARCH, PURCHASE)),
)
