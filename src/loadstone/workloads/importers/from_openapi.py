"""Importing an OpenAPI document (version 3, JSON or YAML) as a workload of one's own, to be edited.

Operations become operations; parameters and bodies are filled from the document's examples, and where there are none
from its schemas: numbers and choices as values that are drawn, texts as a word. The document does not say how often
each operation is used: what reads comes ten times as often as what writes, and what deletes a hundredth as often.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import tomlkit

from loadstone.model.errors import UsageError
from loadstone.model.target import encoded
from loadstone.workloads.importers.imported import Imported
from loadstone.workloads.importers.openapi import METHODS, Document, Json, table
from loadstone.workloads.importers.schema_values import example, generator, plain
from loadstone.workloads.writing import LONGEST_NAME, literal, name_of, table_of

SHARES = {"GET": 100, "HEAD": 100, "POST": 10, "PUT": 10, "PATCH": 10, "DELETE": 1}
"""How often operations are drawn, by method."""


@dataclass
class _Values:
    """The values that operations draw, by name; the same parameter is drawn in the same way everywhere."""

    made: dict[str, Json] = field(default_factory=dict)

    unfit: list[str] = field(default_factory=list)
    """Patterns that no value was made for."""

    def draw(self, name: str, schema: Json) -> tuple[str, bool]:
        """A text for a parameter: an example, or a hole that a value of its own fills; and whether it is one."""
        drawn = generator(schema)
        if drawn is None:
            return plain(example(schema, self.unfit)), False
        base = re.sub(r"[^A-Za-z0-9_]+", "_", name[:LONGEST_NAME]).strip("_") or "value"
        base = base if base[0].isalpha() else f"v_{base}"
        number = 1
        while self.made.setdefault(key := base if number == 1 else f"{base}_{number}", drawn) != drawn:
            number += 1
        return f"{{{key}}}", True

    def text(self, name: str, schema: Json) -> str:
        """For a query or a header."""
        text, is_hole = self.draw(name, schema)
        return text if is_hole else literal(text)


def from_openapi(file: Path, name: str) -> Imported:
    """Reads an OpenAPI document; raises UsageError when it is none or has no operation."""
    document = Document(file)
    operations: dict[str, tomlkit.items.Table] = {}
    left_out: list[str] = []
    values = _Values()
    for path, method, operation in document.operations():
        if not path.startswith("/"):
            left_out.append(f"{path[:200]}: paths begin with /")
            continue
        if method not in METHODS:
            left_out.append(f"{method.upper()} {path[:200]}: no method of a workload")
            continue
        key = _name(str(operation.get("operationId") or f"{method}_{path}"), operations)
        operations[key], problem = _operation(document, path, method, operation, values)
        left_out.extend([f"{problem} of {key}"] if problem else [])
    if not operations:
        raise UsageError(f"{file} has no operation. Its `paths` must have at least one method each.")
    if document.content.get("security") or "securitySchemes" in table(document.content.get("components")):
        left_out.append("credentials: add them as headers of the operations")
    unfit = dict.fromkeys(values.unfit)
    doubts = [f"a value must match {pattern!r}, and none was made: `granite` stands there" for pattern in unfit]
    shares = _shares(operations)
    deleting = [key for key, operation in operations.items() if operation.get("method") == "DELETE"]
    if deleting:
        doubts.append(f"what deletes, and may it? {', '.join(deleting)}"[:500])
    text = _write(document, name, operations, values, shares)
    return Imported(text, document.target, len(operations), tuple(left_out), tuple(doubts))


def _shares(operations: Mapping[str, tomlkit.items.Table]) -> dict[str, int]:
    return {key: SHARES[str(operation.get("method", "GET"))] for key, operation in operations.items()}


def _name(wanted: str, taken: Mapping[str, object]) -> str:
    base = name_of(wanted, "operation", "op")
    number = 1
    while (name := base if number == 1 else f"{base}_{number}") in taken:
        number += 1
    return name


def _operation(
    document: Document, path: str, method: str, operation: Json, values: _Values
) -> tuple[tomlkit.items.Table, str]:
    """An operation's table, and what of it could not be taken over."""
    made = table_of({"method": method.upper()} if method != "get" else {})
    query, headers = tomlkit.inline_table(), tomlkit.inline_table()
    pieces = re.split(r"(\{[^{}]*\})", document.base + path)
    for parameter in operation["parameters"]:
        key, where = str(parameter.get("name", "")), parameter.get("in")
        known = {"example": parameter["example"]} if "example" in parameter else None
        schema = known or document.whole(parameter.get("schema"))
        if where == "path":
            text, is_hole = values.draw(key, schema)
            text = text if is_hole else quote(text, safe="")
            pieces = [text if piece == f"{{{key}}}" else piece for piece in pieces]
        elif where == "query" and parameter.get("required"):
            query[key] = values.text(key, schema)
        elif where == "header" and parameter.get("required"):
            headers[key] = values.text(key, schema)
    made["path"] = "".join(_piece(piece, values) for piece in pieces)
    if query:
        made["query"] = query
    problem = _add_body(document, operation, made, headers, values)
    if headers:
        made["headers"] = headers
    status = _status(operation)
    if status != [200]:
        made["status"] = status
    return made, problem


