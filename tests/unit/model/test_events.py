"""The records of the driver's events are written from the schema that the driver's own types give."""

from dataclasses import fields

import jsonschema
import pytest
from schema_records.module import MODULES

from loadstone.model.records.events import EVENT, EVENT_SCHEMA, Interval, OperationLine
from loadstone.model.records.units import NANOSECONDS_PER_S, to_nanoseconds, to_seconds
from tests.places import EVENTS_SCHEMA
from tests.records import interval


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_records_are_those_of_the_schema(path: object) -> None:
    written = next(file for file in MODULES if file == path)
    assert MODULES[written]() == written.read_text(), "run `python -m schema_records`"
    assert EVENTS_SCHEMA["x-version"] == EVENT_SCHEMA


def test_what_tests_make_up_is_what_a_driver_may_say() -> None:
    jsonschema.validate(EVENT.dump_python(interval(1), mode="json"), EVENTS_SCHEMA)


def test_times_are_seconds_once_they_are_read_and_nanoseconds_where_they_are_written() -> None:
    line = b'{"event": "operations", "part": "a", "operations": [{"operation": 1, "intended_ns": 1500000000}]}'
    read = EVENT.validate_json(line)
    assert read.operations == (OperationLine(1, 1.5, None, None),)  # type: ignore[union-attr]
    assert b'"intended_ns":1500000000' in EVENT.dump_json(read)
    assert not [each.name for each in fields(Interval) if each.name.endswith("_ns")]


@pytest.mark.parametrize("nanoseconds", (0, 1, 999_999_999, 86_400 * NANOSECONDS_PER_S + 1))
def test_a_time_of_a_run_comes_back_to_the_nanosecond(nanoseconds: int) -> None:
    assert to_nanoseconds(to_seconds(nanoseconds)) == nanoseconds
