"""phpMyAdmin: a log-in, and statements of SQL that all go to one address, each with the session's token."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, lines_of, settled
from tests.sites.database import database_server
from tests.sites.program import running

PLACES = "<?php return array_merge(require __DIR__ . '/packaged_config.php', {places});"
SETTINGS = """<?php
$cfg['blowfish_secret'] = 'granite-and-basalt-and-gneiss-32';
$cfg['Servers'][1] = ['auth_type' => 'cookie', 'host' => '127.0.0.1', 'port' => '{database}'];
$cfg['SendErrorReports'] = 'never';
"""
USER = """
CREATE USER ann@'%' IDENTIFIED BY 'granite-and-basalt';
GRANT ALL ON loadstone.* TO ann@'%';
CREATE TABLE loadstone.valves (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40), size INT);
INSERT INTO loadstone.valves (name, size) VALUES ('inlet', 15), ('outlet', 22);
"""
STATEMENTS = (
    "SELECT name, size FROM valves WHERE size > 10",
    "INSERT INTO valves (name, size) VALUES ('drain', 8)",
    "UPDATE valves SET size = 28 WHERE name = 'outlet'",
)
PAUSE_MS = 1500
"""Pages ask for their parts one after another, with pauses between."""


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """Starts it beside a database with the user `ann` and one table."""
    site, log, port = folder / "site", folder / "application.log", find_free_port()
    share = fetched / "phpmyadmin/usr/share"
    shutil.copytree(share / "phpmyadmin", site, ignore=shutil.ignore_patterns("doc", "locale"))
    shutil.copytree(share / "php/data", folder / "data", dirs_exist_ok=True)
    libraries = site / "libraries"
    (libraries / "vendor_config.php").rename(libraries / "packaged_config.php")
    places = f"['configFile' => '{site}/config.inc.php', 'tempDir' => '{folder}/']"
    (libraries / "vendor_config.php").write_text(PLACES.format(places=places))
    with database_server(folder, USER) as database:
        (site / "config.inc.php").write_text(SETTINGS.format(database=database))
        options = ["-d", f"include_path=.:{share / 'php'}:/usr/share/php", "-d", "opcache.enable_cli=1"]
        command = ["php", *options, "-S", f"127.0.0.1:{port}", "-t", site]
        with running(command, port, log, {"PHP_CLI_SERVER_WORKERS": "4"}):
            yield Application(f"http://127.0.0.1:{port}", lines_of(log))


def visit(page: Page, site: str) -> None:
    """Logs in, runs three statements, looks at the table."""
    page.goto(f"{site}/index.php")
    settled(page)
    page.fill("#input_username", "ann")
    page.fill("#input_password", "granite-and-basalt")
    page.click("#input_go")
    settled(page, PAUSE_MS)
    for statement in STATEMENTS:
        page.goto(f"{site}/index.php?route=/database/sql&db=loadstone")
        settled(page, PAUSE_MS)
        page.click("#queryfieldscontainer .CodeMirror")
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(statement)
        page.click("#button_submit_query")
        settled(page, PAUSE_MS)
    page.goto(f"{site}/index.php?route=/sql&db=loadstone&table=valves&pos=0")
    settled(page, PAUSE_MS)


STOCK = Stock(
    "phpmyadmin",
    "PHP, its own framework",
    "a log-in, and several posts to one path, each with its token",
    up,
    visit,
)
