"""TiddlyWiki: a page of two megabytes that keeps what is written by a program's requests."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, settled
from tests.sites.program import done, running

PATH = re.compile(r'^Request path: .*"path":"([^"]*)"', re.MULTILINE)


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """With its server's edition."""
    program = fetched / "node" / "node_modules" / "tiddlywiki" / "tiddlywiki.js"
    log, port = folder / "application.log", find_free_port()
    done(["node", program, folder / "wiki", "--init", "server"], folder)
    words = ["node", program, folder / "wiki", "--listen", f"port={port}", "debug-level=debug"]
    with running(words, port, log):
        yield Application(f"http://127.0.0.1:{port}", lambda: re.findall(PATH, log.read_text()), tells_methods=False)


def visit(page: Page, site: str) -> None:
    """Writes a note, and keeps it."""
    page.goto(site)
    settled(page, 2000)
    page.click("button[aria-label='new tiddler']")
    page.wait_for_timeout(500)
    page.click("button:has(.tc-image-done-button)")
    page.wait_for_timeout(4000)


STOCK = Stock("tiddlywiki", "JavaScript, its own framework", "a page of two megabytes; notes kept by PUT", up, visit)
