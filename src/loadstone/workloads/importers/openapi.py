"""Reading an OpenAPI document that a stranger wrote: bounded in length, depth and size, its references followed."""

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import yaml
from referencing import Registry, Resource, Specification
from referencing.exceptions import Unresolvable

from loadstone.model.errors import UsageError
from loadstone.model.files import read_text

Json = dict[str, Any]

OPENAPI_METHODS = ("get", "post", "put", "patch", "delete", "head")
"""Methods that a workload can have."""
UNUSUAL_METHODS = ("options", "trace")
"""Methods that it cannot have."""
OPENAPI_MOST_BYTES = 32 << 20
"""Longest document; the largest public ones have a third of it."""
MOST_VALUES = 2_000_000
"""Values a document may hold when the aliases of YAML are followed."""
DEEPEST_SCHEMA = 100
"""Levels that they may be nested."""
MOST_PARTS = 200_000
"""Parts of schemas that are filled in, over the whole document; what comes later is left empty."""
MOST_PARTS_EACH = 2_000
"""Parts of schemas that are filled in for one parameter or body."""
REFERENCE_LEVELS = 8
"""Levels of a schema that are filled in; what lies deeper is left out."""
REPEATS = 2
"""How often a schema may stand inside itself."""
REFERENCE_STEPS = 8
"""References that may follow one another."""
COMPOSITE = ("properties", "items", "prefixItems", "allOf", "oneOf", "anyOf", "discriminator")
"""Keywords of a schema that hold other schemas, or choose among them."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads scalars by YAML 1.2's core schema, as OpenAPI asks: `no` and `12:30` are texts, and so are dates."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}


for _tag, _pattern, _letters in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9]*)|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?", list("-+.0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _letters)


def copy_table(node: Any) -> Json:
    """Returns a copy of a table, an empty table for anything else."""
    return dict(node) if isinstance(node, dict) else {}


def copy_list(node: Any) -> list[Any]:
    """Returns a list, an empty list for anything else."""
    return node if isinstance(node, list) else []


@dataclass(frozen=True)
class _Named:
    """Schemas by their anchors, and by their `$id`."""

    anchors: Json
    schemas: Json


class OpenApiDocument:
    """The document and its references."""

    def __init__(self, file: Path) -> None:
        """Raises UsageError when the file is not an OpenAPI document of version 3."""
        self.file, self.content = file, _read(file)
        resource: Resource[Any] = Specification.OPAQUE.create_resource(self.content)
        self._resolver = Registry[Any]().with_resource("", resource).resolver("")
        self._parts = 0
        self._parts_before = 0
        self._open: list[str] = []
        self.is_cut = False
        """Whether schemas had more parts than are filled in."""

    def list_operations(self) -> Iterator[tuple[str, str, Json]]:
        """Path, method and content of each; `parameters` and `servers` are those that hold for it, resolved."""
        for path, item in copy_table(self.content["paths"]).items():
            shared = self.resolve(item)
            for method, operation in shared.items():
                if method in (*OPENAPI_METHODS, *UNUSUAL_METHODS) and isinstance(operation, dict):
                    parameters = [*copy_list(shared.get("parameters")), *copy_list(operation.get("parameters"))]
                    resolved = {
                        (str(parameter.get("name")), str(parameter.get("in"))): parameter
                        for parameter in map(self.resolve, parameters)
                    }
                    places = (operation, shared, self.content)
                    servers = next(filter(None, (copy_list(place.get("servers")) for place in places)), [])
                    yield path, method, {**operation, "parameters": list(resolved.values()), "servers": servers}

    def resolve(self, node: Any) -> Json:
        """The table that a node or its reference stands for; keys beside a reference win. Raises UsageError for a
        reference that leads nowhere, out of the document, or in a circle.
        """
        siblings: Json = {}
        target = node
        for _ in range(REFERENCE_STEPS):
            reference = target.get("$ref") if isinstance(target, dict) else None
            if not isinstance(reference, str):
                return {**copy_table(target), **siblings}
            siblings = {**{key: value for key, value in target.items() if key != "$ref"}, **siblings}
            target = self._resolve_pointer(reference)
        remedy = "Let one of them contain a schema, a parameter or a body."
        raise UsageError(f"{self.file}: the reference `{str(reference)[:200]}` leads in a cycle. {remedy}")

    def _resolve_pointer(self, reference: str) -> Any:
        file, _, pointer = reference.partition("#")
        if file in ("", self.file.name, f"./{self.file.name}"):
            with contextlib.suppress(Unresolvable, ValueError, TypeError):
                return self._resolver.lookup(f"#{pointer}").contents
            if pointer in self._named.anchors:
                return self._named.anchors[pointer]
        bases = [base for name, base in self._named.schemas.items() if file == "" or _is_name(file, name)]
        nodes = [node for node in (_pointed(base, pointer) for base in bases) if node is not None]
        if nodes:
            return nodes[0]
        remedy = "Bundle it into one file."
        raise UsageError(f"{self.file}: `{reference[:200]}` has no target in this document. {remedy}")

    @cached_property
    def _named(self) -> "_Named":
        """Schemas that are referred to by a name of their own (JSON Schema 2020-12, section 8.2)."""
        named, seen, left = _Named({}, {}), set(), [self.content]
        while left:
            node: Any = left.pop()
            if id(node) in seen or not isinstance(node, dict | list):
                continue
            seen.add(id(node))
            if isinstance(node, dict):
                for key in ("$anchor", "$dynamicAnchor"):
                    if isinstance(node.get(key), str):
                        named.anchors.setdefault(node[key], node)
                if isinstance(node.get("$id"), str):
                    named.schemas.setdefault(node["$id"], node)
            left.extend(node.values() if isinstance(node, dict) else node)
        return named

    def expand(self, node: Any) -> Json:
        """A schema as it is sent, with its references filled in, as deep as is of use."""
        self._parts_before = self._parts
        return self._expand(node, 0, "") or {}

    def _expand(self, node: Any, depth: int, heir: str) -> Json | None:
        """A schema filled in, or None where it stands in itself too often; `heir` refers to the schema that inherits
        from it, if there is one.
        """
        reference = str(node.get("$ref", "")) if isinstance(node, dict) else ""
        if reference and self._open.count(reference) >= REPEATS:
            return None
        self._parts += 1
        is_too_much = self._parts > MOST_PARTS or self._parts - self._parts_before > MOST_PARTS_EACH
        self.is_cut |= is_too_much
        schema = self.resolve(node)
        if depth >= REFERENCE_LEVELS or is_too_much:
            return {key: value for key, value in schema.items() if key not in COMPOSITE}
        self._open.append(reference)
        try:
            schema = self._composed(schema, depth + 1, heir or reference, is_inherited=bool(heir))
            return self._with_members(schema, depth + 1)
        finally:
            self._open.pop()

    def _composed(self, schema: Json, depth: int, name: str, is_inherited: bool) -> Json:
        """A schema with those it is composed of, of alternatives the first; its discriminator names what was chosen."""
        kind = copy_table(schema.pop("discriminator", None))
        mapping = {key: _reference(str(mapped)) for key, mapped in copy_table(kind.get("mapping")).items()}
        kinds = [part for key in ("oneOf", "anyOf") for part in _first(schema.pop(key, None))]
        if kind and is_inherited:
            kinds = []
        elif kind and not kinds and mapping and name not in mapping.values():
            kinds = [{"$ref": next(iter(mapping.values()))}]
        parts = [*((part, name) for part in copy_list(schema.pop("allOf", None))), *((part, "") for part in kinds)]
        for part, heir in parts:
            schema = _merged(self._expand(part, depth, heir) or {}, schema)
        chosen = str(kinds[0].get("$ref", "")) if kinds else name
        if kind.get("propertyName") and chosen:
            named = (key for key, mapped in mapping.items() if mapped == chosen)
            value = next(named, unquote(chosen.rpartition("/")[2]))
            schema["properties"] = {**copy_table(schema.get("properties")), str(kind["propertyName"]): {"const": value}}
        return schema

    def _with_members(self, schema: Json, depth: int) -> Json:
        """A schema with its properties and items filled in, without those that only answers have."""
        properties = {
            key: self._expand(part, depth, "") for key, part in copy_table(schema.pop("properties", None)).items()
        }
        sent = {key: part for key, part in properties.items() if part is not None and part.get("readOnly") is not True}
        if sent:
            schema["properties"] = sent
        schema["required"] = [
            name for name in copy_list(schema.get("required")) if name in sent or name not in properties
        ]
        if "items" in schema:
            items = self._expand(schema.pop("items"), depth, "")
            schema |= {"minItems": 0, "maxItems": 0} if items is None else {"items": items}
        if isinstance(schema.get("additionalProperties"), dict) and "minProperties" in schema:
            schema["additionalProperties"] = self._expand(schema["additionalProperties"], depth, "") or {}
        if "prefixItems" in schema:
            schema["prefixItems"] = [self._expand(part, depth, "") or {} for part in copy_list(schema["prefixItems"])]
        return schema


def _is_name(file: str, name: str) -> bool:
    """Whether a reference means the schema with this `$id`: the same address, or the end of it."""
    return file == name or name.rpartition("/")[2] == file.removeprefix("./")


def _pointed(node: Any, pointer: str) -> Any:
    """What a pointer (RFC 6901) leads to; None where it leads nowhere."""
    for step in unquote(pointer).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        elif isinstance(node, dict) and key in node:
            node = node[key]
        else:
            return None
    return node


def _reference(mapped: str) -> str:
    """What a discriminator maps a value to: a reference, or the name of a schema."""
    return mapped if "/" in mapped or "#" in mapped else f"#/components/schemas/{mapped}"


def _first(parts: Any) -> list[Json]:
    """The first of several schemas that is not null alone."""
    tables = [part for part in copy_list(parts) if isinstance(part, dict)]
    return [part for part in tables if part.get("type") != "null"][:1]


def _merged(base: Json, schema: Json) -> Json:
    """Two schemas that both hold; what the second says itself wins."""
    properties = {**copy_table(base.get("properties")), **copy_table(schema.get("properties"))}
    required = [*copy_list(base.get("required")), *copy_list(schema.get("required"))]
    return {**base, **schema, "properties": properties, "required": required}


def _read(file: Path) -> Json:
    try:
        text = read_text(file, OPENAPI_MOST_BYTES)
        content = _json(file, text) if text.lstrip().startswith("{") else _yaml(file, text)
    except (ValueError, TypeError, yaml.YAMLError) as error:
        first, _, _ = str(error).partition("\n")
        raise UsageError(f"{file} is neither JSON nor YAML: {first[:200]}") from None
    except RecursionError:
        raise UsageError(f"{file} is nested too deeply.") from None
    if not isinstance(content, dict) or not re.match(r"3(\.|$)", str(content.get("openapi", ""))):
        raise UsageError(f"{file} is not an OpenAPI document of version 3{_instead(content)}.")
    if not isinstance(content.get("paths"), dict):
        raise UsageError(f"{file} has no `paths`.")
    _refuse_endless(file, content)
    return copy_table(_keyed(content, {}))


def _instead(content: Any) -> str:
    """What a document is that is none, for people."""
    known = copy_table(content)
    remedies = {"swagger": ". Convert it to version 3 first, as Swagger Editor does", "openapi": ""}
    remedies |= {"asyncapi": ", which describes messages and no requests", "item": ". Export it as OpenAPI"}
    remedies["log"] = ". Use `loadstone workloads from-har`"
    names = {"swagger": "Swagger", "openapi": "OpenAPI", "asyncapi": "AsyncAPI", "item": "a Postman collection"}
    names["log"] = "a recording (HAR)"
    for key in (key for key in names if key in known):
        version = f" {known[key]}" if isinstance(known[key], str | int | float) else ""
        return f", but {names[key]}{version}{remedies[key]}"
    return ": it is empty" if content is None else ": it has no key `openapi`"


def _json(file: Path, text: str) -> Any:
    """JSON, or YAML that begins as JSON does. Raises ValueError by what is wrong with the JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        with contextlib.suppress(ValueError, TypeError, yaml.YAMLError):
            return _yaml(file, text)
        raise error