def _piece(piece: str, values: _Values) -> str:
    """Of a path: a hole that is drawn, or what is sent as it stands."""
    if piece[1:-1] in values.made and piece == f"{{{piece[1:-1]}}}":
        return piece
    return literal(encoded(piece))


def _add_body(document: Document, operation: Json, made: tomlkit.items.Table, headers: Json, values: _Values) -> str:
    contents = table(document.resolve(operation.get("requestBody")).get("content"))
    if not contents:
        return ""
    kind = next((kind for kind in contents if "json" in kind), next(iter(contents)))
    media = table(contents[kind])
    schema = document.whole(media.get("schema"))
    sent = media["example"] if "example" in media else example(schema, values.unfit)
    if "json" in kind:
        made["body"] = literal(json.dumps(sent, ensure_ascii=True, default=str))
        headers["Content-Type"] = kind
    elif kind == "application/x-www-form-urlencoded" and isinstance(sent, dict):
        made["form"] = {str(key): literal(plain(value)) for key, value in sent.items()}
    else:
        return f"the body ({kind[:100]})"
    return ""


def _status(operation: Json) -> list[int]:
    """The status codes that the document calls a success."""
    codes = [code for code in table(operation.get("responses")) if re.fullmatch(r"[23][0-9][0-9]", code)]
    return sorted(map(int, codes)) or [200]


def _write(
    document: Document,
    name: str,
    operations: Mapping[str, tomlkit.items.Table],
    values: _Values,
    shares_of: Mapping[str, int],
) -> str:
    title = str(table(document.content.get("info")).get("title", name))[:200]
    written = tomlkit.document()
    written.add(
        tomlkit.comment("Imported from an OpenAPI document. It does not say how often each operation is used, nor in")
    )
    written.add(tomlkit.comment("what order: edit the mix, and the values, which must name things that exist."))
    written["workload"] = table_of(
        {"name": name, "title": title, "about": f"{len(operations)} operations, drawn at random."}
    )
    written["pacing"] = table_of({"kind": "think", "distribution": "exponential", "mean_s": 1.0, "cap_s": 15.0})
    written["connections"] = table_of({"parallel": 1})
    written["headers"] = table_of({"Accept-Encoding": "gzip"})
    limits = table_of({"good_s": 0.5, "tolerable_s": 2.0})
    limits.comment("what is good enough for you?")
    written["limits"] = limits
    if values.made:
        drawn = tomlkit.table()
        for key, how in values.made.items():
            inline = tomlkit.inline_table()
            inline.update(how)
            drawn[key] = inline
        written["values"] = drawn
    shares = tomlkit.inline_table()
    shares.update(shares_of)
    mix = table_of({"kind": "flat", "operations_per_session": 10})
    mix["shares"] = shares
    written["mix"] = mix
    below = tomlkit.table(is_super_table=True)
    below.update(operations)
    written["operations"] = below
    return tomlkit.dumps(written)
