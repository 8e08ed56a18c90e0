"""What is made once and kept: kernels and images, each in a folder named by what it was made from."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from loadstone.host import locks
from loadstone.model.errors import PlatformError


def cache_folder() -> Path:
    """Where things are kept (XDG Base Directory Specification)."""
    named = os.environ.get("LOADSTONE_CACHE_DIR")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else base / "loadstone"


def cached(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The folder `kind-key`; where there is none, `make` fills it, once, whoever asks. Raises PlatformError."""
    above = cache_folder()
    folder = above / f"{kind}-{key}"
    try:
        above.mkdir(parents=True, exist_ok=True)
        with locks.exclusive(above / f"{kind}.lock"):
            if not folder.is_dir():
                _make(folder, make)
    except OSError as error:
        remedy = "Free some space, or name another folder in LOADSTONE_CACHE_DIR."
        raise PlatformError(f"{folder} cannot be made: {error}. {remedy}") from None
    return folder


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix=".part-", dir=folder.parent))
    try:
        make(unfinished)
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def digest(*parts: bytes) -> str:
    """A short name for contents."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()[:16]
