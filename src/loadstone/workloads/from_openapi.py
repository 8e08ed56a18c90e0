"""Importing an OpenAPI document (version 3, JSON or YAML) as a workload of one's own, to be edited.

Operations become operations; parameters and bodies are filled from the document's examples, and where there are none
from its schemas: numbers and choices as values that are drawn, texts as a word. All operations are equally frequent,
since the document does not say how often each is used.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import tomlkit
import yaml

from loadstone.model.errors import UsageError
from loadstone.workloads.writing import Imported, literal, table_of

Json = dict[str, Any]

METHODS = ("get", "post", "put", "delete", "head")
"""Methods that a workload can have."""
DEEPEST = 8
"""Levels of a schema that are filled in; what lies deeper is left out."""
WORD = "granite"
"""Stands for any text."""


@dataclass
class _Values:
    """The values that operations draw, by name; the same parameter is drawn in the same way everywhere."""

    made: dict[str, Json] = field(default_factory=dict)

    def draw(self, name: str, schema: Json) -> str:
        """A text for a parameter: an example, or a hole that a value of its own fills."""
        generator = _generator(schema)
        if generator is None:
            return literal(_plain(_example(schema)))
        base = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") or "value"
        base = base if base[0].isalpha() else f"v_{base}"
        number = 1
        while self.made.setdefault(key := base if number == 1 else f"{base}_{number}", generator) != generator:
            number += 1
        return f"{{{key}}}"


def from_openapi(file: Path, name: str) -> Imported:
    """Reads an OpenAPI document; raises UsageError when it is none or has no operation."""
    document = _Document(file, _read(file))
    operations: dict[str, tomlkit.items.Table] = {}
    left_out: list[str] = []
    values = _Values()
    for path, shared, method, operation in document.operations():
        if method not in METHODS:
            left_out.append(f"{method.upper()} {path}: no method of a workload")
            continue
        key = _name(operation.get("operationId") or f"{method}_{path}", operations)
        made, problem = _operation(document, path, method, {**operation, "parameters": shared}, values)
        operations[key] = made
        left_out.extend([f"{problem} of {key}"] if problem else [])
    if not operations:
        raise UsageError(f"{file} has no operation. Its `paths` must have at least one method each.")
    if document.content.get("security") or "securitySchemes" in document.content.get("components", {}):
        left_out.append("credentials: add them as headers of the operations")
    return Imported(_write(document, name, operations, values), document.target, len(operations), tuple(left_out))


class _Document:
    """The document and its references."""

    def __init__(self, file: Path, content: Json) -> None:
        self.file, self.content = file, content
        servers = content.get("servers") or [{}]
        url = str(servers[0].get("url", "")) if isinstance(servers[0], dict) else ""
        parts = urlsplit(url)
        self.base = "" if "{" in parts.path else parts.path.rstrip("/")
        self.target = f"{parts.scheme}://{parts.netloc}" if parts.netloc else "http://HOST:PORT"

    def operations(self) -> Iterator[tuple[str, list[Json], str, Json]]:
        """Path, parameters, method and content of each."""
        for path, item in self.content["paths"].items():
            item = self.resolve(item)
            for method, operation in item.items():
                if method in (*METHODS, "patch", "options", "trace") and isinstance(operation, dict):
                    given = [*item.get("parameters", []), *operation.get("parameters", [])]
                    resolved = {(one.get("name"), one.get("in")): one for one in map(self.resolve, given)}
                    yield str(path), list(resolved.values()), method, operation

    def resolve(self, node: Any, depth: int = 0) -> Json:
        """What a node means when it is a reference inside the document; raises UsageError for others."""
        reference = node.get("$ref") if isinstance(node, dict) else None
        if reference is None:
            return node if isinstance(node, dict) else {}
        found: Any = self.content
        for part in str(reference).removeprefix("#/").split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) else None
        if found is None or depth > DEEPEST:
            raise UsageError(f"{self.file}: `{reference}` leads nowhere in this document. Bundle it into one file.")
        return self.resolve(found, depth + 1)


def _read(file: Path) -> Json:
    try:
        text = file.read_text(encoding="utf-8")
        content = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    except (ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{file} is neither JSON nor YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict) or not str(content.get("openapi", "")).startswith("3."):
        raise UsageError(f"{file} is no OpenAPI document of version 3. Convert older ones first.")
    if not isinstance(content.get("paths"), dict):
        raise UsageError(f"{file} has no `paths`.")
    return content


def _name(wanted: str, taken: Mapping[str, Any]) -> str:
    base = re.sub(r"[^A-Za-z0-9]+", "_", wanted).strip("_") or "operation"
    base = base if base[0].isalpha() else f"op_{base}"
    number = 1
    while (name := base if number == 1 else f"{base}_{number}") in taken:
        number += 1
    return name


def _operation(
    document: _Document, path: str, method: str, operation: Json, values: _Values
) -> tuple[tomlkit.items.Table, str]:
    """An operation's table, and what of it could not be taken over."""
    table = table_of({"method": method.upper()} if method != "get" else {})
    path, query, headers = document.base + path, tomlkit.inline_table(), tomlkit.inline_table()
    for parameter in operation["parameters"]:
        key, where = str(parameter.get("name", "")), parameter.get("in")
        schema = (
            {"example": parameter["example"]} if "example" in parameter else _whole(document, parameter.get("schema"))
        )
        if where == "path":
            text = values.draw(key, schema)
            text = text if text == f"{{{text[1:-1]}}}" and text[1:-1] in values.made else quote(text, safe="{}")
            path = path.replace(f"{{{key}}}", text)
        elif where == "query" and parameter.get("required"):
            query[key] = values.draw(key, schema)
        elif where == "header" and parameter.get("required"):
            headers[key] = values.draw(key, schema)
    table["path"] = path
    if query:
        table["query"] = query
    problem = _add_body(document, operation, table, headers)
    if headers:
        table["headers"] = headers
    status = _status(operation)
    if status != [200]:
        table["status"] = status
    return table, problem


