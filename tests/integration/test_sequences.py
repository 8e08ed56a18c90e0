"""Sequences of which some steps are repeated, and some come only where an answer told a value."""

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import ClassVar

import pytest

from tests.integration.conftest import LoadstoneRunner, newest, report, rows
from tests.integration.test_targets_of_others import Mirror
from tests.verdicts import WINDOW, broken_rules

pytestmark = pytest.mark.integration
SHOP = """
[workload]
name = "shop"
title = "A shop"
[pacing]
kind = "think"
mean_s = 0.1
[limits]
good_s = 1
tolerable_s = 2
[mix]
kind = "sequence"
sequence = ["list", "read", "pay"]
[mix.states]
read = { operation = "read", repeat = 3 }
pay = { operation = "pay", when = ["{basket}"] }
[operations.list]
path = "/list"
extract = [{ value = "basket", after = "basket=", before = ";", optional = true }]
[operations.read]
path = "/read"
[operations.pay]
method = "POST"
path = "/pay/{basket}"
"""


class Shop(Mirror):
    """Fills the basket of every third user."""

    connections: ClassVar[list[list[str]]] = []
    lists: ClassVar[Iterator[int]] = count()

    def setup(self) -> None:
        """A connection begins, which is a user's own."""
        super().setup()
        self.asked: list[str] = []
        self.connections.append(self.asked)

    def do_GET(self) -> None:  # noqa: N802
        """The path itself, and of a list sometimes a basket."""
        self.asked.append(self.path.removesuffix("/7"))
        if self.path == "/list" and next(self.lists) % 3 == 0:
            self.path = "/list?basket=7;"
            self.asked[0] = "/filled"
        super().do_GET()

    do_POST = do_GET  # noqa: N815


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[str]:
    """The shop's address."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "workload.toml").write_text(SHOP)
    Shop.connections.clear()
    site = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{site.server_address[1]}"
    site.shutdown()
    site.server_close()


@pytest.mark.slow("a run")
def test_who_has_no_basket_does_not_pay_and_nobody_asks_why(
    shop: str, loadstone_here: LoadstoneRunner, tmp_path: Path
) -> None:
    done = loadstone_here("run", "shop", "--sessions", "6", *WINDOW, "--target", shop)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    operations = rows(report(tmp_path))
    assert operations["Total"]["errors"] == 0
    assert operations["pay"]["requests"] > 3
    users = [tuple(asked) for asked in Shop.connections if asked[1:]]
    reads = ("/read",) * 3
    whole = [asked for asked in users if asked in {("/list", *reads), ("/filled", *reads, "/pay")}]
    assert len(users) - len(whole) <= 2 * 6  # six began within the sequence, the run's end cut six off
    assert len(whole) > 9
    assert not any("/pay" in asked and "/filled" not in asked for asked in users)
    assert loadstone_here("report", "latest", "--format", "md", "-o", "report.md").returncode == 0
    assert "the mix depends on the responses" in (tmp_path / "report.md").read_text()
