"""Checks of JSON, queries of GraphQL and repeated requests, as they reach the driver."""

import json
from pathlib import Path

import pytest

from loadstone.model.errors import StudyError
from loadstone.model.load import Population
from loadstone.model.profile import Phases
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.workloads import load

QUERY = """
[operations.page]
path = "/graphql"
graphql = "query($first: Int, $like: String) { products(first: $first, like: $like) { id } }"
variables = { first = 3, like = "{word}" }
json_is = { "/data/products/0/id" = "{word}" }

[values]
word = { kind = "choice", values = ["granite"] }
"""


def workload(folder: Path, operation: str) -> str:
    static = (Path(load("static").folder) / "workload.toml").read_text().replace('"static"', '"own"')
    (folder / "workload.toml").write_text(static[: static.index("[operations.page]")] + operation)
    return str(folder)


def test_a_query_is_a_post_whose_errors_are_noticed(tmp_path: Path) -> None:
    plan = make_plan([WorkloadLoad(load(workload(tmp_path, QUERY)), Population(1))], Timing(Phases(0, 0, 1, 0), 1))
    (operation,) = plan["parts"][0]["workload"]["operations"]
    assert operation["method"] == "POST"
    assert {"name": "Content-Type", "value": "application/json"} in operation["headers"]
    sent = json.loads(operation["body"].replace("{{", "{").replace("}}", "}").replace("{word}", "granite"))
    assert sent["query"].startswith("query($first: Int") and sent["query"].endswith("{ id } }")
    assert sent["variables"] == {"first": 3, "like": "granite"}
    assert operation["expect"]["json"] == [
        {"pointer": "/data/products/0/id", "is": "{word}"},
        {"pointer": "/errors", "is": None},
    ]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ('method = "GET"', "leave out `method`"),
        ('body = "x"', "leave out `body`"),
        ('json_is = { "/a" = "{nothing}" }', "nothing"),
    ],
)
def test_what_a_query_cannot_have_is_named(changed: str, why: str, tmp_path: Path) -> None:
    query = '[operations.page]\npath = "/graphql"\ngraphql = "{ a }"\n'
    with pytest.raises(StudyError) as raised:
        load(workload(tmp_path, query + changed))
    assert why in " ".join(map(str, raised.value.problems))


def test_a_request_beside_a_page_is_made_as_often_as_it_says(tmp_path: Path) -> None:
    polled = '[operations.page]\npath = "/"\nafter = [{ path = "/state", repeat = 3 }, { path = "/end" }]\n'
    plan = make_plan([WorkloadLoad(load(workload(tmp_path, polled)), Population(1))], Timing(Phases(0, 0, 1, 0), 1))
    (operation,) = plan["parts"][0]["workload"]["operations"]
    assert [request["page"]["path"] for request in operation["after"]] == ["/state", "/state", "/state", "/end"]
    counted = polled.replace("repeat = 3", 'repeat = 3, name = "state"')
    with pytest.raises(StudyError) as raised:
        load(workload(tmp_path, counted))
    assert "leave out `name` or `repeat`" in " ".join(map(str, raised.value.problems))
