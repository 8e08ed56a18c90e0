"""OpenAPI documents become workloads that load, with values where the document leaves room."""

import contextlib
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadstone.model.errors import UsageError
from loadstone.model.workload import Workload
from loadstone.model.workload.operation import Operation, list_pairs
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


ONE_PATH = {"/a": {"get": {"responses": {"200": {}}}}}


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
    assert re.fullmatch(pattern, dict(list_pairs(workload.operations["get_a"].query))["code"])
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


def test_each_way_to_authenticate_is_named_with_its_place(tmp_path: Path) -> None:
    schemes = {
        "key": {"type": "apiKey", "in": "query", "name": "api_key"},
        "jwt": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": "sid"},
        "client": {"type": "mutualTLS"},
    }
    made, _ = imported(tmp_path, {**DOCUMENT, "components": {"securitySchemes": schemes}, "paths": ONE_PATH})
    assert [what for what in made.left_out if "credentials" in what] == [
        "credentials of key: add `api_key` to the query of the operations",
        "credentials of jwt: add the header `Authorization` to the operations",
        "credentials of session: add the cookie `sid` to the headers of the operations",
        "credentials of client: add the certificate of a client with --cert and --key",
    ]


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
        ('{"openapi": "3.0.0", "paths": {"/a": {"$ref": "other.yaml"}}}', "has no target"),
    ],
)
def test_what_is_no_document_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        imported(tmp_path, text)


SIX_OF_ITSELF = {
    "type": "object",
    "properties": {name: {"$ref": "#/components/schemas/code"} for name in ("a", "b", "c", "d", "e", "f")},
}
CIRCLE = '{"openapi": "3.0.0", "paths": {"/a": {"$ref": "#/paths/~1a"}}}'
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
        pytest.param(LAUGHS + "paths: {/a: {get: {responses: {}}}}\n", "contains more than", id="aliases of aliases"),
        pytest.param("openapi: 3.0.0\npaths: &p {/a: *p}\n", "nested too deeply|contains more than", id="itself"),
        pytest.param("[" * 100_000, "nested too deeply", id="lists"),
        pytest.param('{"a":' * 100_000, "nested too deeply", id="objects"),
        pytest.param(CIRCLE, "leads in a cycle", id="circle"),
    ],
)
def test_endless_documents_are_refused_in_no_time(tmp_path: Path, text: str, said: str) -> None:
    began = time.process_time()
    with pytest.raises(UsageError, match=said):
        imported(tmp_path, text, "yaml")
    assert time.process_time() - began < 10


# Servers


def served(folder: Path, *, root: object = None, path: object = None, operation: object = None) -> tuple[str, Imported]:
    """The path of the only operation, whose servers stand in these places."""
    given = {"operationId": "items", "responses": {"200": {}}, **({"servers": operation} if operation else {})}
    item = {"get": given, **({"servers": path} if path else {})}
    document = {"openapi": "3.0.3", "paths": {"/items": item}, **({"servers": root} if root else {})}
    made, workload = imported(folder, document)
    return workload.operations["items"].path, made


def variables(**defaults: object) -> dict[str, object]:
    return {name: {"default": default} for name, default in defaults.items()}


@pytest.mark.parametrize(
    ("server", "path", "target"),
    [
        ({"url": "https://a.example/{v}", "variables": variables(v="v2")}, "/v2/items", "https://a.example"),
        (
            {"url": "{s}://{h}:{p}/api/v3", "variables": variables(s="https", h="a.example", p=8443)},
            "/api/v3/items",
            "https://a.example:8443",
        ),
        ({"url": "https://a.example{b}", "variables": variables(b="/v1")}, "/v1/items", "https://a.example"),
        ({"url": "https://a.example/{b}", "variables": variables(b="/v1/")}, "/v1/items", "https://a.example"),
        (
            {"url": "https://{r}.a.example/", "variables": {"r": {"enum": ["eu", "us"]}}},
            "/items",
            "https://eu.a.example",
        ),
        ({"url": "api/v1"}, "/api/v1/items", "http://HOST:PORT"),
        ({"url": "./api/v1/"}, "/api/v1/items", "http://HOST:PORT"),
        ({"url": "../v1"}, "/v1/items", "http://HOST:PORT"),
        ({"url": "/api//v1/"}, "/api/v1/items", "http://HOST:PORT"),
        ({"url": "/"}, "/items", "http://HOST:PORT"),
        ({"url": "//a.example/v1"}, "/v1/items", "http://a.example"),
        ({"url": "localhost:8080/v1"}, "/v1/items", "http://localhost:8080"),
        ({"url": "https://user:pass@a.example/a b"}, "/a%20b/items", "https://a.example"),
        ({"url": "https://[::1]:8080/v1"}, "/v1/items", "https://[::1]:8080"),
        ({"url": "https://[::1"}, "/items", "http://HOST:PORT"),
    ],
)
def test_a_servers_address_gives_the_target_and_what_paths_begin_with(
    tmp_path: Path, server: object, path: str, target: str
) -> None:
    taken, made = served(tmp_path, root=[server, {"url": "https://other.example/v9"}])
    assert (taken, made.target) == (path, target)


