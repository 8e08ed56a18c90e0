"""A stock application, recorded twice by a real browser, is imported, verified and run without a hand edit.

`make sites` does so with twelve.
"""

from pathlib import Path

import pytest

from tests.integration.conftest import LoadstoneRunner, loadstone_here, nothing_is_left
from tests.sites.applications import django_admin
from tests.sites.recorded import proven

__all__ = ["loadstone_here", "nothing_is_left"]

pytestmark = pytest.mark.integration


@pytest.mark.slow("a browser records an application twice")
def test_a_recorded_application_is_played_as_it_was_recorded(loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    proof = proven(django_admin.STOCK, tmp_path / "nothing-fetched", tmp_path, loadstone_here)
    assert proof.faults() == []
    assert proof.values > 0
