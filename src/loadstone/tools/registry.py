"""The tools, found automatically: each module below `kinds/` that declares a `KIND` is one."""

from collections.abc import Mapping
from functools import cache

from loadstone.model.errors import UsageError
from loadstone.model.modules import collect_declared
from loadstone.model.reading import suggest
from loadstone.tools import kinds
from loadstone.tools.kind import ToolKind


@cache
def find_tools() -> Mapping[str, ToolKind]:
    """All tools by name."""
    declared: tuple[ToolKind, ...] = collect_declared(kinds, "KIND")
    return {kind.name: kind for kind in declared}


def find_tool(name: str) -> ToolKind:
    """A tool by its name. Raises UsageError."""
    if name not in find_tools():
        raise UsageError(f"`{name}` is not a known tool. {suggest(name, set(find_tools()))}")
    return find_tools()[name]
