"""Values that fit a schema of an OpenAPI document: examples, and how such values are drawn."""

import json
import math
import re
from random import Random
from typing import Any

import rstr

from loadstone.model.workload.bounds import LARGEST_WHOLE
from loadstone.workloads.importers.openapi import Json, listed, table

WORD = "granite"
"""Stands for any text."""
LONGEST = 10_000
"""Characters of a text that its schema wants to be long."""
LONGEST_PATTERN = 200
"""Characters of a regular expression that texts are made by; and how often it may repeat things."""
KNOWN = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "someone@example.org",
    "uuid": "00000000-0000-4000-8000-000000000001",
    "uri": "http://example.org/",
    "ipv4": "192.0.2.1",
}
"""Texts of known formats."""


def generator(schema: Json) -> Json | None:
    """How values of a schema are drawn; None where an example says it."""
    if "example" in schema or "examples" in schema or "const" in schema:
        return None
    if listed(schema.get("enum")):
        return {"kind": "choice", "values": [plain(value) for value in schema["enum"]]}
    if kind_of(schema) != "integer":
        return None
    least = _least(schema)
    return {"kind": "uniform", "min": least, "max": max(least, _number(schema, "maximum", least + 999))}


def _least(schema: Json) -> int:
    above = _number(schema, "exclusiveMinimum", -1) + 1  # a flag beside `minimum` before version 3.1
    return max(0, above, _number(schema, "minimum", 1 if above == 0 else above))


def _number(schema: Json, key: str, usual: int) -> int:
    value = schema.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return usual
    return max(-LARGEST_WHOLE, min(LARGEST_WHOLE, math.ceil(value)))


def example(schema: Json, unfit: list[str]) -> Any:
    """A value that fits a schema; patterns that it does not fit are added to `unfit`."""
    for key in ("example", "default", "const"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if listed(schema.get(key)):
            return schema[key][0]
    match kind_of(schema):
        case "object":
            return {key: example(table(part), unfit) for key, part in table(schema.get("properties")).items()}
        case "array":
            return [example(table(schema.get("items")), unfit)]
        case "integer" | "number":
            return _least(schema)
        case "boolean":
            return True
        case "null":
            return None
    return _text(schema, unfit)


def _text(schema: Json, unfit: list[str]) -> str:
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        made = by_pattern(pattern)
        unfit += [] if made else [pattern[:LONGEST_PATTERN]]
        return made or WORD
    word = KNOWN.get(str(schema.get("format", "")), WORD)
    least = min(LONGEST, _number(schema, "minLength", 0))
    return word.ljust(least, "e")[: max(0, _number(schema, "maxLength", LONGEST))]


def by_pattern(pattern: str) -> str:
    """A text that a regular expression describes, always the same; empty where it is none, or asks for too much."""
    counts = re.findall(r"\{[0-9,]{1,20}\}", pattern)
    repeats = math.prod(max(1, int(many)) for count in counts for many in re.findall(r"[0-9]+", count)[-1:])
    if len(pattern) > LONGEST_PATTERN or repeats > LONGEST or "(?" in pattern:
        return ""
    try:
        return rstr.Rstr(Random(1)).xeger(pattern)[:LONGEST]
    except (re.error, ValueError, IndexError, KeyError, OverflowError, RecursionError):
        return ""


def kind_of(schema: Json) -> str:
    """Its type; of several the first that is one."""
    kind = schema.get("type", "object" if schema.get("properties") else "string")
    return str(next((one for one in kind if one != "null"), "null") if isinstance(kind, list) else kind)


def plain(value: Any) -> str:
    """As it stands in a path or a query."""
    if isinstance(value, str):
        return value
    return ",".join(map(plain, value)) if isinstance(value, list) else json.dumps(value, default=str)