def test_the_servers_nearest_to_an_operation_hold(tmp_path: Path) -> None:
    root, path, own = ([{"url": f"https://{name}.example/{name}"}] for name in ("root", "path", "own"))
    assert served(tmp_path, root=root)[0] == "/root/items"
    assert served(tmp_path, root=root, path=path)[0] == "/path/items"
    taken, made = served(tmp_path, root=root, path=path, operation=own)
    assert (taken, made.target) == ("/own/items", "https://own.example")


def test_operations_that_are_served_elsewhere_and_variables_without_a_value_are_pointed_at(tmp_path: Path) -> None:
    ok = {"responses": {"200": {}}}
    other = {**ok, "operationId": "upload", "servers": [{"url": "https://files.example/{tenant}"}]}
    paths = {"/a": {"get": ok, "put": ok}, "/b": {"post": other}}
    made, workload = imported(tmp_path, {"openapi": "3.0.0", "servers": [{"url": "https://a.example"}], "paths": paths})
    assert made.target == "https://a.example"
    assert workload.operations["upload"].path == "/tenant/b"
    assert "served by https://files.example instead of https://a.example: upload" in made.doubts
    assert any("`{tenant}` of a server's address has no default" in doubt for doubt in made.doubts)


# Answers

EVERY_SUCCESS = (200, 201, 202, 203, 204, 205, 206, 207, 208, 226)


@pytest.mark.parametrize(
    ("responses", "status"),
    [
        ({"2XX": {}}, EVERY_SUCCESS),
        ({"2xx": {}, "4XX": {}}, EVERY_SUCCESS),
        ({"default": {}}, EVERY_SUCCESS),
        ({"404": {}, "default": {}}, EVERY_SUCCESS),
        ({"404": {}}, EVERY_SUCCESS),
        ({"201": {}, "default": {}}, (201,)),
        ({"204": {}, "302": {}}, (204, 302)),
        ({"3XX": {}}, (300, 301, 302, 303, 304, 307, 308)),
        ({"200": {}, "500": {}}, None),
        ({}, None),
    ],
)
def test_the_answers_that_a_document_calls_a_success_are_accepted(
    tmp_path: Path, responses: object, status: tuple[int, ...] | None
) -> None:
    document = {"openapi": "3.0.0", "paths": {"/a": {"post": {"operationId": "a", "responses": responses}}}}
    assert imported(tmp_path, document)[1].operations["a"].status == status


# References


def sent_by(folder: Path, operation: object, **more: object) -> Operation:
    """The only operation of a document with these parts."""
    document = {"openapi": "3.1.0", "paths": {"/a": {"post": {"operationId": "a", **operation}}}, **more}  # type: ignore[dict-item]
    return imported(folder, document)[1].operations["a"]


def body_of(operation: Operation) -> Any:
    return json.loads((operation.body or "").replace("{{", "{").replace("}}", "}"))


@pytest.mark.parametrize(
    "reference",
    [
        "#/components/schemas/a~1b",
        "#/components/schemas/%7Bx%7D",
        "#/components/schemas/with%20blank",
        "#/components/schemas/%24dollar",
        "#/components/schemas/list/allOf/0",
        "#/components/schemas/list/allOf/1/properties/inner",
        "#/paths/~1a/post/x-parts/1",
        "api.json#/components/schemas/a~1b",
        "./api.json#/components/schemas/a~1b",
    ],
)
def test_references_are_followed_however_they_are_escaped_and_into_lists(tmp_path: Path, reference: str) -> None:
    good = {"type": "string", "example": "gneiss"}
    listed = {"allOf": [good, {"properties": {"inner": good}}]}
    schemas = {"a/b": good, "{x}": good, "with blank": good, "$dollar": good, "list": listed}
    operation = {
        "x-parts": [{}, good],
        "requestBody": {"content": {"application/json": {"schema": {"$ref": reference}}}},
        "responses": {"200": {}},
    }
    assert body_of(sent_by(tmp_path, operation, components={"schemas": schemas})) == "gneiss"


@pytest.mark.parametrize(
    "reference", ["#/components/none", "#/paths/~1a/post/x/7", "#/openapi/x", "#anchor", "b.json#/x"]
)
def test_a_reference_that_leads_nowhere_is_named(tmp_path: Path, reference: str) -> None:
    content = {"application/json": {"schema": {"$ref": reference}}}
    with pytest.raises(UsageError, match=f"`{re.escape(reference)}` has no target"):
        sent_by(tmp_path, {"x": [], "requestBody": {"content": content}, "responses": {}})


