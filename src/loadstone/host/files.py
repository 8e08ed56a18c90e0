"""Files that hold secrets: for their owner alone."""

import os
import stat
from pathlib import Path

from loadstone.model.errors import UsageError


def write_private(path: Path, text: str) -> None:
    """Writes a text that only the file's owner may read (mode 0600), also where the file exists. Raises UsageError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.fchmod(descriptor, 0o600)
                os.ftruncate(descriptor, 0)
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from None
