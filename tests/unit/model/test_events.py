"""The records of the driver's events are those that the driver's own types say."""

from collections.abc import Mapping
from dataclasses import fields
from types import UnionType
from typing import Any, get_args, get_type_hints

import jsonschema
import pytest

from loadstone.model.records import events
from loadstone.model.records.events import (
    EVENT,
    CpuShare,
    EncodedHistogram,
    LedgerEntry,
    OperationCounts,
    OperationTotals,
    PairedTimes,
    PartNames,
)
from tests.places import EVENTS_SCHEMA
from tests.records import interval

EVENTS: UnionType = events.Event
VARIANTS = {one["properties"]["event"]["const"]: one for one in EVENTS_SCHEMA["oneOf"]}
PARTS = {
    "CpuShare": CpuShare,
    "Encoded": EncodedHistogram,
    "LedgerEntry": LedgerEntry,
    "OperationCounts": OperationCounts,
    "OperationRecord": OperationTotals,
    "PartNames": PartNames,
    "PauseCounts": PairedTimes,
}


def names(record: type[Any]) -> set[str]:
    return {field.name for field in fields(record)}


def properties(variant: Mapping[str, Any]) -> set[str]:
    """Of an event, those of the type that it holds among them."""
    held = EVENTS_SCHEMA["$defs"][variant["$ref"].rpartition("/")[2]]["properties"] if "$ref" in variant else {}
    return {*variant["properties"], *held}


def test_there_is_a_record_for_every_event() -> None:
    known = {get_args(get_type_hints(record)["event"])[0]: record for record in get_args(EVENTS)}
    assert set(known) == set(VARIANTS)
    for name, record in known.items():
        assert names(record) == properties(VARIANTS[name]), name


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_an_event_has_the_fields_of_its_type(name: str) -> None:
    assert names(PARTS[name]) == set(EVENTS_SCHEMA["$defs"][name]["properties"])


def test_what_tests_make_up_is_what_a_driver_may_say() -> None:
    made = EVENT.dump_python(interval(1), mode="json")
    wires = dict.fromkeys(EVENTS_SCHEMA["$defs"]["ConnectionStats"]["required"], 0)
    jsonschema.validate({**made, "wires": wires}, EVENTS_SCHEMA)
