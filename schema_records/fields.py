"""A property of a schema as a field of a record: its type in Python, its unit, its default."""

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]
"""A JSON schema, or a part of one."""

WIDTH = 120
SCALARS = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}
NANOSECONDS, SECONDS = "_ns", "_s"


@dataclass(frozen=True)
class RecordField:
    """One field of a record."""

    name: str
    annotation: str
    description: str = ""
    default: str = ""
    """Empty where the field is required."""

    def lines(self) -> Iterator[str]:
        """Its declaration, and its description below."""
        default = f" = {self.default}" if self.default else ""
        yield f"    {self.name}: {self.annotation}{default}"
        yield from docstring(self.description, "    ")


def docstring(text: str, indent: str) -> Iterator[str]:
    """A text as the lines of a docstring; none of an empty text."""
    words = " ".join(text.split())
    if not words:
        return
    first, *others = textwrap.wrap(f'"""{words}', WIDTH - len(indent))
    if not others and len(first) <= WIDTH - len(indent) - 3:
        yield f'{indent}{first}"""'
        return
    yield from (f"{indent}{line}" for line in (first, *others))
    yield f'{indent}"""'


def record_field(key: str, schema: Schema, definitions: Mapping[str, Schema], is_required: bool) -> RecordField:
    """The field of a property. Nanoseconds become seconds when a record is read; its name says so."""
    annotation = annotation_of(schema, definitions)
    name = key
    if key.endswith(NANOSECONDS):
        name = key.removesuffix(NANOSECONDS) + SECONDS
        annotation = f'Annotated[{_in_seconds(annotation)}, Field(alias="{key}")]'
    return RecordField(name, annotation, schema.get("description", ""), "" if is_required else "None")


def _in_seconds(annotation: str) -> str:
    return annotation.replace("int", "RecordedSeconds").replace("float", "RecordedSeconds")


def annotation_of(schema: Schema, definitions: Mapping[str, Schema]) -> str:
    """The type of a value in Python. Raises ValueError for a schema that no record here has."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return name if is_record(definitions[name]) else "str"
    if "anyOf" in schema:
        return " | ".join(annotation_of(part, definitions) for part in schema["anyOf"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(annotation_of({**schema, "type": each}, definitions) for each in kind)
    if kind == "array":
        return f"tuple[{_items(schema, definitions)}]"
    if kind == "object":
        return f"Mapping[str, {annotation_of(schema['additionalProperties'], definitions)}]"
    if kind == "null":
        return "None"
    if kind not in SCALARS:
        raise ValueError(f"a record cannot have a value of the schema {schema}")
    return SCALARS[kind]


def _items(schema: Schema, definitions: Mapping[str, Schema]) -> str:
    places = schema.get("prefixItems")
    if places is not None:
        return ", ".join(annotation_of(place, definitions) for place in places)
    return f"{annotation_of(schema['items'], definitions)}, ..."


def is_record(schema: Schema) -> bool:
    """Whether a definition is an object with fields of its own, rather than a text of a few."""
    return "properties" in schema
