"""The console of the H2 database: frames, and a session whose number stands in every address."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, lines_of, settled
from tests.sites.program import running

JAR = "/usr/share/java/h2.jar"


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """With an empty database in memory."""
    log, port = folder / "application.log", find_free_port()
    words = ["java", "-cp", JAR, "org.h2.tools.Server", "-web", "-webPort", str(port), "-ifNotExists", "-trace"]
    with running([*words, "-baseDir", folder], port, log):
        yield Application(f"http://127.0.0.1:{port}", lines_of(log))


def visit(page: Page, site: str) -> None:
    """Connects, asks a question, disconnects."""
    page.goto(site)
    settled(page)
    page.fill("input[name=url]", "jdbc:h2:mem:stock")
    page.click("input[value=Connect]")
    settled(page)
    query = page.frame(name="h2query")
    assert query is not None
    query.fill("textarea", "SELECT 6 * 7 AS answer")
    query.click("input[value=Run]")
    settled(page)
    header = page.frame(name="header")
    assert header is not None
    header.click("a[href*=logout]")
    settled(page)


STOCK = Stock("h2-console", "Java, its own framework", "frames, and a session's number in every address", up, visit)
