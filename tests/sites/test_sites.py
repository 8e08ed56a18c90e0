"""Stock applications, recorded twice by a real browser, are imported, verified and run without a hand edit."""

from pathlib import Path

import pytest

from tests.integration.conftest import LoadstoneRunner, loadstone, nothing_is_left
from tests.sites.applications import django_admin, h2_console, roundup_tracker
from tests.sites.contract import Stock
from tests.sites.recorded import proven

__all__ = ["loadstone", "nothing_is_left"]

pytestmark = pytest.mark.integration
STOCKS = [django_admin.STOCK, roundup_tracker.STOCK, h2_console.STOCK]


@pytest.mark.parametrize("stock", STOCKS, ids=lambda stock: stock.name)
def test_a_recorded_application_is_played_as_it_was_recorded(
    stock: Stock, loadstone: LoadstoneRunner, tmp_path: Path
) -> None:
    proof = proven(stock, tmp_path / "nothing-fetched", tmp_path, loadstone)
    assert proof.faults() == []
    assert proof.values > 0
    assert proof.requests > 3
