"""Flask-AppBuilder: a log-in with a token, lists and forms of a database's tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, lines_of, settled
from tests.sites.program import done, running

PROGRAM = """
import sys
from flask import Flask
from flask_appbuilder import AppBuilder
from flask_appbuilder.utils.legacy import get_sqla_class
application = Flask("stock")
application.config.update(
    SECRET_KEY="of-a-test-that-is-long-enough-for-it",
    SQLALCHEMY_DATABASE_URI="sqlite:///" + sys.argv[1] + "/data.sqlite",
    WTF_CSRF_ENABLED=True, FAB_PASSWORD_HASH_METHOD="pbkdf2:sha256:1000",
)
database = get_sqla_class()(application)
with application.app_context():
    builder = AppBuilder(application, database.session)
    manager = builder.sm
    if not manager.find_user("ann"):
        manager.add_user("ann", "Ann", "A", "ann@example.org", manager.find_role("Admin"), "granite-and-basalt")
if len(sys.argv) > 2:
    application.run("127.0.0.1", int(sys.argv[2]))
"""


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """With one user, `ann`."""
    python, program = fetched / "python" / "bin" / "python", folder / "application.py"
    log, port = folder / "application.log", find_free_port()
    program.write_text(PROGRAM)
    done([python, program, folder], folder)
    with running([python, "-u", program, folder, str(port)], port, log):
        yield Application(f"http://127.0.0.1:{port}", lines_of(log))


def visit(page: Page, site: str) -> None:
    """Logs in, looks at the users and at one of them, logs out."""
    page.goto(f"{site}/login/")
    settled(page)
    page.fill("#username", "ann")
    page.fill("#password", "granite-and-basalt")
    page.click("input[type=submit]")
    settled(page)
    page.goto(f"{site}/users/list/")
    settled(page)
    page.goto(f"{site}/users/show/1")
    settled(page)
    page.goto(f"{site}/logout/")
    settled(page)


STOCK = Stock("flask-appbuilder", "Python, Flask", "a log-in with a CSRF token in a hidden field", up, visit)
