"""Waiting for a condition, as long as a host with other work may take."""

import asyncio
from collections.abc import Callable

WAIT_S = 60.0
"""Longest wait."""
LONGEST_S = 900.0
"""Longest time for a command: many times what it takes on a quiet host."""
PATIENT_MS = 3000
"""Silence after which a side of a test's pair suspects the other. The product's half a second is more than a host with
other work may give to every process.
"""


async def until(condition: Callable[[], object], poll_interval_s: float = 0.005, within_s: float = WAIT_S) -> None:
    """Waits until a condition holds. Raises TimeoutError where it does not within so many seconds."""
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(poll_interval_s)
