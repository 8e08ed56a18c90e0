"""OpenAPI documents become workloads that load, with values where the document leaves room."""

import contextlib
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadstone.model.errors import UsageError
from loadstone.model.workload import Workload
from loadstone.model.workload.values import Choice, Uniform
from loadstone.workloads import load
from loadstone.workloads.importers.from_openapi import from_openapi
from loadstone.workloads.importers.imported import Imported

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "The stone yard", "version": "1"},
    "servers": [{"url": "https://stones.example/api/v2/"}],
    "paths": {
        "/stones/{stone_id}": {
            "parameters": [
                {"name": "stone_id", "in": "path", "required": True, "schema": {"type": "integer", "maximum": 50}}
            ],
            "get": {"operationId": "getStone", "responses": {"200": {}, "404": {}}},
            "delete": {"operationId": "dropStone", "responses": {"204": {}}},
            "options": {"responses": {"200": {}}},
        },
        "/stones": {
            "get": {
                "parameters": [
                    {"name": "kind", "in": "query", "required": True, "schema": {"$ref": "#/components/schemas/Kind"}},
                    {"name": "page", "in": "query", "schema": {"type": "integer"}},
                    {"name": "X-Yard", "in": "header", "required": True, "example": "north {1}"},
                ],
                "responses": {"200": {}},
            },
            "post": {
                "operationId": "add stone",
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Stone"}}}},
                "responses": {"201": {}},
            },
        },
    },
    "components": {
        "securitySchemes": {"key": {"type": "apiKey", "name": "k", "in": "header"}},
        "schemas": {
            "Kind": {"type": "string", "enum": ["granite", "basalt"]},
            "Stone": {
                "type": "object",
                "properties": {
                    "kind": {"$ref": "#/components/schemas/Kind"},
                    "tons": {"type": "number", "minimum": 2},
                    "parts": {"type": "array", "items": {"$ref": "#/components/schemas/Stone"}},
                },
            },
        },
    },
}


def imported(folder: Path, document: object = DOCUMENT, suffix: str = "json") -> tuple[Imported, Workload]:
    file = folder / f"api.{suffix}"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    made = from_openapi(file, "stones")
    (folder / "workload.toml").write_text(made.text)
    return made, load(str(folder))


def test_operations_paths_values_and_status(tmp_path: Path) -> None:
    made, workload = imported(tmp_path)
    assert made.target == "https://stones.example"
    assert set(workload.operations) == {"getStone", "dropStone", "get_stones", "add_stone"}
    assert workload.operations["getStone"].path == "/api/v2/stones/{stone_id}"
    assert workload.operations["dropStone"].method == "DELETE"
    assert workload.operations["dropStone"].status == (204,)
    assert workload.operations["get_stones"].query == {"kind": "{kind}"}
    assert workload.operations["get_stones"].headers == {"X-Yard": "north {{1}}"}
    stone, kind = workload.values["stone_id"], workload.values["kind"]
    assert isinstance(stone, Uniform)
    assert (stone.min, stone.max) == (1, 50)
    assert isinstance(kind, Choice)
    assert kind.values == ("granite", "basalt")


def test_bodies_are_made_from_schemas_however_they_refer_to_themselves(tmp_path: Path) -> None:
    _, workload = imported(tmp_path)
    body = json.loads((workload.operations["add_stone"].body or "").replace("{{", "{").replace("}}", "}"))
    assert body["kind"] == "granite"
    assert body["tons"] == 2
    assert body["parts"][0]["kind"] == "granite"
    assert workload.operations["add_stone"].headers == {"Content-Type": "application/json"}


def test_what_writes_comes_seldom_and_what_deletes_hardly_ever(tmp_path: Path) -> None:
    made, workload = imported(tmp_path)
    assert workload.mix.shares == {"getStone": 100, "dropStone": 1, "get_stones": 100, "add_stone": 10}
    assert any("dropStone" in what for what in made.doubts)


def of_schema(folder: Path, schema: object) -> tuple[Imported, Workload]:
    given = {"name": "code", "in": "query", "required": True, "schema": schema}
    paths = {"/a": {"get": {"parameters": [given], "responses": {"200": {}}}}}
    return imported(folder, {"openapi": "3.1.0", "paths": paths, "components": {"schemas": {"code": schema}}})


