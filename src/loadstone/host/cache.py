"""What is made once and kept: kernels, images and data sets, each in a folder named by what it was made from."""

import asyncio
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import accumulate
from pathlib import Path

from loadstone.host import locks
from loadstone.host.runtime import find_temporary_folder
from loadstone.model.errors import PlatformError


def find_cache_folder() -> Path:
    """Returns the cache folder (XDG Base Directory Specification). It is below the folder of temporary files for a user
    without a writable home. Raises PlatformError if another user can write to it.
    """
    named = os.environ.get("LOADSTONE_CACHE_DIR")
    if named:
        return Path(named)
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # a user without a name, and no HOME
        return _temporary()
    return base / "loadstone" if _can_be_made(base / "loadstone") else _temporary()


def _can_be_made(folder: Path) -> bool:
    """Whether this user may write to a folder, or make it."""
    for path in (folder, *folder.absolute().parents):
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            return False
        return os.access(path, os.W_OK | os.X_OK)
    return False


def _temporary() -> Path:
    """What stands in it is believed, so nobody else may write there."""
    folder = find_temporary_folder() / f"loadstone-cache-{os.getuid()}"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700)
    try:
        state = folder.lstat()
    except OSError as error:
        raise _cannot_be_made(folder, error) from None
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o022:
        remedy = "Set LOADSTONE_CACHE_DIR to another folder."
        raise PlatformError(f"{folder} is not a folder that only this user may write to. {remedy}")
    return folder


def fill_cached(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The folder `kind-key`; where there is none, `make` fills it, once, whoever asks. A folder that is there waits for
    no other of its kind that is being filled. Raises PlatformError.
    """
    above = find_cache_folder()
    folder = above / f"{kind}-{key}"
    try:
        if folder.is_dir():  # it got its name when it was complete
            return folder
        above.mkdir(parents=True, exist_ok=True)
        with locks.hold_lock(above / f"{kind}.lock"):
            if not folder.is_dir():
                with _unfinished(folder) as unfinished:
                    make(unfinished)
    except OSError as error:
        raise _cannot_be_made(folder, error) from None
    return folder


@asynccontextmanager
async def lend_cached(
    kind: str, key: str, make: Callable[[Path], Awaitable[None]], most_bytes: int
) -> AsyncIterator[Path]:
    """The same, of what is large and easily made again: while the block lasts, nobody takes it away. Of its kind those
    that were not used for longest go, until the rest has no more than `most_bytes`. Raises PlatformError.
    """
    async with _lock_folder(kind, key) as folder:
        if not folder.is_dir():
            await _fill(folder, kind, make, most_bytes)
        os.utime(folder)
        yield folder


@asynccontextmanager
async def share_folder(
    kind: str, key: str, fill: Callable[[Path], Awaitable[None]], most_bytes: int
) -> AsyncIterator[Path]:
    """The same, of a folder that several processes read at a time. `fill` completes it before each use, so it repairs
    whatever was changed or removed. Raises PlatformError.
    """
    async with _lock_folder(kind, key) as folder:
        if folder.is_dir():
            await fill(folder)
        else:
            await _fill(folder, kind, fill, most_bytes)
        os.utime(folder)
        reading = locks.share(folder)
    try:
        yield folder
    finally:
        locks.release(reading)


@asynccontextmanager
async def _lock_folder(kind: str, key: str) -> AsyncIterator[Path]:
    """The folder `kind-key`, which may not be there, while no other process changes those of its kind. Raises
    PlatformError for an error of the file system in the block too.
    """
    above = find_cache_folder()
    folder = above / f"{kind}-{key}"
    try:
        above.mkdir(parents=True, exist_ok=True)
        async with locks.wait_for_lock(above / f"{kind}.lock"):
            _remove_unfinished(above, kind)
            yield folder
    except OSError as error:
        raise _cannot_be_made(folder, error) from None


async def _fill(folder: Path, kind: str, make: Callable[[Path], Awaitable[None]], most_bytes: int) -> None:
    """Makes a folder whole, and room for it."""
    with _unfinished(folder) as unfinished:
        await make(unfinished)
    await asyncio.to_thread(_make_room, folder.parent, kind, most_bytes)


def _remove_unfinished(above: Path, kind: str) -> None:
    """Removes what a killed process left; a living one would hold the lock."""
    for left in above.glob(f".part-{kind}-*"):
        shutil.rmtree(left, ignore_errors=True)


def _make_room(above: Path, kind: str, most_bytes: int) -> None:
    """Removes the folders that were not used for longest, except the newest and those that a process reads."""
    folders = sorted(above.glob(f"{kind}-*"), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder, bytes_so_far in list(zip(folders, accumulate(map(_bytes_below, folders)), strict=True))[1:]:
        if bytes_so_far > most_bytes and not locks.is_held(folder, by_readers=True):
            shutil.rmtree(folder, ignore_errors=True)


def _bytes_below(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


@contextmanager
def _unfinished(folder: Path) -> Iterator[Path]:
    """A folder that gets its name when the block has filled it, and goes when that fails."""
    unfinished = Path(tempfile.mkdtemp(prefix=f".part-{folder.name.partition('-')[0]}-", dir=folder.parent))
    try:
        yield unfinished
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _cannot_be_made(folder: Path, error: OSError) -> PlatformError:
    remedy = "Free some space, or name another folder in LOADSTONE_CACHE_DIR."
    return PlatformError(f"{folder} cannot be made: {error}. {remedy}")


def compute_digest(*parts: bytes) -> str:
    """A short name for contents."""
    digests = hashlib.sha256()
    for part in parts:
        digests.update(hashlib.sha256(part).digest())
    return digests.hexdigest()[:16]
