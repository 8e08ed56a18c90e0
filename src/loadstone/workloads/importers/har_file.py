"""Reading a recorded HAR file: its exchanges in order, and what could not be read."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from loadstone.model.errors import UsageError
from loadstone.model.files import detect_marked_encoding, read_bytes, unpack_file
from loadstone.model.reading import describe_problem
from loadstone.workloads.importers.har import HarExchange

MOST_BYTES = 256 << 20
"""Longest file that is read: a visit of an hour with all bodies has a tenth of it."""
SAVE = "Save a visit as HAR with content in the network view of a browser."
MOST_HOSTS_NAMED = 3
"""Unreadable entries that are named of many."""


@dataclass(frozen=True)
class HarFile:
    """What was recorded."""

    entries: list[HarExchange]
    """In the order in which they began."""
    unreadable: tuple[str, ...]
    """Entries that are no requests, for people."""


def read(file: Path) -> HarFile:
    """All exchanges of a recording; raises UsageError when it is no HAR file."""
    content = unpack_file(file, read_bytes(file, MOST_BYTES), MOST_BYTES)
    entries, unreadable = [], []
    for number, raw in enumerate(_entries(file, content)):
        try:
            entries.append(HarExchange.model_validate(raw))
        except ValidationError as error:
            unreadable.append(_place(f"entries.{number}", error))
    if not entries and unreadable:
        raise UsageError(f"{file} is not a valid HAR file: {unreadable[0]}.")
    return HarFile(sorted(_dated(file, entries), key=lambda entry: entry.start_s), tuple(_summed(unreadable)))


def _entries(file: Path, content: bytes) -> list[Any]:
    try:
        document = _without_surrogates(json.loads(content.decode(detect_marked_encoding(content), errors="replace")))
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else f"Invalid JSON: {error}"
        why = why if content.strip() else "it is empty"
        raise UsageError(f"{file} is not a valid HAR file: {why}. {SAVE}") from None
    log = document.get("log") if isinstance(document, dict) else None
    entries = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(entries, list):
        is_description = isinstance(document, dict) and not document.keys().isdisjoint(("openapi", "swagger"))
        remedy = "Use `loadstone workloads from-openapi` for an API description." if is_description else SAVE
        raise UsageError(f"{file} is not a valid HAR file: log.entries, the list of requests, is missing. {remedy}")
    return entries


def _without_surrogates(value: Any) -> Any:
    """A value of JSON with half surrogates in its texts replaced, which no file can hold."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        case list():
            return [_without_surrogates(entry) for entry in value]
        case dict():
            return {key: _without_surrogates(entry) for key, entry in value.items()}
        case _:
            return value


def _place(entry: str, error: ValidationError) -> str:
    details = error.errors()[0]
    return f"{'.'.join([entry, *(str(part) for part in details['loc'])])}: {describe_problem(details)}"


def _dated(file: Path, entries: list[HarExchange]) -> Iterator[HarExchange]:
    """Entries with the moment of the one before them where they have none; raises UsageError when none has."""
    dates = [entry.started for entry in entries if entry.started is not None]
    if entries and not dates:
        raise UsageError(f"{file} has no start times: no entry has a valid startedDateTime.")
    latest = dates[0] if dates else None
    for entry in entries:
        latest = entry.started or latest
        yield entry if entry.started is not None else entry.model_copy(update={"started": latest})


def _summed(unreadable: list[str]) -> Iterator[str]:
    if unreadable:
        more = f" and {len(unreadable) - MOST_HOSTS_NAMED} more" if len(unreadable) > MOST_HOSTS_NAMED else ""
        named = "; ".join(unreadable[:MOST_HOSTS_NAMED])
        yield f"{len(unreadable)} entries that are not requests ({named}{more})"
