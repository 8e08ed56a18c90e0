"""PocketBase: a front of a single page before a database, allowed by a token without a scheme."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, settled
from tests.sites.program import done, running

USER = ("ann@example.org", "granite-and-basalt")

WRITTEN_S = 4.0
"""Its log is written every three seconds."""


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """With one user."""
    program, log, port = fetched / "go" / "bin" / "base", folder / "application.log", find_free_port()
    done([program, "superuser", "upsert", *USER, "--dir", folder / "data"], folder)
    words = [program, "serve", "--http", f"127.0.0.1:{port}", "--dir", folder / "data"]
    with running(words, port, log):
        requests = partial(_logged, folder / "data" / "auxiliary.db")
        yield Application(f"http://127.0.0.1:{port}", requests, logged="/api/")


def _logged(database: Path) -> list[str]:
    time.sleep(WRITTEN_S)
    with closing(sqlite3.connect(database)) as log:
        rows = log.execute("select data from _logs order by rowid").fetchall()
    told = [json.loads(data) for (data,) in rows]
    return [f"{one['method']} {one['url']}" for one in told if "url" in one]


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


STOCK = Stock("pocketbase", "Go, its own framework", "a single page, with a token without a scheme", up, visit)