@pytest.mark.parametrize(
    "pattern", [r"^[A-Z]{3}-\d{4}$", r"^(red|blue)+$", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"]
)
def test_texts_follow_their_pattern(tmp_path: Path, pattern: str) -> None:
    made, workload = of_schema(tmp_path, {"type": "string", "pattern": pattern})
    assert re.fullmatch(pattern, workload.operations["get_a"].query["code"])
    assert not made.doubts


@pytest.mark.parametrize("pattern", ["(", "a{99999999}", "((a{99}){99}){99}", "^(?=.*x)y$", "x" * 300])
def test_a_pattern_that_asks_for_too_much_is_pointed_at(tmp_path: Path, pattern: str) -> None:
    made, workload = of_schema(tmp_path, {"type": "string", "pattern": pattern})
    assert workload.operations["get_a"].query == {"code": "granite"}
    assert any("must match" in what for what in made.doubts)


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    made, _ = imported(tmp_path)
    assert any("OPTIONS" in what for what in made.left_out)
    assert any("credentials" in what for what in made.left_out)


def test_yaml_is_read_too(tmp_path: Path) -> None:
    text = "openapi: 3.0.0\ninfo: {title: t, version: '1'}\npaths:\n  /a:\n    get:\n      responses: {'200': {}}\n"
    made, workload = imported(tmp_path, text, "yaml")
    assert (made.operations, made.target) == (1, "http://HOST:PORT")
    assert workload.operations["get_a"].path == "/a"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "neither JSON nor YAML"),
        ("a: [", "neither JSON nor YAML"),
        ('{"swagger": "2.0"}', "version 3"),
        ('{"openapi": "3.0.0"}', "no `paths`"),
        ('{"openapi": "3.0.0", "paths": {}}', "no operation"),
        ('{"openapi": "3.0.0", "paths": {"/a": {"$ref": "other.yaml"}}}', "leads nowhere"),
    ],
)
def test_what_is_no_document_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        imported(tmp_path, text)


SIX_OF_ITSELF = {
    "type": "object",
    "properties": {name: {"$ref": "#/components/schemas/code"} for name in ("a", "b", "c", "d", "e", "f")},
}
LAUGHS = "openapi: 3.0.0\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9) if level else 'ha'}]\n" for level in range(12)
)


def test_a_schema_that_holds_itself_many_times_takes_no_time(tmp_path: Path) -> None:
    began = time.process_time()
    of_schema(tmp_path, SIX_OF_ITSELF)
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS + "paths: {/a: {get: {responses: {}}}}\n", "holds more than"),
        ("openapi: 3.0.0\npaths: &p {/a: *p}\n", "nested too deeply|holds more than"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"openapi": "3.0.0", "paths": {"/a": {"$ref": "#/paths/~1a"}}}', "round in a circle"),
    ],
)
def test_endless_documents_are_refused_in_no_time(tmp_path: Path, text: str, said: str) -> None:
    began = time.process_time()
    with pytest.raises(UsageError, match=said):
        imported(tmp_path, text, "yaml")
    assert time.process_time() - began < 10


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from(
    [
        *("get", "delete", "parameters", "requestBody", "content", "application/json", "schema", "responses", "in"),
        *("name", "path", "required", "type", "enum", "minimum", "maximum", "pattern", "properties", "items", "allOf"),
        *("operationId", "examples", "example", "string", "integer", "object", "$ref", "#/paths", "/{a}", "/b", "200"),
    ]
)
TREES = st.recursive(
    SCALARS | KEYS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=30
)


@given(paths=st.dictionaries(KEYS, TREES, max_size=3), servers=TREES, components=TREES)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_a_document_of_any_shape_is_taken_or_refused(
    tmp_path: Path, paths: object, servers: object, components: object
) -> None:
    document = {"openapi": "3.0.0", "paths": paths, "servers": servers, "components": components}
    with contextlib.suppress(UsageError):
        imported(tmp_path, json.dumps(document))
