"""MediaWiki: a log-in with a token, pages loaded by a program of many modules."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, lines_of, settled
from tests.sites.program import done, running


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """With one user, `Ann`, and its data in a file of SQLite."""
    wiki, log, port = Path("/usr/share/mediawiki"), folder / "application.log", find_free_port()
    site = f"http://127.0.0.1:{port}"
    words = ["php", wiki / "maintenance/install.php", "--confpath", folder, "--dbtype", "sqlite", "--dbpath", folder]
    words += ["--dbname", "wiki", "--pass", "granite-and-basalt", "--server", site, "--scriptpath", ""]
    done([*words, "--skins", "Vector", "Stock", "Ann"], folder)
    environment = {"MW_CONFIG_FILE": str(folder / "LocalSettings.php"), "PHP_CLI_SERVER_WORKERS": "4"}
    with running(["php", "-S", f"127.0.0.1:{port}", "-t", wiki], port, log, environment):
        yield Application(site, lines_of(log))


def visit(page: Page, site: str) -> None:
    """Logs in, writes a page, looks for it, looks at its history."""
    page.goto(f"{site}/index.php?title=Main_Page")
    settled(page)
    page.click("text=Log in")
    settled(page)
    page.fill("#wpName1", "Ann")
    page.fill("#wpPassword1", "granite-and-basalt")
    page.click("#wpLoginAttempt")
    settled(page)
    page.goto(f"{site}/index.php?title=Valves&action=edit")
    settled(page)
    page.fill("#wpTextbox1", "The valves are to be looked at each spring.")
    page.click("#wpSave")
    settled(page)
    page.goto(f"{site}/index.php?title=Valves&action=history")
    settled(page)


STOCK = Stock("mediawiki", "PHP, its own framework", "a log-in and an edited page, each form with its token", up, visit)
