"""PocketBase: a front of a single page before a database, allowed by a token without a scheme."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import free_port
from tests.sites.contract import Application, Stock, settled
from tests.sites.program import done, running

USER = ("ann@example.org", "granite-and-basalt")


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """With one user."""
    program, log, port = fetched / "go" / "bin" / "base", folder / "application.log", free_port()
    done([program, "superuser", "upsert", *USER, "--dir", folder / "data"], folder)
    words = [program, "serve", "--http", f"127.0.0.1:{port}", "--dir", folder / "data", "--dev"]
    with running(words, port, log):
        yield Application(f"http://127.0.0.1:{port}", log)


def visit(page: Page, site: str) -> None:
    """Logs in, looks at the users, logs out."""
    page.goto(f"{site}/_/#/login")
    settled(page, 1000)
    page.fill("input[type=email]", USER[0])
    page.fill("input[type=password]", USER[1])
    page.click("button[type=submit]")
    settled(page, 1500)
    page.click("text=users >> nth=0")
    settled(page, 1500)


STOCK = Stock("pocketbase", "Go, its own framework", "a single page, allowed by a token without a scheme", up, visit)