def test_what_stands_beside_a_reference_holds_too(tmp_path: Path) -> None:
    properties = {
        "id": {"$ref": "#/components/schemas/Id", "readOnly": True},
        "kind": {"$ref": "#/components/schemas/Id"},
    }
    content = {"application/json": {"schema": {"type": "object", "properties": properties}}}
    schemas = {"Id": {"type": "string", "example": "17"}}
    sent = sent_by(tmp_path, {"requestBody": {"content": content}, "responses": {}}, components={"schemas": schemas})
    assert body_of(sent) == {"kind": "17"}


def test_keys_of_yaml_may_be_numbers_and_its_values_are_as_they_are_written(tmp_path: Path) -> None:
    text = """openapi: 3.0.0
paths:
  /a:
    post:
      operationId: a
      requestBody:
        content:
          application/json:
            schema: { $ref: '#/paths/~1a/post/responses/201/x-schema' }
      responses:
        201:
          x-schema:
            type: object
            properties:
              at: { example: 2026-01-31T12:00:00Z }
              day: { example: 2026-01-31 }
              time: { example: 12:30 }
              answer: { example: no }
              code: { example: 007 }
              count: { example: 7 }
              share: { example: 1.5 }
              right: { example: true }
"""
    sent = imported(tmp_path, text, "yaml")[1].operations["a"]
    assert sent.status == (201,)
    assert body_of(sent) == {
        "at": "2026-01-31T12:00:00Z",
        "day": "2026-01-31",
        "time": "12:30",
        "answer": "no",
        "code": "007",
        "count": 7,
        "share": 1.5,
        "right": True,
    }


# Parameters


def with_parameters(folder: Path, *parameters: dict[str, Any], path: str = "/a") -> Operation:
    given = [{"required": True, **parameter} for parameter in parameters]
    item = {"get": {"operationId": "a", "parameters": given, "responses": {"200": {}}}}
    return imported(folder, {"openapi": "3.1.0", "paths": {path: item}})[1].operations["a"]


@pytest.mark.parametrize(
    ("style", "value", "path"),
    [
        ({}, [3, 4], "/a?ids=3&ids=4"),
        ({"explode": False}, ["a b", "c,d"], "/a?ids=a%20b,c%2Cd"),
        ({"style": "spaceDelimited"}, [3, 4], "/a?ids=3%204"),
        ({"style": "pipeDelimited"}, [3, 4], "/a?ids=3%7C4"),
        ({"style": "pipeDelimited", "explode": True}, [3, 4], "/a?ids=3&ids=4"),
        ({}, {"r": 1, "g": "x&y"}, "/a?r=1&g=x%26y"),
        ({"explode": False}, {"r": 1, "g": 2}, "/a?ids=r,1,g,2"),
        (
            {"style": "deepObject", "explode": True},
            {"r": 1, "g": {"b": [2, 3]}},
            "/a?ids%5Br%5D=1&ids%5Bg%5D%5Bb%5D=2&ids%5Bg%5D%5Bb%5D=3",
        ),
        ({"allowReserved": True}, "a/b?c#d", "/a?ids=a/b?c%23d"),
        ({}, "two\nlines", "/a?ids=two%0Alines"),
        ({}, [{"a": True}], "/a?ids=%7B%22a%22%3A%20true%7D"),
    ],
)
def test_a_parameter_of_the_query_is_written_as_its_style_says(
    tmp_path: Path, style: dict[str, Any], value: object, path: str
) -> None:
    sent = with_parameters(tmp_path, {"name": "ids", "in": "query", "example": value, **style})
    assert (sent.path, sent.query) == (path, {})


@pytest.mark.parametrize(
    ("style", "value", "path"),
    [
        ({}, [3, 4], "/a/3,4"),
        ({}, {"r": 1, "g": 2}, "/a/r,1,g,2"),
        ({"explode": True}, {"r": 1, "g": 2}, "/a/r=1,g=2"),
        ({"style": "label"}, "x", "/a/.x"),
        ({"style": "label"}, [3, 4], "/a/.3,4"),
        ({"style": "label", "explode": True}, [3, 4], "/a/.3.4"),
        ({"style": "matrix"}, "x", "/a/;id=x"),
        ({"style": "matrix"}, [3, 4], "/a/;id=3,4"),
        ({"style": "matrix", "explode": True}, [3, 4], "/a/;id=3;id=4"),
        ({"style": "matrix", "explode": True}, {"r": 1, "g": 2}, "/a/;r=1;g=2"),
        ({}, "a/b?c {d}", "/a/a%2Fb%3Fc%20%7Bd%7D"),
    ],
)
def test_a_parameter_of_the_path_is_written_as_its_style_says(
    tmp_path: Path, style: dict[str, Any], value: object, path: str
) -> None:
    assert (
        with_parameters(tmp_path, {"name": "id", "in": "path", "example": value, **style}, path="/a/{id}").path == path
    )


