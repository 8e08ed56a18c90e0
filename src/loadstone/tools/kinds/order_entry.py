"""Order entry: users of a shop's database who think between four kinds of transactions. pgbench plays our scripts.

The facts are those of the published tests of fault tolerance (docs/protection.md); tables, data and SQL are our own.
"""

from pydantic import Field

from loadstone.tools.kind import ToolFigures, ToolKind, ToolOutput, ToolTask
from loadstone.tools.postgresql import ProtocolSettings
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

ORDER_ENTRY_SCRIPTS = "order_entry"
ORDER_ENTRY_OPERATIONS = ("new-customer", "browse", "process-orders", "update-orders")
CUSTOMERS, ORDERS, PRODUCTS = 1000, 27_000, 1000
"""Rows for each unit of `scale`, but for the products, whose number is fixed."""
PAUSE_OR_WORK = """\\if :is_thinking
\\set is_thinking 0
\\set pause random(:pause_least_us, :pause_most_us)
\\sleep :pause us
\\else
\\set is_thinking 1
{}\\endif
"""
"""A script pauses, then works; a transaction that fails is followed by a pause too."""


class OrderEntrySettings(ProtocolSettings):
    """Size of the database and pauses of its users."""

    scale: int = Field(
        default=1, ge=1, le=100_000, description="scale: 1,000 customers with 27,000 orders each, 1 or more"
    )
    pause_least_ms: int = Field(default=50, ge=0, le=3_600_000, description="shortest pause in milliseconds")
    pause_most_ms: int = Field(
        default=250, ge=0, le=3_600_000, description="longest pause in milliseconds; pauses are uniform"
    )


def list_scripts(task: ToolTask) -> list[Script]:
    """Returns a script for each operation, with its share of the mix as weight."""
    return [
        Script(name, weight, PAUSE_OR_WORK.format(read_script(ORDER_ENTRY_SCRIPTS, f"{name}.sql")))
        for name, weight in compute_weights(task.shares).items()
    ]


def build_files(task: ToolTask) -> dict[str, str]:
    """The SQL that fills the database, and the scripts."""
    return list_files(ORDER_ENTRY_SCRIPTS, list_scripts(task))


def prepare(task: ToolTask) -> list[list[str]]:
    """Fills the database again."""
    return build_filling(task, _sizes(task))


def build_command(task: ToolTask) -> list[str]:
    """All users from the first second on; each begins with a pause."""
    settings = _settings(task)
    pauses = {
        "pause_least_us": settings.pause_least_ms * US_PER_MS,
        "pause_most_us": settings.pause_most_ms * US_PER_MS,
    }
    variables = {"is_thinking": 1, **pauses, **_sizes(task)}
    return build_playing(task, settings.protocol, list_scripts(task), variables)


def read_figures(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """Every second execution of a client is a transaction; the ones before are pauses."""
    names = list(compute_weights(task.shares))
    steps = [
        UserStep(execution, None if execution.number % 2 else names[execution.script])
        for executions in read_executions(task.folder).values()
        for execution in executions
    ]
    return build_figures(task, output, steps)


def _sizes(task: ToolTask) -> dict[str, int]:
    scale = _settings(task).scale
    return {"customers": CUSTOMERS * scale, "orders": ORDERS * scale, "products": PRODUCTS}


def _settings(task: ToolTask) -> OrderEntrySettings:
    assert isinstance(task.settings, OrderEntrySettings)
    return task.settings


KIND = ToolKind(
    "order-entry",
    OrderEntrySettings,
    build_command,
    read_figures,
    SCRIPTED_NEEDS,
    prepare=prepare,
    files=build_files,
    played=frozenset(ORDER_ENTRY_OPERATIONS),
)
