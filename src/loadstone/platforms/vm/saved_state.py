"""Saved states of machines that have just booted, kept in the cache folder by their keys.

A state is one file: a header that describes it, then what QEMU wrote. It is written under another name, locked, and
renamed when it is complete. Number and size of all states are bounded. A state that cannot be kept or used costs a
boot, never an error.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import IO, Any

from loadstone.host.cache import find_cache_folder
from loadstone.host.locks import remove_unlocked
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.vm.state_key import STATE_FORMAT

Json = dict[str, Any]

HEADER_BYTES = 4096
MOST_STATES = 16
STATES_MOST_BYTES = 4 << 30
"""Of all states together. Those that were not used for longest are removed first."""
FREE_BYTES = 1 << 30
"""Free space below which no state is saved."""
PIECE_BYTES = 1 << 20
STATE_PREFIX, UNFINISHED_PREFIX = "state-", ".part-state-"
"""First letters of the names of both kinds of files."""


class UnusableStateError(Exception):
    """A saved state cannot be used, for this reason."""


@dataclass(frozen=True)
class StateHeader:
    """What a state's file tells about itself."""

    key: str
    saved_unix_s: float
    hello: Json
    """The agent's first message; a restored machine does not send it again."""
    size_bytes: int
    sha256: str
    state_format: int = STATE_FORMAT


@dataclass(frozen=True)
class SavedState:
    """An open state; it can be used even when its file is removed meanwhile."""

    file: IO[bytes]
    """Positioned at the first byte that QEMU wrote."""
    header: StateHeader

    @property
    def about(self) -> str:
        """How a machine started that began with it, for the report."""
        saved_at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.header.saved_unix_s))
        return f"restored from a state saved at {saved_at}"

    def verify(self, copy: Path | None = None) -> None:
        """Raises UnusableStateError when its bytes are not those that were written, which QEMU would not notice, or
        cannot be written to the `copy`.
        """
        digest, place = hashlib.sha256(), HEADER_BYTES
        try:
            with copy.open("wb") if copy else contextlib.nullcontext() as into:
                while piece := os.pread(self.file.fileno(), PIECE_BYTES, place):
                    digest.update(piece)
                    place += len(piece)
                    if into is not None:
                        into.write(piece)
        except OSError as error:
            raise UnusableStateError(f"it cannot be read or copied: {error}") from None
        if digest.hexdigest() != self.header.sha256:
            raise UnusableStateError("its checksum is wrong")


def state_path(key: str) -> Path:
    """Returns the path of the state with this key."""
    return find_cache_folder() / f"{STATE_PREFIX}{key}"


@contextmanager
def open_state(key: str) -> Iterator[SavedState | None]:
    """Opens the state of this key; None where there is none. Raises UnusableStateError."""
    path = state_path(key)
    try:
        file = path.open("rb")
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        raise UnusableStateError(f"it cannot be read: {error}") from None
    with file:
        header = _read_header(file, key)
        with contextlib.suppress(OSError):
            os.utime(path)  # the last to be removed
        yield SavedState(file, header)


def _read_header(file: IO[bytes], key: str) -> StateHeader:
    try:
        header = StateHeader(**json.loads(file.read(HEADER_BYTES)))
        size_bytes = os.fstat(file.fileno()).st_size - HEADER_BYTES
    except (OSError, ValueError, TypeError):
        raise UnusableStateError("it has no valid header") from None
    if header.state_format != STATE_FORMAT or header.key != key:
        raise UnusableStateError("it belongs to another kind of machine")
    if size_bytes != header.size_bytes:
        raise UnusableStateError(f"it has {size_bytes} bytes instead of {header.size_bytes}")
    os.lseek(file.fileno(), HEADER_BYTES, os.SEEK_SET)  # for QEMU, which inherits the place
    return header


def remove_state(key: str) -> None:
    """Removes the state of this key, so that another can replace it."""
    with contextlib.suppress(OSError):
        state_path(key).unlink(missing_ok=True)


@dataclass
class StateWriter:
    """A state that is being written."""

    key: str
    path: Path
    file: IO[bytes]
    size_bytes: int = 0
    sha256: str = ""

    def copy(self, read_into: Callable[[memoryview], int]) -> None:
        """Writes what can be read until that is all. Raises OSError, for example when the disk is full."""
        digest, piece = hashlib.sha256(), memoryview(bytearray(PIECE_BYTES))
        self.file.seek(HEADER_BYTES)
        while count := read_into(piece):
            self.size_bytes += count
            if self.size_bytes > STATES_MOST_BYTES:
                raise OSError(errno.EFBIG, f"A state of more than {STATES_MOST_BYTES} bytes is not stored")
            digest.update(piece[:count])
            self.file.write(piece[:count])
        self.sha256 = digest.hexdigest()

    def finish(self, hello: Json) -> None:
        """Adds the header, gives the file its name, and removes states beyond the bounds. Raises OSError."""
        header = StateHeader(self.key, time.time(), hello, self.size_bytes, self.sha256)
        self.file.seek(0)
        self.file.write(json.dumps(asdict(header)).encode().ljust(HEADER_BYTES))
        self.file.flush()
        self.path.rename(state_path(self.key))
        _make_room()


@contextmanager
def create_state(key: str, journal: ResourceJournal) -> Iterator[StateWriter | None]:
    """Opens a file for the state of this key; None where another process writes it, or there is no room for it.

    An unfinished file is removed with the block, or by the next command where this process is killed.
    """
    path = find_cache_folder() / f"{UNFINISHED_PREFIX}{key}"
    file = _reserved(path, journal)
    if file is None:
        yield None
        return
    try:
        yield StateWriter(key, path, file)
    finally:
        with contextlib.suppress(OSError):
            if _is_at(path, file):
                path.unlink()
        with contextlib.suppress(OSError):
            file.close()  # what is still to be written may find no room


def _reserved(path: Path, journal: ResourceJournal) -> IO[bytes] | None:
    """The empty file, locked."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(path.parent).free < FREE_BYTES:
            return None
        journal.note("unfinished", path=str(path))
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b")
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(path, file):  # else its writer has just given it its name
            file.truncate()
            return file
    except OSError:
        pass
    file.close()
    return None


def _is_at(path: Path, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _make_room() -> None:
    """Removes states beyond the bounds, and what killed processes left unfinished."""
    above = find_cache_folder()
    for left in above.glob(f"{UNFINISHED_PREFIX}*"):
        remove_unlocked(left)
    states = [(path.stat(), path) for path in above.glob(f"{STATE_PREFIX}*")]
    states.sort(key=lambda state: state[0].st_mtime, reverse=True)
    sizes = accumulate(status.st_size for status, _ in states)
    for number, ((_, path), size) in enumerate(zip(states, sizes, strict=True), 1):
        if number > MOST_STATES or size > STATES_MOST_BYTES:
            path.unlink(missing_ok=True)
