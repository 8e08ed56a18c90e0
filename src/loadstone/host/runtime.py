"""The folder of this user's running labs, and in it a folder for each, locked for as long as its process lives.

What a killed process left there, the next command finds and takes away.
"""

import fcntl
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadstone.model.errors import PlatformError

LOCK = "lock"
RUNTIME_PREFIX = "ls"
"""First letters of all names that are given outside this process."""


def find_temporary_folder() -> Path:
    """The folder of the machine for temporary files; raises PlatformError where none is writable."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError as error:
        remedy = "Mount a writable folder at /tmp, or name one in TMPDIR."
        raise PlatformError(f"Temporary files cannot be written: {error.strerror}. {remedy}") from None


def find_runtime_folder() -> Path:
    """Returns this user's folder of leases. Its path is short, since paths of sockets may have 107 letters only."""
    named = os.environ.get("LOADSTONE_RUNTIME_DIR")
    return Path(named) if named else find_temporary_folder() / f"loadstone-{os.getuid()}"


def make_private_folder() -> Path:
    """That folder, made if need be; raises PlatformError when it cannot be made, or is not this user's alone.

    What stands in it is believed when clearing up, so nobody else may write there.
    """
    folder = find_runtime_folder()
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        pass
    except OSError as error:
        remedy = "Name a writable folder in LOADSTONE_RUNTIME_DIR."
        raise PlatformError(f"{folder} cannot be created: {error.strerror}. {remedy}") from None
    if not is_private(folder):
        remedy = "Remove it, or name another in LOADSTONE_RUNTIME_DIR."
        raise PlatformError(f"{folder} is not a folder that only this user may write to. {remedy}")
    return folder


def is_private(folder: Path) -> bool:
    """Whether only this user may write to a folder."""
    try:
        state = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o022


def make_locked_folder() -> tuple[Path, int]:
    """A new folder of this process, and the descriptor that holds its lock: shared with processes that inherit the
    descriptor, or lock the folder as well. Raises PlatformError.
    """
    name = f"{RUNTIME_PREFIX}{secrets.token_hex(3)}"
    unlocked, folder = make_private_folder() / f".{name}", make_private_folder() / name
    unlocked.mkdir(mode=0o700)
    descriptor = os.open(unlocked / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    unlocked.rename(folder)  # nobody finds it before it is locked
    return folder, descriptor


@contextmanager
def make_temporary_folder(name: str) -> Iterator[Path]:
    """A new folder of that name, which is gone when the block ends; where the process is killed, with the next command.
    Raises PlatformError.
    """
    above, descriptor = make_locked_folder()
    folder = above / name
    try:
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(above, ignore_errors=True)
        os.close(descriptor)