def test_drawn_values_stand_in_paths_of_every_style_and_beside_lists(tmp_path: Path) -> None:
    number = {"type": "integer"}
    sent = with_parameters(
        tmp_path,
        {"name": "id", "in": "path", "schema": number, "style": "matrix"},
        {"name": "page", "in": "query", "schema": number},
        {"name": "ids", "in": "query", "example": [3, 4]},
        path="/a/{id}",
    )
    assert (sent.path, sent.query) == ("/a/;id={id}?ids=3&ids=4", {"page": "{page}"})


def test_required_cookies_and_headers_are_sent(tmp_path: Path) -> None:
    sent = with_parameters(
        tmp_path,
        {"name": "debug", "in": "cookie", "example": "1"},
        {"name": "shop", "in": "cookie", "example": "a;b {c}"},
        {"name": "hint", "in": "cookie", "example": "no", "required": False},
        {"name": "X-Ids", "in": "header", "example": [3, 4]},
        {"name": "X-Text", "in": "header", "example": "two\r\nlines"},
        {"name": "Authorization", "in": "header", "example": "never a parameter"},
    )
    assert sent.headers == {"Cookie": "debug=1; shop=a%3Bb%20%7Bc%7D", "X-Ids": "3,4", "X-Text": "two  lines"}


def test_examples_by_name_are_taken_where_they_stand(tmp_path: Path) -> None:
    named = {"first": {"$ref": "#/components/examples/colour"}, "second": {"value": "blue"}}
    parameters = [
        {"name": "tag", "in": "query", "required": True, "schema": {"type": "string"}, "examples": named},
        {
            "name": "far",
            "in": "query",
            "required": True,
            "schema": {"default": "near"},
            "examples": {"a": {"externalValue": "x"}},
        },
        {
            "name": "q",
            "in": "query",
            "required": True,
            "content": {"application/json": {"examples": {"a": {"value": {"b": 1}}}}},
        },
    ]
    media = {"schema": {"type": "object"}, "examples": {"good": {"value": {"sku": "K-9"}}}}
    operation = {"parameters": parameters, "requestBody": {"content": {"application/json": media}}, "responses": {}}
    sent = sent_by(tmp_path, operation, components={"examples": {"colour": {"value": "red"}}})
    assert sent.query == {"tag": "red", "far": "near", "q": '{{"b": 1}}'}
    assert body_of(sent) == {"sku": "K-9"}


def test_a_parameter_that_is_not_declared_is_a_value_to_be_edited(tmp_path: Path) -> None:
    item = {"get": {"operationId": "a", "responses": {"200": {}}}}
    made, workload = imported(tmp_path, {"openapi": "3.0.0", "paths": {"/a/{id}/b/{id}": item}})
    assert workload.operations["a"].path == "/a/{id}/b/{id}"
    assert workload.values["id"] == Choice(kind="choice", values=("1",))
    assert any("`{id}` of /a/{id}/b/{id} is not declared" in doubt for doubt in made.doubts)


def test_a_fragment_of_a_path_is_never_sent(tmp_path: Path) -> None:
    item = {"post": {"operationId": "a", "responses": {"200": {}}}}
    assert imported(tmp_path, {"openapi": "3.0.0", "paths": {"/#Action=List": item}})[1].operations["a"].path == "/"


# Bodies


def body_from(folder: Path, schema: object, **schemas: object) -> Any:
    content = {"application/json": {"schema": schema}}
    return body_of(
        sent_by(folder, {"requestBody": {"content": content}, "responses": {}}, components={"schemas": schemas})
    )


def referring(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


CAT = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}, "lives": {"example": 9}}}
DOG = {"type": "object", "properties": {"bark": {"type": "boolean"}}}


@pytest.mark.parametrize(
    ("discriminator", "kind"),
    [
        ({"propertyName": "kind"}, "Cat"),
        ({"propertyName": "kind", "mapping": {"dog": "Dog", "cat": "Cat"}}, "cat"),
        (
            {"propertyName": "kind", "mapping": {"dog": "#/components/schemas/Dog", "c": "#/components/schemas/Cat"}},
            "c",
        ),
    ],
)
def test_a_discriminator_names_the_kind_that_is_sent(tmp_path: Path, discriminator: object, kind: str) -> None:
    for key in ("oneOf", "anyOf"):
        pet = {key: [{"type": "null"}, referring("Cat"), referring("Dog")], "discriminator": discriminator}
        assert body_from(tmp_path, referring("Pet"), Pet=pet, Cat=CAT, Dog=DOG) == {"kind": kind, "lives": 9}


