"""Locks between processes that end with their holder, of files and of folders."""

import asyncio
import fcntl
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Waits until nobody else holds the lock."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@asynccontextmanager
async def wait_for_lock(path: Path) -> AsyncIterator[None]:
    """The same, while other tasks go on."""
    with path.open("a") as file:
        await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
        yield


LOCK_TRIES, LOCK_PAUSE_S = 20, 0.01
"""A reader that looks whether a folder is locked holds it for an instant."""


def take(path: Path) -> int | None:
    """Locks a folder; returns what `release` takes, or None when another process works on it."""
    for _ in range(LOCK_TRIES):
        descriptor = _lock(path, fcntl.LOCK_EX)
        if descriptor is not None:
            return descriptor
        time.sleep(LOCK_PAUSE_S)
    return None


def release(descriptor: int) -> None:
    """Gives a folder free."""
    os.close(descriptor)


def share(path: Path) -> int:
    """Locks a folder for reading, along with others; returns what `release` takes. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def is_held(path: Path, *, by_readers: bool = False) -> bool:
    """Whether a living process works on a folder, or reads it."""
    try:
        descriptor = _lock(path, fcntl.LOCK_EX if by_readers else fcntl.LOCK_SH)
    except OSError:
        return False  # a folder that cannot be opened is nobody's work
    if descriptor is None:
        return True
    release(descriptor)
    return False


def remove_unlocked(path: Path) -> bool:
    """Removes a file that no living process has locked; whether it did."""
    descriptor = None
    try:
        descriptor = _lock(path, fcntl.LOCK_EX)
        if descriptor is not None:
            path.unlink()
    except OSError:
        return False
    finally:
        if descriptor is not None:
            release(descriptor)
    return descriptor is not None


MEASURING = "\0loadstone-measuring"
"""A name in the kernel's own space of socket names: no file, and gone with its holder."""


@dataclass
class _Sign:
    """The sign of this process, which both halves of two runs at the same time hold together."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    halves: int = 0
    held: socket.socket | None = None
    """None where another process holds it."""

    def take(self) -> bool:
        """Whether it is this process's."""
        with self.lock:
            self.halves += 1
            if self.halves == 1:
                self.held = _bound(MEASURING)
            return self.held is not None

    def give(self) -> None:
        """The last half lets it go."""
        with self.lock:
            self.halves -= 1
            if self.halves == 0 and self.held is not None:
                self.held.close()
                self.held = None


_ours = _Sign()


def _bound(name: str) -> socket.socket | None:
    sign = socket.socket(socket.AF_UNIX)
    try:
        sign.bind(name)
    except OSError:
        sign.close()
        return None
    return sign


ADDRESSES = "\0loadstone-addresses"
"""Such a name too: each network namespace has its own, as it has its own addresses."""
ADDRESSES_S = 60.0
"""Longest wait for another process that chooses addresses, which takes it less than a second."""


@asynccontextmanager
async def lock_addresses() -> AsyncIterator[None]:
    """Waits until no other process of this network namespace chooses addresses, whoever's it is.

    Raises TimeoutError after a minute.
    """
    until = time.monotonic() + ADDRESSES_S
    while (held := _bound(ADDRESSES)) is None:
        if time.monotonic() > until:
            raise TimeoutError(f"Another process has been choosing network addresses for {ADDRESSES_S:.0f} s.")
        await asyncio.sleep(LOCK_PAUSE_S)
    try:
        yield
    finally:
        held.close()


@contextmanager
def hold_measuring_sign() -> Iterator[bool]:
    """Holds the sign that this machine is being measured on; whether nobody else held it: no other process."""
    is_alone = _ours.take()
    try:
        yield is_alone
    finally:
        _ours.give()


def _lock(path: Path, kind: int) -> int | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
