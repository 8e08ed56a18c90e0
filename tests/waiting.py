"""Waiting for a condition, as long as a host with other work may take."""

import asyncio
from collections.abc import Callable

WAIT_S = 60.0
"""Longest wait."""
LONGEST_S = 900.0
"""Longest time for a command: many times what it takes on a quiet host."""


async def until(condition: Callable[[], object], poll_interval_s: float = 0.005) -> None:
    """Waits until a condition holds. Raises TimeoutError where it does not within `WAIT_S`."""
    async with asyncio.timeout(WAIT_S):
        while not condition():
            await asyncio.sleep(poll_interval_s)
