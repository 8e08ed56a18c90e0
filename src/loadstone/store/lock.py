"""Who works on a folder: a lock that ends with its process, so that a folder whose maker was killed can be told."""

import fcntl
import os
import time
from pathlib import Path

TRIES, PAUSE_S = 20, 0.01
"""A reader that looks whether a folder is locked holds it for an instant."""


def take(path: Path) -> int | None:
    """Locks a folder; returns what `release` takes, or None when another process works on it."""
    for _ in range(TRIES):
        descriptor = _lock(path, fcntl.LOCK_EX)
        if descriptor is not None:
            return descriptor
        time.sleep(PAUSE_S)
    return None


def release(descriptor: int) -> None:
    """Gives a folder free."""
    os.close(descriptor)


def is_held(path: Path) -> bool:
    """Whether a living process works on a folder."""
    descriptor = _lock(path, fcntl.LOCK_SH)
    if descriptor is None:
        return True
    release(descriptor)
    return False


def _lock(path: Path, kind: int) -> int | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