def test_a_discriminator_of_a_base_names_the_schema_that_inherits_from_it(tmp_path: Path) -> None:
    mapping = {"dog": "#/components/schemas/Dog", "cat": "#/components/schemas/Cat"}
    base = {
        "type": "object",
        "properties": {"kind": {"type": "string"}, "name": {"example": "ann"}},
        "discriminator": {"propertyName": "kind", "mapping": mapping},
    }
    cat = {"allOf": [referring("Pet"), {"properties": {"lives": {"example": 9}}}]}
    dog = {"allOf": [referring("Pet"), DOG]}
    schemas = {"Pet": base, "Cat": cat, "Dog": dog}
    assert body_from(tmp_path, referring("Cat"), **schemas) == {"kind": "cat", "name": "ann", "lives": 9}
    assert body_from(tmp_path, referring("Pet"), **schemas) == {"kind": "dog", "name": "ann", "bark": True}
    del base["discriminator"]["mapping"]  # type: ignore[attr-defined]
    assert body_from(tmp_path, referring("Cat"), **schemas)["kind"] == "Cat"


def test_what_only_answers_have_is_not_sent(tmp_path: Path) -> None:
    only = {"type": "string", "readOnly": True}
    inner = {"type": "object", "properties": {"id": only, "name": {"example": "x"}}}
    schema = {
        "allOf": [{"type": "object", "required": ["id", "name"], "properties": {"id": only}}],
        "properties": {"name": {"example": "ann"}, "secret": {"example": "s", "writeOnly": True}, "inner": inner},
    }
    assert body_from(tmp_path, schema) == {"name": "ann", "secret": "s", "inner": {"name": "x"}}


def test_a_schema_that_holds_itself_ends_soon(tmp_path: Path) -> None:
    node = {
        "properties": {
            "name": {"example": "n"},
            "next": referring("Node"),
            "all": {"type": "array", "items": referring("Node")},
        }
    }
    sent = body_from(tmp_path, referring("Node"), Node=node)
    assert sent == {"name": "n", "next": {"name": "n", "all": []}, "all": [{"name": "n", "all": []}]}


def test_a_table_has_as_many_properties_as_it_must(tmp_path: Path) -> None:
    other = {"type": "object", "minProperties": 2, "additionalProperties": referring("Number")}
    assert body_from(tmp_path, other, Number={"type": "integer", "minimum": 7}) == {"granite1": 7, "granite2": 7}


def test_a_value_is_never_called_as_the_target_is(tmp_path: Path) -> None:
    sent = with_parameters(tmp_path, {"name": "target", "in": "header", "schema": {"type": "integer"}})
    assert sent.headers == {"target": "{v_target}"}


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not an ordinary file"):
        from_openapi(tmp_path / "pipe", "stones")


@pytest.mark.parametrize(
    ("kind", "media", "body", "content_type"),
    [
        ("application/merge-patch+json", {"example": {"a": 1}}, '{{"a": 1}}', "application/merge-patch+json"),
        ("*/*", {"example": {"a": 1}}, '{{"a": 1}}', "application/json"),
        ("application/json; charset=utf-8", {"example": '{"a":1}'}, '{{"a":1}}', "application/json; charset=utf-8"),
        ("application/json", {"example": "text", "schema": {"type": "string"}}, '"text"', "application/json"),
        ("application/xml", {"example": "<a/>"}, "<a/>", "application/xml"),
        ("text/plain", {"schema": {"type": "string"}}, "granite", "text/plain"),
        (
            "application/x-www-form-urlencoded",
            {"example": {"ids": [3, 4], "q": "a b"}},
            "ids=3&ids=4&q=a%20b",
            "application/x-www-form-urlencoded",
        ),
        (
            "application/x-www-form-urlencoded",
            {"example": {"ids": [3, 4]}, "encoding": {"ids": {"explode": False}}},
            "ids=3,4",
            "application/x-www-form-urlencoded",
        ),
    ],
)
def test_bodies_are_sent_as_their_kind_says(
    tmp_path: Path, kind: str, media: object, body: str, content_type: str
) -> None:
    sent = sent_by(tmp_path, {"requestBody": {"content": {kind: media}}, "responses": {}})
    assert (sent.body, sent.headers["Content-Type"]) == (body, content_type)


