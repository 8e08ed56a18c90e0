"""The modules of records: one class a definition, in the order in which they need each other."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from schema_records.fields import RecordField, Schema, docstring, is_record, record_field

PROJECT = Path(__file__).parents[1]
RECORDS = PROJECT / "src" / "loadstone" / "model" / "records"
TAG = "event"
"""The property by which events are told apart."""
BASES = {
    "CpuShare": "DriverCpu",
    "Interval": "IntervalSums",
    "OperationCounts": "OperationSums",
    "OperationShare": "CycleShift",
    "Trouble": "TroubleText",
}
"""Classes of `record_sums.py` whose properties records inherit."""

EVENTS_HEAD = '''\
"""What the driver says, one record an event; times in seconds. `python -m schema_records` writes this module from
`schemas/events.json`, which follows from the driver's own types.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from loadstone.model.records.record_sums import DriverCpu, IntervalSums, OperationSums, TroubleText
from loadstone.model.records.units import RecordedSeconds

EVENT_SCHEMA = {version}
"""Version of the events' schema that this version of the program reads without migration."""
'''
EVENTS_TAIL = '''
EVENT: TypeAdapter[Event] = TypeAdapter(
    Annotated[Event, Field(discriminator="event")], config=ConfigDict(defer_build=True, serialize_by_alias=True)
)
"""Built at its first use. Reads one line of events; raises pydantic's ValidationError."""
'''
SIMULATED_HEAD = '''\
"""What a schedule played in virtual time came to. `python -m schema_records` writes this module from
`schemas/simulated.json`, which follows from the driver's own types.
"""

from dataclasses import dataclass

from loadstone.model.records.record_sums import CycleShift
'''


def _schema(name: str) -> Schema:
    document: Schema = json.loads((PROJECT / "schemas" / name).read_text(encoding="utf-8"))
    return document


def events_text(schema: Schema) -> str:
    """The text of `events.py` by a schema of events."""
    definitions, variants = schema["$defs"], schema["oneOf"]
    inlined = {_target(variant) for variant in variants}
    named = [(name, definitions[name]) for name in _in_order(definitions) if name not in inlined]
    events = [_variant(variant, definitions) for variant in variants]
    records = (line for name, record in (*named, *events) for line in _record(name, record, definitions))
    union = _union([name for name, _ in events])
    return "\n".join((EVENTS_HEAD.format(version=schema["x-version"]), *records, "", *union, EVENTS_TAIL))


def simulated_text(schema: Schema) -> str:
    """The text of `simulation.py` by the schema of a simulation's result."""
    definitions = schema["$defs"]
    named = [*((name, definitions[name]) for name in _in_order(definitions)), (schema["title"], schema)]
    records = (line for name, record in named for line in _record(name, record, definitions))
    return "\n".join((SIMULATED_HEAD, *records))


MODULES: Mapping[Path, Callable[[], str]] = {
    RECORDS / "events.py": lambda: events_text(_schema("events.json")),
    RECORDS / "simulation.py": lambda: simulated_text(_schema("simulated.json")),
}


def _target(variant: Schema) -> str:
    """The definition whose fields an event has; empty of one that lists its own."""
    return str(variant.get("$ref", "")).rpartition("/")[2]


def _in_order(definitions: Mapping[str, Schema]) -> list[str]:
    """The records, each after those that it holds."""
    ordered: list[str] = []

    def visit(name: str) -> None:
        if name in ordered or not is_record(definitions[name]):
            return
        for below in _referenced(definitions[name]):
            visit(below)
        ordered.append(name)

    for name in definitions:
        visit(name)
    return ordered


def _referenced(schema: object) -> Iterator[str]:
    """Names of the definitions that occur anywhere in a schema."""
    if isinstance(schema, Mapping):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference.rpartition("/")[2]
        for value in schema.values():
            yield from _referenced(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _referenced(value)


def _variant(variant: Schema, definitions: Mapping[str, Schema]) -> tuple[str, Schema]:
    """Name and schema of an event, with the fields of its definition where it has one."""
    content = definitions.get(_target(variant), {})
    name = variant.get("title") or variant["properties"][TAG]["const"].title()
    record = {
        "description": variant.get("description") or content.get("description", ""),
        "properties": {**variant["properties"], **content.get("properties", {})},
        "required": [*variant["required"], *content.get("required", ())],
    }
    return name, record


def _record(name: str, schema: Schema, definitions: Mapping[str, Schema]) -> Iterator[str]:
    """A class; fields without a default are first, in the order of their declaration."""
    base = f"({BASES[name]})" if name in BASES else ""
    yield from ("", "@dataclass(frozen=True)", f"class {name}{base}:")
    yield from docstring(schema.get("description", ""), "    ")
    yield ""
    for field in _fields(schema, definitions):
        yield from field.lines()
    yield ""


def _fields(schema: Schema, definitions: Mapping[str, Schema]) -> Iterator[RecordField]:
    properties, required = schema["properties"], schema["required"]
    for key in (*required, *(key for key in properties if key not in required)):
        if "const" in properties[key]:
            yield RecordField(key, f'Literal["{properties[key]["const"]}"]')
        else:
            yield record_field(key, properties[key], definitions, key in required)


def _union(names: list[str]) -> Iterator[str]:
    yield "Traced = Exchange | Performed"
    yield "Event = ("
    yield from (f"    {'| ' if at else ''}{name}" for at, name in enumerate(names))
    yield ")"
