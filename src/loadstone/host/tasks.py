"""Ending tasks that run beside others."""

import asyncio
from collections.abc import Collection
from typing import Any

TASK_RETRY_INTERVAL_S = 1.0
"""Time between two cancellations of a task that goes on."""

TIDY_S = 30.0
"""The same for tasks that clean up."""


async def end_tasks(tasks: Collection[asyncio.Task[Any]], retry_s: float = TASK_RETRY_INTERVAL_S) -> None:
    """Cancels tasks until all have ended; whoever wants to know looks at their results.

    Tasks that clean up need `retry_s` of more seconds than that takes.

    Once is not enough: up to Python 3.11 `asyncio.wait_for` loses a cancellation that comes in the same turn of the
    loop as the result it waits for (python/cpython issue 86296), and the task goes on for ever.
    """
    going = set(tasks)
    while going:
        for task in going:
            task.cancel()
        _, going = await asyncio.wait(going, timeout=retry_s)
