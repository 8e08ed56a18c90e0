"""Reading an OpenAPI document that a stranger wrote: bounded in length, depth and size, its references followed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from loadstone.model.errors import UsageError

Json = dict[str, Any]

METHODS = ("get", "post", "put", "patch", "delete", "head")
"""Methods that a workload can have."""
OTHERS = ("options", "trace")
"""Methods that it cannot have."""
MOST_BYTES = 32 << 20
"""Longest document; the largest public ones have a third of it."""
MOST_VALUES = 2_000_000
"""Values a document may hold when the aliases of YAML are followed."""
DEEPEST = 100
"""Levels that they may be nested."""
MOST_PARTS = 20_000
"""Parts of schemas that are filled in, over the whole document; what comes later is left empty."""
LEVELS = 8
"""Levels of a schema that are filled in; what lies deeper is left out."""
FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
STEPS = 8
"""References that may follow one another."""


def table(node: Any) -> Json:
    """What should be a table; an empty one for anything else."""
    return {str(key): value for key, value in node.items()} if isinstance(node, dict) else {}


def listed(node: Any) -> list[Any]:
    """What should be a list; an empty one for anything else."""
    return node if isinstance(node, list) else []


class Document:
    """The document and its references."""

    def __init__(self, file: Path) -> None:
        """Raises UsageError for what is none."""
        self.file, self.content = file, _read(file)
        servers = listed(self.content.get("servers")) or [{}]
        self.base, self.target = _server(str(table(servers[0]).get("url", "")))
        self._parts = 0

    def operations(self) -> Iterator[tuple[str, str, Json]]:
        """Path, method and content of each; `parameters` are its own and those it shares, resolved."""
        for path, item in table(self.content["paths"]).items():
            shared = self.resolve(item)
            for method, operation in shared.items():
                if method in (*METHODS, *OTHERS) and isinstance(operation, dict):
                    content = table(operation)
                    given = [*listed(shared.get("parameters")), *listed(content.get("parameters"))]
                    resolved = {(str(one.get("name")), str(one.get("in"))): one for one in map(self.resolve, given)}
                    yield path, method, {**content, "parameters": list(resolved.values())}

    def resolve(self, node: Any) -> Json:
        """What a node means when it is a reference inside the document; raises UsageError for others."""
        found = node
        for _ in range(STEPS):
            reference = found.get("$ref") if isinstance(found, dict) else None
            if not isinstance(reference, str):
                return table(found)
            found = self._at(reference)
        raise UsageError(f"{self.file}: references lead round in a circle. Bundle it into one file.")

    def _at(self, reference: str) -> Any:
        found: Any = self.content
        for part in reference.removeprefix("#/").split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            found = table(found).get(key)
        if found is None:
            remedy = "Bundle it into one file."
            raise UsageError(f"{self.file}: `{reference[:200]}` leads nowhere in this document. {remedy}")
        return found

    def whole(self, node: Any, depth: int = 0) -> Json:
        """A schema with its references filled in, as deep as is of use."""
        self._parts += 1
        schema = self.resolve(node)
        if depth >= LEVELS or self._parts > MOST_PARTS:
            return {key: value for key, value in schema.items() if key in ("type", "example", "enum", "default")}
        for key in ("allOf", "oneOf", "anyOf"):
            for part in listed(schema.pop(key, None))[: None if key == "allOf" else 1]:
                other = self.whole(part, depth + 1)
                properties = {**table(other.get("properties")), **table(schema.get("properties"))}
                schema = {**other, **schema, "properties": properties}
        properties = table(schema.pop("properties", None))
        if properties:
            schema["properties"] = {key: self.whole(part, depth + 1) for key, part in properties.items()}
        if "items" in schema:
            schema["items"] = self.whole(schema["items"], depth + 1)
        return schema


def _server(url: str) -> tuple[str, str]:
    """What all paths begin with, and where the interface is."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", "http://HOST:PORT"
    base = "" if "{" in parts.path else parts.path.rstrip("/")
    return base, f"{parts.scheme}://{parts.netloc}" if parts.netloc and parts.scheme else "http://HOST:PORT"


def _read(file: Path) -> Json:
    try:
        size = file.stat().st_size
        if size > MOST_BYTES:
            raise UsageError(f"{file} has {size >> 20} MiB, more than {MOST_BYTES >> 20}. Leave out what is not tried.")
        text = file.read_text(encoding="utf-8")
        content = json.loads(text) if text.lstrip().startswith("{") else _yaml(file, text)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    except (ValueError, TypeError, yaml.YAMLError) as error:
        first, _, _ = str(error).partition("\n")
        raise UsageError(f"{file} is neither JSON nor YAML: {first[:200]}") from None
    except RecursionError:
        raise UsageError(f"{file} is nested too deeply.") from None
    if not isinstance(content, dict) or not str(content.get("openapi", "")).startswith("3."):
        raise UsageError(f"{file} is no OpenAPI document of version 3. Convert older ones first.")
    if not isinstance(content.get("paths"), dict):
        raise UsageError(f"{file} has no `paths`.")
    _refuse_endless(file, content)
    return content


def _yaml(file: Path, text: str) -> Any:
    """Its levels are counted first: the fast reader is written in C, and recursive."""
    depth = 0
    for event in yaml.parse(text, Loader=FAST):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise UsageError(f"{file} is nested too deeply: more than {DEEPEST} levels.")
    return yaml.load(text, Loader=FAST)


def _refuse_endless(file: Path, content: Json) -> None:
    """Aliases of YAML may make much of little, or hold themselves. Raises UsageError."""
    seen, left = 0, [(content, 0)]
    while left:
        node, depth = left.pop()
        seen += 1
        if depth > DEEPEST:
            raise UsageError(f"{file} is nested too deeply: more than {DEEPEST} levels.")
        if seen + len(left) > MOST_VALUES:
            raise UsageError(f"{file} holds more than {MOST_VALUES:,} values.")
        inner = node.values() if isinstance(node, dict) else listed(node)
        left.extend((one, depth + 1) for one in inner)
