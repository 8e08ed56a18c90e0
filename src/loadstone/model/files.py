"""Files that users name: only ordinary ones are read, since a pipe has no end and a device may have none."""

import codecs
import gzip
import io
import stat
import zipfile
import zlib
from pathlib import Path

from loadstone.model.errors import UsageError

LARGEST_FILE = 1 << 30
"""Bytes of a file that are read; longer recordings are to be cut into several."""
GZIP_BEGINS, ZIP_BEGINS = b"\x1f\x8b", b"PK\x03\x04"
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""First bytes of files that Excel, Fiddler and PowerShell write, with their encodings, the longer marks first."""


def read_bytes(path: Path, most: int = LARGEST_FILE) -> bytes:
    """Content of an ordinary file, also behind a link. Raises UsageError for a pipe, a device, a folder, a file of more
    than `most` bytes, and one that cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path} is not an ordinary file, but a pipe, a device or a folder. Copy it to a file.")
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    if len(content) > most:
        raise UsageError(f"{path} has more than {most:,} bytes. Use a smaller file.")
    return content


def read_text(path: Path, most: int = LARGEST_FILE) -> str:
    """Text of an ordinary file without its byte order mark: UTF-8, or what the mark says. Raises UsageError, also for
    other encodings.
    """
    content = read_bytes(path, most)
    if content.startswith((GZIP_BEGINS, ZIP_BEGINS)):
        raise UsageError(f"{path} is a packed file or a spreadsheet, not text. Unpack it, or export it as text.")
    try:
        return content.decode(detect_marked_encoding(content))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not valid UTF-8 text: byte {error.start} is wrong. Save it as UTF-8.") from None


def unpack_file(path: Path, content: bytes, most: int = LARGEST_FILE) -> bytes:
    """Content of a file that was packed by gzip, or alone by zip; that of any other file as it is. Raises UsageError
    for more than `most` bytes, and for what cannot be unpacked.
    """
    try:
        if content.startswith(GZIP_BEGINS):
            with gzip.open(io.BytesIO(content)) as packed:
                unpacked_content = packed.read(most + 1)
        elif content.startswith(ZIP_BEGINS):
            unpacked_content = _of_archive(path, content, most)
        else:
            return content
    except (OSError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} cannot be unpacked: {error}. Unpack it first.") from None
    if len(unpacked_content) > most:
        raise UsageError(f"{path} has more than {most:,} bytes when it is unpacked. Use a smaller file.")
    return unpacked_content


def _of_archive(path: Path, content: bytes, most: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.lower().endswith(".har")] or archive.namelist()
        if len(names) != 1:
            raise UsageError(f"{path} contains {len(names)} files. Unpack it, and use one of them.")
        with archive.open(names[0]) as packed:
            return packed.read(most + 1)


def detect_marked_encoding(content: bytes) -> str:
    """Encoding that a byte order mark names; UTF-8 without one."""
    return next((name for mark, name in BYTE_ORDER_MARKS if content.startswith(mark)), "utf-8")
