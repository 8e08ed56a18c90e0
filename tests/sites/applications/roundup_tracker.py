"""Roundup, an issue tracker: a token for one use in every form, forms of several parts with an upload."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, lines_of, settled
from tests.sites.program import done, running

INSTALL = """
import sys
from roundup import admin, demo
template = admin.AdminTool().listTemplates()["classic"]["path"]
demo.install_demo(sys.argv[1], "sqlite", template, int(sys.argv[2]), "127.0.0.1")
"""
SERVE = """
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIServer, make_server
from roundup.cgi.wsgi_handler import RequestDispatcher
class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
tracker = RequestDispatcher(sys.argv[1])
def application(request, start):
    path = request["PATH_INFO"].removeprefix("/demo")
    return tracker({**request, "SCRIPT_NAME": "/demo", "PATH_INFO": path}, start)
make_server("127.0.0.1", int(sys.argv[2]), application, Server).serve_forever()
"""
"""Its own server refuses to run as root."""


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """With the two users of its demonstration."""
    home, log, port = folder / "tracker", folder / "application.log", find_free_port()
    done([sys.executable, "-c", INSTALL, home, str(port)], folder)
    with running([sys.executable, "-u", "-c", SERVE, home, str(port)], port, log):
        yield Application(f"http://127.0.0.1:{port}", lines_of(log))


def visit(page: Page, site: str) -> None:
    """Logs in, files an issue with a message, finds it, logs out."""
    page.goto(f"{site}/demo/")
    page.wait_for_timeout(300)
    page.fill("input[name=__login_name]", "demo")
    page.fill("input[name=__login_password]", "demo")
    page.click("input[type=submit][value=Login]")
    settled(page)
    page.click("text=Create New")
    settled(page)
    page.fill("input[name=title]", "A valve leaks")
    page.select_option("select[name=priority]", label="bug")
    page.fill("textarea[name='@note']", "It drips, twice a minute.")
    page.click("input[name=submit_button]")
    settled(page)
    page.click("text=Show All")
    settled(page)
    page.click("text=Logout")
    settled(page)


STOCK = Stock(
    "roundup", "Python, its own framework", "a log-in and forms of several parts, each with its token", up, visit
)
