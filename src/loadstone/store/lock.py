"""Who works on a folder: a lock that ends with its process, so that a folder whose maker was killed can be told."""

import fcntl
import os
from pathlib import Path


def take(path: Path) -> int | None:
    """Locks a folder; returns what `release` takes, or None when another process holds it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def release(descriptor: int) -> None:
    """Gives a folder free."""
    os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether a living process works on a folder."""
    descriptor = take(path)
    if descriptor is None:
        return True
    release(descriptor)
    return False
