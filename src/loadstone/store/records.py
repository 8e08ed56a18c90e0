"""The lines of an iteration's files as records: events of the driver, samples of the monitors.

Each line is parsed once, whoever asks: events that were parsed when the driver wrote them are kept for the judge, and
the records of the latest result stay in memory until its files change.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import from_json

from loadstone.model.errors import StoreError
from loadstone.model.records.events import (
    EVENT,
    End,
    Event,
    Interval,
    Ledger,
    Operations,
    Start,
    StationUse,
    Totals,
    Trouble,
)
from loadstone.model.records.result import IterationRecords, PhaseLengths
from loadstone.model.records.sample import SAMPLE, Sample
from loadstone.store import migrate
from loadstone.store.documents import describe_first_problem, read_lines, refuse_immense

EVENTS = "events.jsonl"
MONITOR = "monitor.jsonl"
MANY_DIGITS = re.compile(rb"[0-9]{20}")
"""In a line that may hold an immense number."""

FileStamp = tuple[int, int] | None
"""When a file was written, in nanoseconds, and its bytes; None where there is none."""


def read_records(folder: Path, phases: PhaseLengths) -> IterationRecords:
    """The records of an iteration from its folder. Raises StoreError."""
    known = _latest(folder.parent)
    stamps = _stamp(folder / EVENTS), _stamp(folder / MONITOR)
    held = known.get(folder)
    if held is None or held[0] != stamps:
        held = known[folder] = stamps, _records(folder, phases)
    return held[1]


@lru_cache(1)
def _latest(runs: Path) -> dict[Path, tuple[tuple[FileStamp, FileStamp], IterationRecords]]:
    """What is known of the iterations of one result, with the state of the files that it was read from."""
    return {}


def keep_events(folder: Path, events: Sequence[Event]) -> None:
    """Keeps the events of an iteration whose file is complete, which were parsed when the driver wrote them."""
    _parsed(folder.parent)[folder] = _stamp(folder / EVENTS), events


@lru_cache(1)
def _parsed(runs: Path) -> dict[Path, tuple[FileStamp, Sequence[Event]]]:
    """Returns the parsed events of the iterations of one result whose records nobody read so far."""
    return {}


def _stamp(file: Path) -> FileStamp:
    try:
        state = file.lstat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _records(folder: Path, phases: PhaseLengths) -> IterationRecords:
    stamp, events = _parsed(folder.parent).pop(folder, (None, ()))
    uncounted: frozenset[str] = frozenset()
    if stamp is None or stamp != _stamp(folder / EVENTS):
        events, uncounted = _events(folder / EVENTS)
    records = group_events(events)
    stations = tuple(use for use in records.stations if phases.is_steady(use.at_s))
    return replace(records, stations=stations, monitor=tuple(_samples(folder / MONITOR)), uncounted=uncounted)


def _events(file: Path) -> tuple[Sequence[Event], frozenset[str]]:
    """Parses a file of events; returns them with the counts that its driver did not make. Raises StoreError."""
    events: list[Event] = []
    uncounted: frozenset[str] = frozenset()
    for number, line in read_lines(file):
        events.append(read_event(line, f"{file}:{number}"))
        if isinstance(events[-1], Totals):
            uncounted = migrate.find_uncounted(from_json(line))
    return events, uncounted


def group_events(events: Sequence[Event]) -> IterationRecords:
    """The events of a driver, by their kind."""
    return IterationRecords(
        start=next((event for event in events if isinstance(event, Start)), None),
        intervals=tuple(event for event in events if isinstance(event, Interval)),
        stations=tuple(event for event in events if isinstance(event, StationUse)),
        ledger=tuple(event for event in events if isinstance(event, Ledger)),
        operations=tuple(line for event in events if isinstance(event, Operations) for line in event.operations),
        totals=next((event for event in events if isinstance(event, Totals)), None),
        end=next((event for event in events if isinstance(event, End)), None),
        troubles=tuple(event for event in events if isinstance(event, Trouble)),
    )


def read_event(line: bytes, place: str) -> Event:
    """An event from its line, of this or an older driver; raises StoreError that names the place."""
    try:
        return parse_event(line, place)
    except ValidationError as error:
        try:
            return EVENT.validate_python(migrate.migrate_event(from_json(line)))
        except (ValueError, AttributeError, KeyError, TypeError):
            raise StoreError(f"{place} is not a valid event: {describe_first_problem(error)}.") from None


def parse_event(line: bytes, place: str) -> Event:
    """An event from its line, of a driver of this version. Raises ValidationError, and StoreError for figures that are
    not numbers.
    """
    _refuse_odd_numbers(line, place)
    return EVENT.validate_json(line)


def _refuse_odd_numbers(line: bytes, place: str) -> None:
    """Raises StoreError where a figure is NaN, infinite or immense: a verdict on it could be written, but never read
    again, or not be calculated.
    """
    if b"NaN" not in line and b"Infinity" not in line and not MANY_DIGITS.search(line):
        return
    try:
        document = from_json(line, allow_inf_nan=False)
    except ValueError:
        raise StoreError(
            f"{place} contains a figure that is not a number (NaN or Infinity), or is not valid JSON."
        ) from None
    refuse_immense(document, place)


def _samples(file: Path) -> Iterator[Sample]:
    for number, line in read_lines(file):
        _refuse_odd_numbers(line, f"{file}:{number}")
        try:
            yield SAMPLE.validate_json(line)
        except ValidationError as error:
            raise StoreError(f"{file}:{number} is not a valid sample: {describe_first_problem(error)}.") from None
