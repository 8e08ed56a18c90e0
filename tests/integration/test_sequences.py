"""Sequences of which some steps are repeated, and some come only where an answer told a value."""

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import ClassVar

import pytest

from tests.integration.conftest import LoadstoneRunner, newest, report, require_requests, rows, run_until
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


def list_visits() -> list[tuple[str, ...]]:
    """Lists what each user asked the shop for, of those who asked twice or more."""
    return [tuple(asked) for asked in Shop.connections if asked[1:]]


def is_whole(visit: tuple[str, ...]) -> bool:
    """Whether a user went through the sequence from its beginning to its end."""
    return visit in {("/list", *["/read"] * 3), ("/filled", *["/read"] * 3, "/pay")}


@pytest.mark.slow("a run")
def test_who_has_no_basket_does_not_pay_and_nobody_asks_why(
    shop: str, loadstone_here: LoadstoneRunner, tmp_path: Path
) -> None:
    words = ("run", "shop", "--sessions", "6", *WINDOW, "--target", shop)
    has_payments = require_requests(4, "pay")

    def is_seen(result: Path) -> bool:
        is_enough = has_payments(result) and sum(map(is_whole, list_visits())) > 9
        if not is_enough:
            Shop.connections.clear()
        return is_enough

    done = run_until(loadstone_here, tmp_path, is_seen, *words)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    assert rows(report(tmp_path))["Total"]["errors"] == 0
    visits = list_visits()
    assert len(visits) - sum(map(is_whole, visits)) <= 2 * 6  # six began within the sequence, six were cut off
    assert not any("/pay" in visit and "/filled" not in visit for visit in visits)
    assert loadstone_here("report", "latest", "--format", "md", "-o", "report.md").returncode == 0
    assert "the mix depends on the responses" in (tmp_path / "report.md").read_text()
