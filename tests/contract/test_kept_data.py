"""Filled databases that are kept: made once, copied whole, never half."""

import asyncio
from pathlib import Path
from unittest.mock import patch

import pytest

from loadstone.host import cache
from loadstone.model.choices import ServiceChoices
from loadstone.model.errors import ServiceError
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.system import Reference
from loadstone.model.workload import ServerNeeds
from loadstone.services.registry import list_service_kinds
from loadstone.testbed import kept_data
from loadstone.testbed.data import DataSet
from loadstone.testbed.up import start_reference
from tests.contract.shared_services import first_reading

pytestmark = pytest.mark.integration
NEEDS = ServerNeeds(need="bookstore", rows={"items": 50, "customers": 100, "orders": 200})


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_CACHE_DIR", str(tmp_path / "kept"))


def kept(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "kept").iterdir() if path.is_dir())


async def run_site(logs: Path, database: str) -> tuple[DataSet, str]:
    """Puts the bookstore up over a database; returns its data, and how its services ended afterwards."""
    async with start_reference(Reference(1, ServiceChoices(database=database)), logs, needs=NEEDS) as testbed:
        readings = [await first_reading(meter) for meter in testbed.status.values()]
        assert len(readings) == (database != EMBEDDED)
        assert testbed.data is not None and testbed.dead() == ""
    return testbed.data, testbed.dead()


@pytest.mark.slow("a database is filled once and started twice with what was kept")
@pytest.mark.parametrize("database", list_service_kinds(ServiceRole.DATABASE))
def test_what_was_filled_once_is_copied_from_then_on(database: str, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    filled = kept_data._fill
    with patch.object(kept_data, "_fill", wraps=filled) as filling:
        for _ in range(2):
            data, ends = asyncio.run(run_site(logs, database))
            assert data.copied_s is not None and "copied from a filled database" in str(data)
            assert "app (code 0" in ends and "database (code 0" in ends and "SIGKILL" not in ends, ends
        assert filling.call_count == 1
    assert len(kept(tmp_path)) == 1


def test_a_filling_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    with patch.object(DataSet, "put", side_effect=ServiceError("killed")), pytest.raises(ServiceError, match="killed"):
        asyncio.run(run_site(logs, EMBEDDED))
    assert kept(tmp_path) == []
    # One that had no time to clear up is swept away by the next.
    (tmp_path / "kept" / ".part-data-dead").mkdir()
    assert asyncio.run(run_site(logs, EMBEDDED))[0].copied_s is not None
    (name,) = kept(tmp_path)
    assert name.startswith("data-")


def test_of_what_is_kept_the_oldest_goes_first(tmp_path: Path) -> None:
    async def make(into: Path) -> None:
        (into / "file").write_bytes(bytes(100_000))

    async def three() -> None:
        for key in ("a", "b", "a", "c"):
            async with cache.lend_cached("data", key, make, 250_000):
                await asyncio.sleep(0.02)  # the kernel stamps files some milliseconds apart

    asyncio.run(three())
    assert kept(tmp_path) == ["data-a", "data-c"]
