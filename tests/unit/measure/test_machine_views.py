"""The two views of a machine."""

import asyncio
from typing import Any

from loadstone.measure.machine import GaugeReading, read_gauge


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

    assert asyncio.run(read()) == GaugeReading(inside={"cores": 1}, outside={"exits": 7})