def _add_body(document: _Document, operation: Json, table: tomlkit.items.Table, headers: Json) -> str:
    contents = document.resolve(operation.get("requestBody")).get("content", {})
    if not contents:
        return ""
    kind = next((kind for kind in contents if "json" in kind), next(iter(contents)))
    media = contents[kind]
    schema = _whole(document, media.get("schema"))
    example = media["example"] if "example" in media else _example(schema)
    if "json" in kind:
        table["body"] = literal(json.dumps(example, ensure_ascii=True, default=str))
        headers["Content-Type"] = kind
    elif kind == "application/x-www-form-urlencoded" and isinstance(example, dict):
        table["form"] = {key: literal(_plain(value)) for key, value in example.items()}
    else:
        return f"the body ({kind})"
    return ""


def _status(operation: Json) -> list[int]:
    """The status codes that the document calls a success."""
    codes = [str(code) for code in operation.get("responses", {})]
    return sorted(int(code) for code in codes if code.isdigit() and 200 <= int(code) < 400) or [200]


def _whole(document: _Document, node: Any, depth: int = 0) -> Json:
    """A schema with its references filled in, as deep as is of use."""
    schema = dict(document.resolve(node))
    if depth >= DEEPEST:
        return {key: value for key, value in schema.items() if key in ("type", "example", "enum", "default")}
    for key in ("allOf", "oneOf", "anyOf"):
        for part in schema.pop(key, [])[: None if key == "allOf" else 1]:
            other = _whole(document, part, depth + 1)
            schema = {**other, **schema, "properties": {**other.get("properties", {}), **schema.get("properties", {})}}
    if schema.get("properties"):
        parts = schema["properties"].items()
        schema["properties"] = {key: _whole(document, part, depth + 1) for key, part in parts}
    if "items" in schema:
        schema["items"] = _whole(document, schema["items"], depth + 1)
    return schema


def _generator(schema: Json) -> Json | None:
    """How values of a schema are drawn; None where an example says it."""
    if "example" in schema or "examples" in schema:
        return None
    if schema.get("enum"):
        return {"kind": "choice", "values": [_plain(value) for value in schema["enum"]]}
    if _type(schema) == "integer":
        least = int(schema.get("minimum", 1))
        return {"kind": "uniform", "min": least, "max": max(least, int(schema.get("maximum", least + 999)))}
    return None


def _example(schema: Json) -> Any:
    """A value that fits a schema."""
    for key in ("example", "default", "const"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    match _type(schema):
        case "object":
            return {key: _example(part) for key, part in schema.get("properties", {}).items()}
        case "array":
            return [_example(schema.get("items", {}))]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
    known = {"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "email": "someone@example.org"}
    known["uuid"] = "00000000-0000-4000-8000-000000000001"
    word = known.get(schema.get("format", ""), WORD)
    return word.ljust(int(schema.get("minLength", 0)), "e")[: schema.get("maxLength")]


def _type(schema: Json) -> str:
    kind = schema.get("type", "object" if schema.get("properties") else "string")
    return str(next((one for one in kind if one != "null"), "null") if isinstance(kind, list) else kind)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    return ",".join(map(_plain, value)) if isinstance(value, list) else json.dumps(value, default=str)


def _write(document: _Document, name: str, operations: Mapping[str, Any], values: _Values) -> str:
    title = str(document.content.get("info", {}).get("title", name))
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
    limits = table_of({"good_s": 0.5, "tolerable_s": 2.0})
    limits.comment("what is good enough for you?")
    written["limits"] = limits
    if values.made:
        table = tomlkit.table()
        for key, generator in values.made.items():
            inline = tomlkit.inline_table()
            inline.update(generator)
            table[key] = inline
        written["values"] = table
    shares = tomlkit.inline_table()
    shares.update(dict.fromkeys(operations, 1))
    mix = table_of({"kind": "flat", "operations_per_session": 10})
    mix["shares"] = shares
    written["mix"] = mix
    below = tomlkit.table(is_super_table=True)
    below.update(operations)
    written["operations"] = below
    return tomlkit.dumps(written)
