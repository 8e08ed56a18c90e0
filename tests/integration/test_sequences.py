"""Sequences of which some steps are repeated, and some come only where an answer told a value."""

import threading
from collections import Counter
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
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

    asked: ClassVar[Counter[str]] = Counter()
    lock = threading.Lock()

    def do_GET(self) -> None:  # noqa: N802
        """The path itself, and of a list sometimes a basket."""
        with self.lock:
            self.asked[self.path.split("/")[1]] += 1
            if self.path == "/list" and self.asked["list"] % 3 == 0:
                self.path = "/list?basket=7;"
        super().do_GET()

    do_POST = do_GET  # noqa: N815


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[str]:
    """The shop's address."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "workload.toml").write_text(SHOP)
    Shop.asked.clear()
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
    asked = Shop.asked
    assert asked["pay"] == pytest.approx(asked["list"] / 3, abs=7)  # six are on their way
    assert asked["read"] == pytest.approx(3 * asked["list"], abs=19)
    assert loadstone_here("report", "latest", "--format", "md", "-o", "report.md").returncode == 0
    assert "what comes depends on what answers tell" in (tmp_path / "report.md").read_text()
