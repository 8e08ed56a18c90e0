"""DokuWiki: a log-in, a page that is edited, each form with its token."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, lines_of, settled
from tests.sites.program import done, running

USERS = "ann:{hash}:Ann:ann@example.org:admin,user\n"
SETTINGS = "<?php $conf['useacl'] = 1; $conf['superuser'] = '@admin'; $conf['savedir'] = '{data}';"
HASH = "echo password_hash('granite-and-basalt', PASSWORD_BCRYPT);"


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """With one user, `ann`, in a copy of what the distribution installed."""
    site, log, port = folder / "site", folder / "application.log", find_free_port()
    wiki = fetched / "wikis" / "usr/share/dokuwiki"
    kept = fetched / "wikis" / "var/lib/dokuwiki"
    shutil.copytree(wiki, site, ignore=shutil.ignore_patterns(".htaccess", "plugins", "tpl"), symlinks=True)
    for name in ("plugins", "tpl"):
        shutil.copytree(kept / "lib" / name, site / "lib" / name, symlinks=True)
    shutil.copytree(kept / "data", folder / "data")
    shutil.copytree(fetched / "wikis" / "etc/dokuwiki", site / "conf", ignore=shutil.ignore_patterns("*.auth.php"))
    (site / "inc" / "preload.php").write_text(f"<?php define('DOKU_CONF', '{site}/conf/');")
    (site / "conf" / "local.php").write_text(SETTINGS.format(data=folder / "data"))
    (site / "conf" / "acl.auth.php").write_text("* @ALL 1\n* @user 8\n")
    done(["sh", "-c", f'php -r "{HASH.replace("$", chr(92) + "$")}" > hash'], folder)
    (site / "conf" / "users.auth.php").write_text(USERS.format(hash=(folder / "hash").read_text()))
    with running(["php", "-S", f"127.0.0.1:{port}", "-t", site], port, log, {"PHP_CLI_SERVER_WORKERS": "4"}):
        yield Application(f"http://127.0.0.1:{port}", lines_of(log))


def visit(page: Page, site: str) -> None:
    """Logs in, writes a page, looks at its history, logs out."""
    page.goto(f"{site}/doku.php")
    settled(page)
    page.click("text=Log In")
    settled(page)
    page.fill("input[name=u]", "ann")
    page.fill("input[name=p]", "granite-and-basalt")
    page.click("#dw__login button[type=submit]")
    settled(page)
    page.goto(f"{site}/doku.php?id=valves&do=edit")
    settled(page)
    page.fill("textarea[name=wikitext]", "The valves are to be looked at each spring.")
    page.click("#edbtn__save")
    settled(page)
    page.goto(f"{site}/doku.php?id=valves&do=revisions")
    settled(page)
    page.click("text=Log Out")
    settled(page)


STOCK = Stock("dokuwiki", "PHP, its own framework", "a log-in and an edited page, each form with its token", up, visit)
