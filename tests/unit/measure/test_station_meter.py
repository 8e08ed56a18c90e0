"""What a station says of itself is read, or left out."""

import asyncio

import pytest

from loadstone.measure import station
from loadstone.model.target import Endpoint

RIGHT = b'{"workers": 2, "at_ns": 5, "busy_ns": 3}'


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (RIGHT, station.WorkerTime(workers=2, at_ns=5, busy_ns=3)),
        *((wrong, None) for wrong in (b"{}", b"[]", b"NaN", b"", b"[" * 100_000, b'{"workers": "x"}', b"\xff")),
    ],
)
def test_only_figures_are_read(said: bytes, read: object, monkeypatch: pytest.MonkeyPatch) -> None:
    async def get(*_: object) -> bytes:
        return said

    monkeypatch.setattr(station, "get", get)
    assert asyncio.run(station.Meter(Endpoint("127.0.0.1", 1), "/busy").read()) == read