def test_forms_have_fields_and_files(tmp_path: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"title": {"example": "a"}, "image": {"type": "string", "format": "binary"}},
    }
    sent = sent_by(tmp_path, {"requestBody": {"content": {"multipart/form-data": {"schema": schema}}}, "responses": {}})
    assert (sent.form, list(sent.uploads)) == ({"title": "a"}, ["image"])
    form = {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"example": "x"}}}}}
    assert sent_by(tmp_path, {"requestBody": {"content": form}, "responses": {}}).form == {"a": "x"}


def test_a_get_has_no_form_and_says_so(tmp_path: Path) -> None:
    form = {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {"a": {"example": "x"}}}}}
    item = {"get": {"operationId": "a", "requestBody": {"content": form}, "responses": {"200": {}}}}
    made, workload = imported(tmp_path, {"openapi": "3.0.0", "paths": {"/a": item}})
    assert workload.operations["a"].form == {}
    assert "the body (application/x-www-form-urlencoded) of a" in made.left_out


def test_an_operation_that_could_not_be_loaded_is_left_out_with_its_reason(tmp_path: Path) -> None:
    ok = {"responses": {"200": {}}}
    bad = {**ok, "parameters": [{"name": "no header", "in": "header", "required": True, "example": "x"}]}
    made, workload = imported(tmp_path, {"openapi": "3.0.0", "paths": {"/a": {"get": ok}, "/b": {"get": bad}}})
    assert (set(workload.operations), made.operations) == ({"get_a"}, 1)
    assert any(what.startswith("get_b: `no header`") for what in made.left_out)
    with pytest.raises(UsageError, match="cannot be imported: operations"):
        imported(tmp_path, {"openapi": "3.0.0", "paths": {"/b": {"get": bad}}})


# Values


