"""What a stock application is to the tests that record it."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

LINE = r"(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) (/\S*)"
"""Method and path of a request, as most programs log them."""


def lines_of(log: Path) -> Callable[[], list[str]]:
    """Requests as most programs log them, one a line."""
    return lambda: [f"{method} {path}" for method, path in re.findall(LINE, log.read_text(errors="replace"))]


@dataclass(frozen=True)
class Application:
    """One that is up."""

    site: str
    requests: Callable[[], list[str]]
    """Method and path of each request that it logged."""
    logged: str = "/"
    """Beginning of the paths that its log tells of."""
    tells_methods: bool = True
    silent: str = ""
    """Path of its WebSocket, of which its log tells nothing."""

    def told(self, request: str) -> str:
        """A request as its log tells it; empty where it does not."""
        path = request.partition(" ")[2]
        if not path.startswith(self.logged) or (self.silent and path.startswith(self.silent)):
            return ""
        return request if self.tells_methods else path


@dataclass(frozen=True)
class Stock:
    """An application as it is to be had."""

    name: str
    made_with: str
    """Language and framework."""
    needs: str
    """What a visit to it has that cannot be sent as it was recorded."""
    up: Callable[[Path, Path], AbstractContextManager[Application]]
    """Starts it, given the folder of what was fetched and an empty one of its own."""
    visit: Callable[[Page, str], None]
    """What its user does, given the address of the site."""


def settled(page: Page, pause_ms: int = 300) -> None:
    """Waits until a page has what it loads, and a moment of its user's."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(pause_ms)