def _yaml(file: Path, text: str) -> Any:
    """Its levels are counted first: the fast reader is written in C, and recursive."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST_SCHEMA:
            raise UsageError(f"{file} is nested too deeply: more than {DEEPEST_SCHEMA} levels.")
    return yaml.load(text, Loader=_Loader)


def _keyed(node: Any, done: dict[int, Any]) -> Any:
    """The same with texts as keys, which YAML does not ask for: `200:` is a number. Aliases stay shared."""
    if id(node) in done:
        return done[id(node)]
    if isinstance(node, dict):
        done[id(node)] = {str(key): _keyed(value, done) for key, value in node.items()}
    elif isinstance(node, list):
        done[id(node)] = [_keyed(value, done) for value in node]
    else:
        return node
    return done[id(node)]


def _refuse_endless(file: Path, content: Json) -> None:
    """Aliases of YAML may make much of little, or hold themselves. Raises UsageError."""
    seen, left = 0, [(content, 0)]
    while left:
        node, depth = left.pop()
        seen += 1
        if depth > DEEPEST_SCHEMA:
            raise UsageError(f"{file} is nested too deeply: more than {DEEPEST_SCHEMA} levels.")
        if seen + len(left) > MOST_VALUES:
            raise UsageError(f"{file} contains more than {MOST_VALUES:,} values.")
        inner = node.values() if isinstance(node, dict) else copy_list(node)
        left.extend((schema, depth + 1) for schema in inner)
