"""OpenAPI documents become workloads that load, with values where the document leaves room."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.errors import UsageError
from loadstone.model.workload import Choice, Uniform, Workload
from loadstone.workloads import load
from loadstone.workloads.from_openapi import from_openapi
from loadstone.workloads.writing import Imported

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
            "patch": {"responses": {"200": {}}},
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


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    made, _ = imported(tmp_path)
    assert any("PATCH" in what for what in made.left_out)
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
