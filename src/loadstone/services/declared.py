"""What workloads declare of the pages of bank, shop and support site, for servers that are to give them."""

import json
from functools import cache
from typing import TypedDict

from loadstone.host import launch
from loadstone.host.programs import find_server


class DeclaredPage(TypedDict):
    """A page's length, and the files that it embeds."""

    bytes: int
    links: list[str]


@cache
def read_declared_pages() -> dict[str, DeclaredPage]:
    """Returns declared pages by workload and operation, such as `banking/login`."""
    output = launch.run([find_server(), "pages"], check=True).stdout
    pages: dict[str, DeclaredPage] = json.loads(output)
    return pages
