"""Datasette: tables looked at by filters, and a form with a token that a signed cookie must match."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, lines_of, settled
from tests.sites.program import running


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """With a table of a hundred valves."""
    log, port = folder / "application.log", find_free_port()
    with sqlite3.connect(folder / "works.db") as database:
        database.execute("create table valves (id integer primary key, room text)")
        database.executemany("insert into valves values (?, ?)", [(at, f"room {at % 7}") for at in range(100)])
    database.close()
    words = [fetched / "python" / "bin" / "datasette", "serve", "works.db", "-h", "127.0.0.1", "-p", str(port)]
    with running(words, port, log):
        yield Application(f"http://127.0.0.1:{port}", lines_of(log))


def visit(page: Page, site: str) -> None:
    """Looks at a table by a column, leaves a message."""
    page.goto(f"{site}/")
    settled(page)
    page.click("text=valves >> nth=0")
    settled(page)
    page.goto(f"{site}/works/valves?_facet=room")
    settled(page)
    page.click("text=room 3 >> nth=0")
    settled(page)
    page.goto(f"{site}/-/messages")
    settled(page)
    page.fill("input[name=message]", "A valve leaks")
    page.click("form[action*=messages] input[type=submit]")
    settled(page)


STOCK = Stock(
    "datasette", "Python, an ASGI framework", "a form with a token that a signed cookie must match", up, visit
)
