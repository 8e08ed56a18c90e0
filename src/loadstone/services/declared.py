"""What workloads declare of the pages of bank, shop and support site, for servers that are to give them."""

import json
import subprocess
from functools import cache
from typing import TypedDict

from loadstone.host.programs import server


class DeclaredPage(TypedDict):
    """A page's length, and the files that it embeds."""

    bytes: int
    links: list[str]


@cache
def declared_pages() -> dict[str, DeclaredPage]:
    """By workload and operation, as `banking/login`."""
    said = subprocess.run([server(), "pages"], capture_output=True, text=True, check=True).stdout
    known: dict[str, DeclaredPage] = json.loads(said)
    return known
