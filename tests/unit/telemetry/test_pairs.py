"""How pairs are, for people and for Prometheus, from a status as a keeper tells it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.errors import PlatformError
from loadstone.platforms.pair import control
from loadstone.platforms.pair.status import list_status_rows
from loadstone.telemetry.pairs import pair_metrics
from loadstone.web.app import WebPages

STATUS: dict[str, Any] = {
    "name": "shop",
    "status": "protected",
    "serving": {"name": "a", "place": "this host", "pid": 7, "tap": "tap1", "cpu_pct": 12.0, "memory_mib": 203},
    "secondary": {"name": "b", "place": "this host", "pid": 8, "tap": "tap2", "cpu_pct": 11.0, "memory_mib": 202},
    "log_mbit_per_s": 0.0072,
    "lag_ms": 3.5,
    "round_trip_ms": 0.4,
    "slowed_pct": 45,
    "held_ms": {"p50": 0.22, "p99": 1.0, "max": 2.0},
    "recorded": 90,
    "received": 80,
    "executed": 70,
    "frames": 5,
    "waiting": 0,
    "failures": [],
}
ALONE = STATUS | {"status": "not protected", "secondary": None, "failures": ["no memory"]} | dict.fromkeys(
    ("log_mbit_per_s", "lag_ms", "slowed_pct", "held_ms", "recorded", "received", "executed")
)  # fmt: skip


def test_people_read_where_both_sides_are_and_how_far_apart() -> None:
    rows = dict(list_status_rows(STATUS))
    assert rows["secondary"] == "b on this host, process 8; CPU 11 %, 202 MiB"
    assert (rows["lag"], rows["log"], rows["slowed by"]) == ("3.5 ms", "0.0072 Mbit/s", "45 %")
    assert rows["round trip"] == "0.40 ms"
    assert dict(list_status_rows(STATUS | {"round_trip_ms": 1.8}))["round trip"].startswith("1.80 ms: above 1 ms")
    alone = dict(list_status_rows(ALONE))
    assert "secondary" not in alone
    assert alone["failed"] == "no memory"
    assert alone["lag"] == ""


def test_prometheus_gets_seconds_and_ratios_and_nothing_that_is_not_known() -> None:
    text = pair_metrics([STATUS, ALONE | {"name": "bank"}])
    assert 'loadstone_pair_lag_seconds{pair="shop"} 0.0035' in text
    assert 'loadstone_pair_slowed_ratio{pair="shop"} 0.45' in text
    assert 'loadstone_pair_round_trip_seconds{pair="shop"} 0.0004' in text
    assert 'loadstone_pair_log_bits_per_second{pair="shop"} 7200.0' in text
    assert 'loadstone_pair_protected{pair="bank"} 0.0' in text
    assert 'loadstone_pair_lag_seconds{pair="bank"}' not in text


def test_whoever_keeps_a_pair_is_asked_over_its_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "make_private_folder", lambda: tmp_path)

    async def obey(do: str, what: dict[str, Any]) -> Any:
        if do != "status":
            raise PlatformError(f"no {do} {what}")
        return STATUS

    async def play() -> None:
        with control.lock_keeper("shop"):
            async with control.listen_for_orders("shop", obey):
                assert await control.ask("shop", "status") == STATUS
                page = await WebPages(tmp_path).show_pairs(None)  # type: ignore[arg-type]
                assert b"this host, process 8" in page.body
                metrics = await WebPages(tmp_path).pair_metrics(None)  # type: ignore[arg-type]
                assert b'protected{pair="shop"} 1.0' in metrics.body
                with pytest.raises(PlatformError, match="no dance"):
                    await control.ask("shop", "dance", where="here")
                with pytest.raises(PlatformError, match="already"), control.lock_keeper("shop"):
                    pass
        assert control.list_known() == []
        with pytest.raises(PlatformError, match="pair create shop"):
            await control.ask("shop", "status")

    asyncio.run(play())