@pytest.mark.parametrize(
    ("schema", "least", "greatest"),
    [
        ({"minimum": -40, "maximum": -10}, -40, -10),
        ({"maximum": -10}, -1009, -10),
        ({"maximum": 50}, 1, 50),
        ({"minimum": 5}, 5, 1004),
        ({"minimum": 0}, 0, 999),
        ({"exclusiveMinimum": 0}, 1, 1000),
        ({"exclusiveMinimum": -5, "exclusiveMaximum": 5}, -4, 4),
        ({"minimum": 5, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": True}, 6, 8),
        ({"minimum": 5, "exclusiveMinimum": False}, 5, 1004),
        ({"minimum": 5, "exclusiveMinimum": 2}, 5, 1004),
        ({"minimum": 0.5, "maximum": 3.5}, 1, 3),
        ({"maximum": 10**30}, 1, 2**63 - 1),
    ],
)
def test_whole_numbers_are_drawn_within_their_bounds(
    tmp_path: Path, schema: dict[str, Any], least: int, greatest: int
) -> None:
    value = of_schema(tmp_path, {"type": "integer", **schema})[1].values["code"]
    assert isinstance(value, Uniform)
    assert (value.min, value.max) == (least, greatest)


def test_multiples_are_drawn_as_choices(tmp_path: Path) -> None:
    value = of_schema(tmp_path, {"type": "integer", "multipleOf": 10, "minimum": -25, "maximum": 20})[1].values["code"]
    assert value == Choice(kind="choice", values=("-20", "-10", "0", "10", "20"))
    many = of_schema(tmp_path, {"type": "integer", "multipleOf": 2.5})[1].values["code"]
    assert isinstance(many, Choice)
    assert many.values[:2] == ("5", "10")


BOUNDS = st.integers(-50, 50) | st.floats(-5, 5).map(lambda number: round(number, 3))


@st.composite
def bounded(draw: st.DrawFn) -> dict[str, Any]:
    """A schema of a number that some number fits."""
    low, high = sorted((draw(BOUNDS), draw(BOUNDS)))
    schema: dict[str, Any] = {"type": draw(st.sampled_from(["integer", "number"]))}
    schema |= draw(st.sampled_from([{}, {"minimum": low}, {"exclusiveMinimum": low}]))
    schema |= draw(st.sampled_from([{}, {"maximum": high + 3}, {"exclusiveMaximum": high + 3}]))
    return schema | draw(st.sampled_from([{}, {"multipleOf": 1}, {"multipleOf": 0.5}]))


@st.composite
def texts(draw: st.DrawFn) -> dict[str, Any]:
    least = draw(st.integers(0, 20))
    pattern = draw(st.sampled_from(["^[a-z]+$", "^.{1,40}$", r"^\w[\s\S]*$", "^[^a]+$", "^[A-Z]{2,}-[0-9]*$"]))
    return {"type": "string", "minLength": least, "maxLength": least + draw(st.integers(5, 30))} | draw(
        st.sampled_from([{}, {"pattern": pattern}, {"format": "date-time"}])
    )


def composed(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    names = st.sampled_from(["a", "b", "c"])
    objects = st.builds(
        lambda properties, required: {"type": "object", "properties": properties, "required": required},
        st.dictionaries(names, inner, max_size=3),
        st.lists(names, unique=True),
    )
    arrays = st.builds(
        lambda items, least: {"type": "array", "items": items, "minItems": least, "maxItems": 4},
        inner,
        st.integers(0, 3),
    )
    numbers = st.builds(
        lambda items: {"type": "array", "items": items, "minItems": 3, "uniqueItems": True},
        st.just({"type": "integer"}) | st.just({"type": "string"}) | st.just({"enum": [1, 2, 3]}),
    )
    return (
        objects
        | arrays
        | numbers
        | inner.map(lambda one: {"oneOf": [one]})
        | inner.map(lambda one: {"anyOf": [{"type": "null"}, one]})
    )


SCHEMAS = st.recursive(
    bounded() | texts() | st.sampled_from([{"type": "boolean"}, {"type": ["null", "integer"]}, {"enum": ["x", 1]}]),
    composed,
    max_leaves=6,
)


@given(schema=SCHEMAS)
@settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
def test_a_body_is_valid_by_its_schema(tmp_path: Path, schema: dict[str, Any]) -> None:
    content = {"application/json": {"schema": schema}}
    operation = {"operationId": "a", "requestBody": {"content": content}, "responses": {}}
    made, workload = imported(tmp_path, {"openapi": "3.1.0", "paths": {"/a": {"post": operation}}})
    if not any("must match" in doubt for doubt in made.doubts):
        jsonschema.validate(body_of(workload.operations["a"]), schema)


@pytest.mark.parametrize(
    "pattern", [r"^.{30,60}$", r"^a\s+b\s+c$", r"^[^x]{40}$", r"^\W{20}$", r"^\S{40}$", "^[\\x00-\\xff]{30}$"]
)
def test_texts_by_pattern_are_printable(tmp_path: Path, pattern: str) -> None:
    made, workload = of_schema(tmp_path, {"type": "string", "pattern": pattern})
    sent = workload.operations["get_a"].query["code"].replace("{{", "{").replace("}}", "}")
    assert re.search(pattern, sent)
    assert sent.isprintable()
    assert not made.doubts


def test_texts_by_pattern_have_the_right_length(tmp_path: Path) -> None:
    made, workload = of_schema(tmp_path, {"type": "string", "pattern": "^[a-z]+$", "minLength": 8, "maxLength": 12})
    assert 8 <= len(workload.operations["get_a"].query["code"]) <= 12
    assert not made.doubts


@pytest.mark.parametrize("kind", ["paths", "parameters", "same name"])
def test_a_large_document_takes_time_by_its_size_alone(tmp_path: Path, kind: str) -> None:
    count = 4000
    numbers = [
        {"name": "n", "in": "query", "required": True, "schema": {"type": "integer", "maximum": most}}
        for most in range(1, count)
    ]
    many = [{**one, "name": f"p{at}"} for at, one in enumerate(numbers)]
    get = {"operationId": "a", "responses": {"200": {}}}
    paths = {
        "paths": {f"/a{at}": {"get": get} for at in range(count)},
        "parameters": {"/a": {"get": {**get, "parameters": many}}},
        "same name": {f"/a{at}": {"get": {**get, "parameters": [one]}} for at, one in enumerate(numbers)},
    }
    began = time.process_time()
    imported(tmp_path, {"openapi": "3.0.0", "paths": paths[kind]})
    assert time.process_time() - began < 60


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


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("{openapi: 3.0.0, info: {}, paths: {/a: {get: {responses: {200: {}}}}}}", "yaml"),
        ('{"openapi": "3.0.0", "info": {}, "paths": {"/a": {"get": {"responses": {"200": {}},}}}}', "json"),
    ],
)
def test_yaml_that_begins_as_json_is_read(tmp_path: Path, text: str, suffix: str) -> None:
    assert list(imported(tmp_path, text, suffix)[1].operations) == ["get_a"]


def test_a_document_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "api.json").write_bytes(json.dumps(DOCUMENT).encode("utf-16"))
    assert from_openapi(tmp_path / "api.json", "stones").operations == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("swagger: '2.0'\npaths: {}", "version 3, but Swagger 2.0. Convert it to version 3 first"),
        ('{"log": {"entries": []}}', "but a recording (HAR). Use `loadstone workloads from-har`"),
        ("asyncapi: 2.6.0", "version 3, but AsyncAPI 2.6.0, which describes messages"),
        ('{"info": {}, "item": []}', "version 3, but a Postman collection. Export it as OpenAPI"),
        ("", "it is empty"),
        ("<!doctype html><html>", "it has no key `openapi`"),
    ],
)
def test_documents_of_other_formats_are_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "api.yaml").write_text(text)
    with pytest.raises(UsageError, match=re.escape(said)):
        from_openapi(tmp_path / "api.yaml", "stones")


