"""Documents on disk: read whole and bounded, never through a link; written whole or not at all.

A result folder may come from a stranger: nothing in it may make a reader hang, follow a link or take all memory.
"""

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from loadstone.model.errors import StoreError
from loadstone.model.reading import describe_problem

T = TypeVar("T")
Raw = dict[str, Any]
"""A document as it was parsed, before it is checked; only this room and `migrate` see one."""

IMMENSE = 1 << 64
"""Whole numbers of records are smaller."""
LARGEST_DOCUMENT = 64 * 1024 * 1024
"""Bytes of a document that are read; the answer of a study of a thousand runs is a tenth of it."""
STORED_LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of a line of events: totals with all histograms of a thousand operations are less."""


def open_regular(path: Path) -> IO[bytes]:
    """Opens an ordinary file for reading; raises StoreError for a link, a pipe, a device, or none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{path} is not an ordinary file.")
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path) -> bytes:
    """The content of an ordinary file; raises StoreError, also for one beyond all bounds."""
    with open_regular(path) as file:
        content = file.read(LARGEST_DOCUMENT + 1)
    if len(content) > LARGEST_DOCUMENT:
        raise StoreError(f"{path} is larger than {LARGEST_DOCUMENT >> 20} MiB, too large for a document of Loadstone.")
    return content


def read_text(path: Path) -> str:
    """The text of an ordinary file; raises StoreError."""
    return read_bytes(path).decode("utf-8", errors="replace")


def read_raw(path: Path) -> Raw:
    """A JSON object, not checked any further; raises StoreError."""
    try:
        document = from_json(read_bytes(path), allow_inf_nan=False)
    except ValueError as error:
        raise StoreError(f"{path} is not valid JSON: {error}.") from None
    if not isinstance(document, dict):
        raise StoreError(f"{path} contains no JSON object.")
    refuse_immense(document, str(path))
    return document


def refuse_immense(document: Any, place: str) -> None:
    """Raises StoreError where a document of JSON holds a whole number that 64 bits do not hold: none of ours does, and
    calculations with it would fail.
    """
    rest = [document]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += value.values()
        elif isinstance(value, list):
            rest += value
        elif isinstance(value, int) and abs(value) >= IMMENSE:
            raise StoreError(f"{place} contains a whole number of more than 64 bits, which is not valid.")


def check_document(path: Path, kind: TypeAdapter[T], document: Raw) -> T:
    """A document as its type; raises StoreError with the place of the first thing that does not fit."""
    try:
        return kind.validate_python(document)
    except ValidationError as error:
        raise StoreError(f"{path}: {describe_first_problem(error)}.") from None


def describe_first_problem(error: ValidationError) -> str:
    """Place and kind of the first problem, in words."""
    details = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in details["loc"]) or "the whole"
    return f"`{place}`: {describe_problem(details)}"


def read_migrated(
    path: Path, kind: TypeAdapter[T], schema: int, migrate: Callable[[Raw], Raw], document: Raw | None = None
) -> T:
    """Reads a document of this schema or an older one; raises StoreError."""
    content = read_raw(path) if document is None else document
    version = content.get("schema")
    if not isinstance(version, int) or not 1 <= version <= schema:
        raise StoreError(f"{path} has schema {version}; this version reads 1 to {schema}.")
    if version == schema:
        return check_document(path, kind, content)
    try:
        moved = migrate(content)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise StoreError(
            f"{path} is not a valid document of schema {version}: {type(error).__name__} {error}."
        ) from None
    return check_document(path, kind, moved)


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The whole lines of a file with their numbers, from 1; a last line that was cut off is left out.
    Raises StoreError.
    """
    if not path.is_file():
        return
    with open_regular(path) as file:
        for number in range(1, 1 << 62):
            line = file.readline(STORED_LONGEST_LINE)
            if not line.endswith(b"\n"):
                if len(line) == STORED_LONGEST_LINE:
                    raise StoreError(f"{path}:{number} is too long for a line of Loadstone.")
                return
            yield number, line


def write_atomic(path: Path, content: bytes) -> None:
    """Writes a file so that readers see the old or the new one, never a part; a link there is replaced, not followed.

    Raises StoreError, and leaves nothing behind then.
    """
    try:
        descriptor, unfinished = tempfile.mkstemp(prefix=f".{path.name}-", suffix=".part", dir=path.parent)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), 0o644)
        Path(unfinished).replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            Path(unfinished).unlink()
        raise StoreError(f"{path} cannot be written: {error.strerror}.") from None
    except BaseException:
        with contextlib.suppress(OSError):
            Path(unfinished).unlink()
        raise


def write_document(path: Path, kind: TypeAdapter[T], document: T) -> None:
    """Writes a typed document. Raises StoreError."""
    write_atomic(path, kind.dump_json(document, indent=1) + b"\n")
