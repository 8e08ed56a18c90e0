"""Files that users name: only ordinary ones are read; those with secrets are for their owner alone."""

import os
import stat
from pathlib import Path

from loadstone.model.errors import UsageError

LARGEST_FILE = 1 << 30
"""Bytes of a file that are read; longer recordings are to be cut into several."""


def read_bytes(path: Path, most: int = LARGEST_FILE) -> bytes:
    """Content of an ordinary file, also behind a link. Raises UsageError for a pipe, a device, a folder, a file of more
    than `most` bytes, and one that cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(
            f"{path} is not an ordinary file, but a pipe, a device or a folder. Copy its content to a file."
        )
    with os.fdopen(descriptor, "rb") as file:
        try:
            content = file.read(most + 1)
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    if len(content) > most:
        raise UsageError(f"{path} has more than {most:,} bytes. Give a smaller file.")
    return content


def read_text(path: Path, most: int = LARGEST_FILE) -> str:
    """Text of an ordinary file in UTF-8, without a byte order mark. Raises UsageError, also for other encodings."""
    try:
        return read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text in UTF-8: byte {error.start} is wrong. Save it as UTF-8.") from None


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
