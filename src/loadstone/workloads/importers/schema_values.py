"""Values that fit a schema of an OpenAPI document: examples, and how such values are drawn."""

import math
import re
import warnings
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import lru_cache
from random import Random
from typing import Annotated, Any

import rstr
from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

from loadstone.model.workload.bounds import LARGEST_WHOLE
from loadstone.workloads.importers.openapi import Json, copy_list, copy_table
from loadstone.workloads.importers.parameter_styles import format_plain

SAMPLE_TERM = "granite"
"""Stands for any text."""
LONGEST_TEXT = 10_000
"""Characters of a text that its schema wants to be long."""
LONGEST_PATTERN = 200
"""Characters of a regular expression that texts are made by; and how often it may repeat things."""
MOST_TRIES = 60
"""Texts that are made by a pattern, to find one that also has the right length."""
MOST_TRIED = 50_000
"""Characters that these may have together."""
MOST_CHOICES = 100
"""Multiples of a number that values are drawn from."""
MOST_ITEMS = 100
"""Items of a list that its schema wants to be long."""
RANGE_WIDTH = 1000
"""Whole numbers that are drawn from where a schema does not say how many there are."""
FORMAT_SAMPLES = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "someone@example.org",
    "idn-email": "someone@example.org",
    "hostname": "www.example.org",
    "idn-hostname": "www.example.org",
    "uuid": "00000000-0000-4000-8000-000000000001",
    "uri": "http://example.org/",
    "url": "http://example.org/",
    "iri": "http://example.org/",
    "uri-reference": "/granite",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "Z3Jhbml0ZQ==",
    "base64": "Z3Jhbml0ZQ==",
}
"""Texts of known formats."""


@dataclass(frozen=True)
class Range:
    """Bounds of a number; None where there is none."""

    low: Decimal | None
    is_above_low: bool
    high: Decimal | None
    is_below_high: bool
    step: Decimal | None
    """The number that values are multiples of."""

    @classmethod
    def from_schema(cls, schema: Json) -> "Range":
        """Reads bounds as numbers of their own (OpenAPI 3.1) or as flags beside `minimum` and `maximum` (3.0)."""
        step = _number(schema.get("multipleOf"))
        low, is_above = _bound(schema, "minimum", "exclusiveMinimum", max)
        high, is_below = _bound(schema, "maximum", "exclusiveMaximum", min)
        return cls(low, is_above, high, is_below, step if step is not None and step > 0 else None)

    def has(self, value: Decimal) -> bool:
        """Whether a number lies within the bounds; whether it is a multiple is not asked."""
        is_low = self.low is not None and (value < self.low or (self.is_above_low and value == self.low))
        is_high = self.high is not None and (value > self.high or (self.is_below_high and value == self.high))
        return not is_low and not is_high

    def compute_multiples(self, step: Decimal) -> tuple[int, int]:
        """The least and the greatest factor of `step` within the bounds, WIDTH of them where one side is open."""
        least = None if self.low is None else int((self.low / step).to_integral_value(ROUND_CEILING))
        greatest = None if self.high is None else int((self.high / step).to_integral_value(ROUND_FLOOR))
        if least is not None and not self.has(least * step):
            least += 1
        if greatest is not None and not self.has(greatest * step):
            greatest -= 1
        if least is None:
            least = 1 if greatest is None or greatest >= 1 else greatest - RANGE_WIDTH + 1
        return least, least + RANGE_WIDTH - 1 if greatest is None else greatest


def _bound(schema: Json, key: str, exclusive: str, tighter: Any) -> tuple[Decimal | None, bool]:
    value, beyond = _number(schema.get(key)), _number(schema.get(exclusive))
    if beyond is None or (value is not None and tighter(value, beyond) == value != beyond):
        return value, schema.get(exclusive) is True
    return beyond, True


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return Decimal(str(max(-LARGEST_WHOLE, min(LARGEST_WHOLE, value))))


def _whole_step(schema: Json) -> tuple[Range, Decimal]:
    """Bounds of whole numbers, and the whole number that they are multiples of."""
    bounds = Range.from_schema(schema)
    step = bounds.step or Decimal(1)
    return bounds, step if step == step.to_integral_value() else Decimal(step.as_integer_ratio()[0])


def build_generator(schema: Json) -> Json | None:
    """How values of a schema are drawn; None where an example says it."""
    if "example" in schema or "examples" in schema or "const" in schema:
        return None
    values = [value for value in copy_list(schema.get("enum")) if value is not None]
    if values:
        return {"kind": "choice", "values": [format_plain(value) for value in values]}
    if find_kind(schema) != "integer":
        return None
    bounds, step = _whole_step(schema)
    least, greatest = bounds.compute_multiples(step)
    if step == 1:
        limit = max(-LARGEST_WHOLE, min(LARGEST_WHOLE, least))
        return {"kind": "uniform", "min": limit, "max": max(limit, min(LARGEST_WHOLE, greatest))}
    count = max(1, min(MOST_CHOICES, greatest - least + 1))
    return {"kind": "choice", "values": [str((least + number) * int(step)) for number in range(count)]}


def build_example(schema: Json, unfit: list[str], number: int = 0) -> Any:
    """A value that fits a schema, another for each `number` where there are several; patterns that it does not fit are
    added to `unfit`.
    """
    for key in ("const", "example", "default"):
        if key in schema and (number == 0 or key == "const"):
            return schema[key]
    known = [value for key in ("examples", "enum") for value in copy_list(schema.get(key)) if value is not None]
    if known:
        return known[number % len(known)]
    match find_kind(schema):
        case "object":
            return _object(schema, unfit)
        case "array":
            return _array(schema, unfit)
        case "integer":
            bounds, step = _whole_step(schema)
            return (bounds.compute_multiples(step)[0] + number) * int(step)
        case "number":
            return _fraction(schema, number)
        case "boolean":
            return number % 2 == 0
        case "null":
            return None
    return _text(schema, unfit, number)


