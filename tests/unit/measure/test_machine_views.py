"""The two views of a machine."""

import asyncio
from typing import Any

from loadstone.measure.machine import GaugeReading, compute_views, read_gauge


class SlowInside:
    """A machine whose agent answers once the host has counted."""

    def __init__(self) -> None:
        self.is_counted = asyncio.Event()

    async def read_inside(self) -> dict[str, Any] | None:
        await self.is_counted.wait()
        return {"cores": 1}

    async def read_outside(self) -> dict[str, Any] | None:
        self.is_counted.set()
        return {"exits": 7}


def test_a_slow_agent_does_not_keep_the_host_from_counting() -> None:
    async def read() -> GaugeReading:
        return await asyncio.wait_for(read_gauge(SlowInside()), 60)

    reading = asyncio.run(read())
    assert (reading.inside, reading.outside) == ({"cores": 1}, {"exits": 7})


def test_rates_are_by_the_times_at_which_the_host_counted() -> None:
    def reading(cpu_s: float, at_s: float) -> GaugeReading:
        return GaugeReading(outside={"cpu": {"group": cpu_s}, "disk": {}, "network": {}}, outside_s=at_s)

    outside = compute_views(reading(1.0, 10.0), reading(2.5, 11.5)).outside
    assert outside is not None and outside.cpu_cores == {"group": 1.0}