@pytest.mark.parametrize(
    ("reference", "schema"),
    [
        ("#/components/schemas/X", {"$id": "https://a/x", "$defs": {"k": {"const": 7}}, "$ref": "#/$defs/k"}),
        ("#here", {"$anchor": "here", "const": 7}),
        ("https://a/x", {"$id": "https://a/x", "const": 7}),
        ("x.json#/$defs/k", {"$id": "https://a/x.json", "$defs": {"k": {"const": 7}}}),
    ],
)
def test_schemas_are_found_by_their_own_names(tmp_path: Path, reference: str, schema: dict[str, Any]) -> None:
    content = {"application/json": {"schema": {"$ref": reference}}}
    post = {"operationId": "add", "requestBody": {"content": content}, "responses": {}}
    document = {"openapi": "3.1.0", "paths": {"/a": {"post": post}}, "components": {"schemas": {"X": schema}}}
    assert imported(tmp_path, document)[1].operations["add"].body == "7"


@pytest.mark.parametrize(
    ("servers", "target"),
    [
        (["wss://a.example/v1", "HTTPS://API.example:443/v1"], "https://api.example"),
        (["http://a.example:80"], "http://a.example"),
        (["https://a.example:8443"], "https://a.example:8443"),
        (["ftp://a.example"], "http://HOST:PORT"),
    ],
)
def test_the_first_server_that_speaks_http_is_the_target(tmp_path: Path, servers: list[str], target: str) -> None:
    document = {**DOCUMENT, "servers": [{"url": url} for url in servers]}
    assert imported(tmp_path, document)[0].target == target


def test_an_example_that_is_null_says_nothing_and_a_list_of_them_says_the_first(tmp_path: Path) -> None:
    given = [
        {"name": "a", "in": "query", "required": True, "example": None, "schema": {"type": "string"}},
        {"name": "b", "in": "query", "required": True, "examples": ["chairs"], "schema": {"type": "string"}},
    ]
    sent = sent_by(tmp_path, {"parameters": given, "responses": {}})
    assert sent.query == {"a": "granite", "b": "chairs"}


@pytest.mark.parametrize(
    ("kind", "schema", "body"),
    [
        ("text/plain", {"type": "integer"}, "1"),
        ("application/x-ndjson", {"type": "object", "properties": {"a": {"const": 1}}}, '{{"a": 1}}\n'),
        ("application/jsonl", {"type": "object", "properties": {"a": {"const": 1}}}, '{{"a": 1}}\n'),
    ],
)
def test_bodies_of_lines_and_texts_are_sent(tmp_path: Path, kind: str, schema: dict[str, Any], body: str) -> None:
    sent = sent_by(tmp_path, {"requestBody": {"content": {kind: {"schema": schema}}}, "responses": {}})
    assert (sent.body, sent.headers["Content-Type"]) == (body, kind)


def test_a_form_of_parts_without_a_file_is_sent_in_parts(tmp_path: Path) -> None:
    parts = {"title": {"const": "a"}, "tags": {"const": ["x", "y"]}, "more": {"const": {"k": 1}}}
    content = {"multipart/form-data": {"schema": {"type": "object", "properties": parts}}}
    sent = sent_by(tmp_path, {"requestBody": {"content": content}, "responses": {}})
    assert sent.body is not None
    boundary = sent.headers["Content-Type"].partition("boundary=")[2]
    first, *others, last = sent.body.split(f"--{boundary}")
    assert (first, last) == ("", "--\r\n")
    assert [part.partition("\r\n\r\n")[2] for part in others] == ["a\r\n", "x\r\n", "y\r\n", '{{"k": 1}}\r\n']
    assert others[0].startswith('\r\nContent-Disposition: form-data; name="title"\r\n')
    assert "\r\nContent-Type: application/json\r\n" in others[3]


def test_a_list_of_files_is_a_file(tmp_path: Path) -> None:
    files = {"type": "array", "items": {"type": "string", "format": "binary"}}
    content = {"multipart/form-data": {"schema": {"type": "object", "properties": {"files": files}}}}
    sent = sent_by(tmp_path, {"requestBody": {"content": content}, "responses": {}})
    assert list(sent.uploads) == ["files"]


def test_texts_of_a_pattern_are_made_of_letters_and_digits_where_they_may(tmp_path: Path) -> None:
    _, workload = of_schema(tmp_path, {"type": "string", "pattern": r"^[^/\s]{20}$"})
    assert any(re.search("[A-Za-z0-9]{20}", str(one)) for one in workload.operations.values())
