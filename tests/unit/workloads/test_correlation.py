"""Values that a site gave out for one visit are taken from the answers they stood in."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.target import Target
from loadstone.run.visit import visit_plan
from loadstone.workloads import load
from loadstone.workloads.importers.correlation import Correlated, Leaf, places
from loadstone.workloads.importers.from_har import recorded
from loadstone.workloads.importers.imported import Imported
from tests.unit.workloads.test_from_har import entry


def imported(tmp_path: Path, *visits: list[dict[str, Any]]) -> Imported:
    files = [tmp_path / f"visit-{at}.har" for at in range(len(visits))]
    for file, entries in zip(files, visits, strict=True):
        file.write_text(json.dumps({"log": {"entries": entries}}))
    made = recorded(*files).workload("mine")
    (tmp_path / "workload.toml").write_text(made.text)
    return made


def posted(at_s: float, path: str, form: str, **changes: Any) -> dict[str, Any]:
    body = {"mimeType": "application/x-www-form-urlencoded", "text": form}
    return entry(at_s, f"http://a.example{path}", request={"method": "POST", "postData": body}, **changes)


def shop(page: str, form: str) -> list[dict[str, Any]]:
    return [entry(0, "http://a.example/", text=page), posted(4, "/buy", form)]


@pytest.mark.parametrize(
    ("page", "rule"),
    [
        ('<input value="{}" type=hidden name="key">', {"field": "key"}),
        ('<meta name="csrf" content="{}">', {"field": "csrf"}),
        ("<script>start('{}')</script>", {"after": ">start('", "before": "'"}),
        ('{{"a": {{"b/c": ["x", "{}"]}}}}', {"json_": "/a/b~1c/1"}),
    ],
)
def test_a_value_that_differs_between_two_recordings_is_taken_from_the_plainest_place(
    tmp_path: Path, page: str, rule: dict[str, str]
) -> None:
    made = imported(tmp_path, *(shop(page.format(key), f"sent={key}&user=ann") for key in ("abc1", "xyz2")))
    operations = load(str(tmp_path)).operations
    assert operations["buy"].form == {"sent": "{sent}", "user": "ann"}
    (extract,) = operations["home"].extract
    assert {key: value for key, value in extract if value} == {"value": "sent", **rule}
    (one,) = made.correlated
    assert one.recordings == 2


def test_what_is_found_in_one_recording_alone_is_no_rule(tmp_path: Path) -> None:
    first = shop('<input name="a" value="abc1">', "sent=abc1")
    second = shop("<b title=xyz2 >", "sent=xyz2")
    made = imported(tmp_path, first, second)
    (one,) = made.correlated
    assert one.rule is None
    assert "sent of buy stands in no earlier answer" in made.places[0].missed
    assert load(str(tmp_path)).operations["buy"].form == {"sent": "abc1"}


def test_a_value_of_many_operations_is_one_line() -> None:
    leaf = Leaf("header", "X-Key")
    found = [Correlated(f"page_{number}", leaf, "key") for number in range(5)]
    assert [str(place) for place in places(found)] == ["header X-Key of page_0, page_1, page_2 and 2 more"]
    assert [str(place) for place in places(found[:4])] == ["header X-Key of page_0, page_1, page_2, page_3"]
    other = Correlated("page_9", leaf, "key_2")
    assert [place.operations for place in places([*found[:1], other])] == [("page_0",), ("page_9",)]


def test_values_alike_in_both_recordings_are_data(tmp_path: Path) -> None:
    page = '<option value="granite">'
    made = imported(tmp_path, shop(page, "stone=granite"), shop(page, "stone=granite"))
    assert not made.correlated


def test_encoded_values_are_decoded_before_they_are_sent(tmp_path: Path) -> None:
    made = imported(tmp_path, shop("<b data-key='a&amp;b==12345678abcdef'>", "csrf=a%26b%3D%3D12345678abcdef"))
    (one,) = made.correlated
    assert one.rule is not None
    assert dict(one.rule.how)["decode"] == "html"
    load(str(tmp_path))


def test_a_token_of_an_interface_goes_into_the_header_and_the_path(tmp_path: Path) -> None:
    def visit(token: str, order: str) -> list[dict[str, Any]]:
        told = json.dumps({"access_token": token, "order": {"id": order}})
        allowed = {"headers": [{"name": "Authorization", "value": f"Bearer {token}"}]}
        return [
            entry(0, "http://a.example/"),
            entry(2, "http://a.example/token", "application/json", request={"method": "POST"}, text=told),
            entry(4, f"http://a.example/orders/{order}/lines", "application/json", request=allowed),
        ]

    imported(tmp_path, visit("eyJh1", "o-771"), visit("eyJh2", "o-902"))
    operations = load(str(tmp_path)).operations
    lines = operations["orders_o_771_lines"]
    assert lines.path == "/orders/{orders_id}/lines"
    assert lines.headers == {"Authorization": "Bearer {authorization}"}
    assert {(one.value, one.json_) for one in operations["token"].extract} == {
        ("authorization", "/access_token"),
        ("orders_id", "/order/id"),
    }


def test_a_document_of_strange_values_is_no_trouble(tmp_path: Path) -> None:
    deep = "[" * 5000
    made = imported(tmp_path, shop(deep, "csrf=12345678"), shop("<" * 5000, "csrf=87654321"))
    assert [one.rule for one in made.correlated] == [None]


def test_a_cookie_that_a_program_copies_is_taken_from_the_cookies(tmp_path: Path) -> None:
    def visit(key: str) -> list[dict[str, Any]]:
        headers = [
            {"name": "Cookie", "value": f"a=b; XSRF-TOKEN={key}%3D"},
            {"name": "X-XSRF-TOKEN", "value": f"{key}="},
        ]
        told = {"headers": [{"name": "Set-Cookie", "value": f"XSRF-TOKEN={key}%3D; Path=/"}]}
        return [
            entry(0, "http://a.example/", response=told),
            entry(4, "http://a.example/buy", request={"method": "POST", "headers": headers}),
        ]

    made = imported(tmp_path, visit("abc1"), visit("xyz2"))
    operations = load(str(tmp_path)).operations
    (extract,) = operations["home"].extract
    assert (extract.cookie, extract.decode) == ("XSRF-TOKEN", "url")
    assert operations["buy"].headers == {"X-XSRF-TOKEN": f"{{{extract.value}}}"}
    assert [one.recordings for one in made.correlated] == [2]


def test_the_recorded_address_gives_way_to_the_one_that_is_played(tmp_path: Path) -> None:
    headers = [{"name": "Origin", "value": "http://a.example"}, {"name": "Referer", "value": "http://a.example/{x}"}]
    imported(
        tmp_path,
        [
            entry(0, "http://a.example/"),
            entry(4, "http://a.example/buy", request={"method": "POST", "headers": headers}),
        ],
    )
    workload = load(str(tmp_path))
    assert workload.operations["buy"].headers == {"Origin": "{target}", "Referer": "{target}/{{x}}"}
    plan = visit_plan(workload, Target.parse(["http://127.0.0.1:8080"]), 1)
    sent = plan["parts"][0]["workload"]["operations"][1]["headers"]
    assert {one["name"]: one["value"] for one in sent}["Referer"] == "http://127.0.0.1:8080/{{x}}"