def _object(schema: Json, unfit: list[str]) -> Json:
    properties = copy_table(schema.get("properties"))
    undeclared = [
        name for name in copy_list(schema.get("required")) if isinstance(name, str) and name not in properties
    ]
    known = {key: build_example(copy_table(part), unfit) for key, part in properties.items()}
    known |= dict.fromkeys(undeclared, SAMPLE_TERM)
    additional = copy_table(schema.get("additionalProperties"))
    for number in range(len(known), _count(schema, "minProperties", 0)):
        known[f"{SAMPLE_TERM}{number + 1}"] = build_example(additional, unfit)
    return known


def _array(schema: Json, unfit: list[str]) -> list[Any]:
    first = [build_example(copy_table(part), unfit) for part in copy_list(schema.get("prefixItems"))]
    least, most = _count(schema, "minItems", 0), _count(schema, "maxItems", MOST_ITEMS)
    items, is_unique = copy_table(schema.get("items")), schema.get("uniqueItems") is True
    wanted = min(most, max(least, len(first), 1))
    more = range(max(0, wanted - len(first)))
    return [*first, *(build_example(items, unfit, number if is_unique else 0) for number in more)][:wanted]


def _fraction(schema: Json, number: int) -> int | float:
    bounds = Range.from_schema(schema)
    if bounds.step is not None:
        return _plain_number((bounds.compute_multiples(bounds.step)[0] + number) * bounds.step)
    candidates = [Decimal(1 + number)] if bounds.low is None else [bounds.low + number, bounds.low + number + 1]
    if bounds.low is not None and bounds.high is not None:
        candidates += [bounds.low + (bounds.high - bounds.low) / (number + 2)]
    elif bounds.high is not None:
        candidates += [bounds.high - number, bounds.high - number - 1]
    return _plain_number(next(filter(bounds.has, candidates), candidates[0]))


def _plain_number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _count(schema: Json, key: str, usual: int) -> int:
    value = _number(schema.get(key))
    return usual if value is None else max(0, min(max(usual, MOST_ITEMS), int(value)))


def _text(schema: Json, unfit: list[str], number: int) -> str:
    least, most = (_number(schema.get(key)) for key in ("minLength", "maxLength"))
    shortest = 0 if least is None else max(0, min(LONGEST_TEXT, int(least)))
    longest = LONGEST_TEXT if most is None else max(0, min(LONGEST_TEXT, int(most)))
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        text = build_by_pattern(pattern, shortest, longest, number)
        unfit += [] if text is not None else [pattern[:LONGEST_PATTERN]]
        return SAMPLE_TERM if text is None else text
    known = FORMAT_SAMPLES.get(str(schema.get("format", "")))
    if known is not None and number == 0 and shortest <= len(known) <= longest:
        return known
    ending = str(number + 1) if number else ""
    return SAMPLE_TERM.ljust(shortest - len(ending), "e")[: max(0, longest - len(ending))] + ending[:longest]


class _Plain(Random):
    """Chooses letters and digits where it may, whichever order a set of letters has."""

    def choice(self, seq: Any) -> Any:
        """One of these, by the seed alone."""
        letters = sorted(seq) if all(isinstance(letter, str) for letter in seq) else seq
        return super().choice([letter for letter in letters if isinstance(letter, str) and letter.isalnum()] or letters)


@lru_cache(maxsize=1000)
def build_by_pattern(pattern: str, shortest: int = 0, longest: int = LONGEST_TEXT, number: int = 0) -> str | None:
    """A printable text that a regular expression describes, always the same; None where none is found, the pattern is
    not valid, or asks for too much.
    """
    counts = re.findall(r"\{[0-9,]{1,20}\}", pattern)
    repeats = math.prod(max(1, int(many)) for count in counts for many in re.findall(r"[0-9]+", count)[-1:])
    if len(pattern) > LONGEST_PATTERN or repeats > LONGEST_TEXT or "(?" in pattern:
        return None
    tried = 0
    for seed in range(1, MOST_TRIES + 1):
        try:
            with warnings.catch_warnings(action="ignore"):
                candidate = rstr.Rstr(_Plain(seed + MOST_TRIES * number)).xeger(pattern)
        except (re.error, ValueError, IndexError, KeyError, OverflowError, RecursionError):
            return None
        printable = (_printable(candidate, letter) for letter in (" ", "-"))
        for text in dict.fromkeys((candidate, *printable, candidate[:longest])):
            if text.isprintable() and shortest <= len(text) <= longest and _fits(pattern, text):
                return text
        tried += len(candidate)
        if tried > MOST_TRIED:
            break
    return None


def _printable(text: str, instead: str) -> str:
    return "".join(letter if letter.isprintable() else instead for letter in text)


def _fits(pattern: str, text: str) -> bool:
    """Whether a text matches, in a time that the pattern cannot blow up; True where it cannot be found out."""
    try:
        _matcher(pattern).validate_python(text)
    except ValidationError:
        return False
    except SchemaError:
        return True
    return True


@lru_cache(maxsize=100)
def _matcher(pattern: str) -> TypeAdapter[str]:
    return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])


def find_kind(schema: Json) -> str:
    """Returns the type of a schema: of several types the first that is not null, without a type as its other keywords
    imply.
    """
    kind = schema.get("type")
    if kind is None:
        kind = "object" if schema.get("properties") else "array" if "items" in schema else "string"
    return str(next((name for name in kind if name != "null"), "null") if isinstance(kind, list) else kind)
