"""Locks between processes that end with their holder."""

import asyncio
import fcntl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Waits until nobody else holds the lock."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@asynccontextmanager
async def waiting(path: Path) -> AsyncIterator[None]:
    """The same, while other tasks go on."""
    with path.open("a") as file:
        await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
        yield
