"""Which tests run beside each other: `make test` has five workers, and each takes whole groups of tests.

Tests of one module are one group, so that its fixtures are set up once. Tests with the mark `needs_core` are one group
as well, the first: one worker runs them in turn, while the others begin with unit tests.
"""

from pathlib import Path

import pytest

from tests.places import PROJECT

CORE = "needs_core"
FOLDERS = ("unit", "fleet", "vm", "contract", "integration", "sites")
"""Folders of tests in the order in which they run: what takes long stands before what takes a moment."""
LONG = ("test_tiles.py", "test_cases.py", "test_tools.py", "test_studies.py")
"""Modules that run before all others of their folder: each takes a worker for a minute and more."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts each test into its group and the groups into order; the same in every worker."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(_group(item)))
    items.sort(key=_rank)


def _group(item: pytest.Item) -> str:
    return CORE if item.get_closest_marker(CORE) else _place(item).as_posix()


def _rank(item: pytest.Item) -> tuple[int, int, int]:
    place = _place(item)
    places = ((place.parts[1], FOLDERS), (place.name, LONG))
    folder, module = (order.index(name) if name in order else len(order) for name, order in places)
    return (0 if item.get_closest_marker(CORE) else 1, folder, module)


def _place(item: pytest.Item) -> Path:
    return item.path.relative_to(PROJECT)
