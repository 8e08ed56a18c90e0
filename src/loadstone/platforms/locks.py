"""A lock between processes that ends with its holder."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Waits until nobody else holds the lock."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
