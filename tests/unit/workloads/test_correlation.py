"""Values that a site gave out for one visit are taken from the answers they stood in."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.target import Target
from loadstone.run.visit import visit_plan
from loadstone.workloads import load
from loadstone.workloads.importers.correlated import Correlated, group_places
from loadstone.workloads.importers.from_har import read_recording
from loadstone.workloads.importers.imported import Imported
from loadstone.workloads.importers.steps import Leaf
from loadstone.workloads.importers.tokens import is_token
from tests.unit.workloads.test_from_har import entry

TOKEN = "5f3c9a1e7b2d4c608f1e2d3c4b5a6978"


def imported(tmp_path: Path, *visits: list[dict[str, Any]]) -> Imported:
    files = [tmp_path / f"visit-{at}.har" for at in range(len(visits))]
    for file, entries in zip(files, visits, strict=True):
        file.write_text(json.dumps({"log": {"entries": entries}}))
    made = read_recording(*files).build_workload("mine")
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


@pytest.mark.parametrize(
    ("form", "sent"),
    [
        ("route=/posts/{}/save", "/posts/{{{}}}/save"),
        ("route=post-{}", "post-{{{}}}"),
        ("route=%2Fposts%2F{}%3Fpost%3D{}", "/posts/{{{0}}}?post={{{0}}}"),
    ],
)
@pytest.mark.parametrize("numbers", [("13", "18"), ("7", "1013")])
def test_a_short_number_within_a_text_is_replaced_when_both_recordings_prove_it(
    tmp_path: Path, form: str, sent: str, numbers: tuple[str, str]
) -> None:
    page = '<title>13 of 7</title><input type=hidden name="post_ID" value="{}">'
    made = imported(tmp_path, *(shop(page.format(number), form.format(number, number)) for number in numbers))
    operations = load(str(tmp_path)).operations
    assert operations["buy"].form == {"route": sent.format("route")}
    assert [extract.field for extract in operations["home"].extract] == ["post_ID"]
    (one,) = made.correlated
    assert one.recordings == 2


def ordered(number: str, location: str, status: int) -> list[dict[str, Any]]:
    """A visit whose order is known by its address alone."""
    led = {"status": status, "redirectURL": "", "headers": [{"name": "Location", "value": location.format(number)}]}
    order = posted(2, "/orders", "item=granite", response={**led, "content": {"mimeType": "", "text": ""}})
    shown = [entry(2.1, location.format(number), text="<title>Order</title>")] if status == 303 else []
    return [order, *shown, posted(6, f"/orders/{number}/pay", "by=card")]


@pytest.mark.parametrize("numbers", [(TOKEN, TOKEN[::-1]), ("ab12", "cd34"), ("7", "12")])
@pytest.mark.parametrize("status", [201, 303])
@pytest.mark.parametrize(
    ("location", "before"),
    [
        ("http://a.example/orders/{}", None),
        ("http://a.example/orders/{}?new=1", "?"),
        ("http://a.example/orders/{}/summary", "/"),
    ],
)
def test_a_number_that_an_address_alone_tells_is_taken_from_there(
    tmp_path: Path, location: str, before: str | None, status: int, numbers: tuple[str, str]
) -> None:
    made = imported(tmp_path, *(ordered(number, location, status) for number in numbers))
    workload = load(str(tmp_path))
    ordering, paying = (workload.operations[name] for name in workload.mix.sequence)
    (extract,) = ordering.extract
    assert (extract.header, extract.after, extract.before) == ("Location", "orders/", before)
    assert paying.path == f"/orders/{{{extract.value}}}/pay"
    assert ordering.redirects == (1 if status == 303 else 0)
    assert [one.recordings for one in made.correlated] == [2]


def test_an_address_whose_host_is_none_is_no_error(tmp_path: Path) -> None:
    imported(tmp_path, ordered(TOKEN, "http://[::1/orders/{}", 201))
    workload = load(str(tmp_path))
    (extract,) = workload.operations[workload.mix.sequence[0]].extract
    assert (extract.header, extract.after) == ("Location", "orders/")


def test_what_a_page_says_too_is_taken_from_the_page(tmp_path: Path) -> None:
    visit = ordered(TOKEN, "http://a.example/orders/{}", 201)
    visit[0]["response"]["content"] = {"mimeType": "application/json", "text": json.dumps({"id": TOKEN})}
    imported(tmp_path, visit)
    workload = load(str(tmp_path))
    (extract,) = workload.operations[workload.mix.sequence[0]].extract
    assert extract.json_ == "/id"


@pytest.mark.parametrize("name", ["my%20file", "a%3Fb", "50%25", "caf%C3%A9", "%7Ba%7D"])
def test_a_number_within_a_segment_leaves_the_rest_of_it_encoded(tmp_path: Path, name: str) -> None:
    def visit(number: int) -> list[dict[str, Any]]:
        page = f'<input type=hidden name="post_ID" value="{number}">'
        return [entry(0, "http://a.example/", text=page), posted(4, f"/{name}-{number}/buy", "a=1")]

    imported(tmp_path, visit(13), visit(18))
    workload = load(str(tmp_path))
    (extract,) = workload.operations["home"].extract
    assert workload.operations[workload.mix.sequence[1]].path == f"/{name}-{{{extract.value}}}/buy"


@pytest.mark.parametrize("forms", [("route=/a/13/b/7", "route=/a/18/b/9"), ("route=/a/13", "route=/a/18/19")])
def test_a_text_that_differs_in_more_than_its_number_is_sent_as_recorded(
    tmp_path: Path, forms: tuple[str, str]
) -> None:
    page = '<input type=hidden name="post_ID" value="{}">'
    made = imported(tmp_path, *(shop(page.format(n), form) for n, form in zip((13, 18), forms, strict=True)))
    (one,) = made.correlated
    assert one.rule is None
    assert load(str(tmp_path)).operations["buy"].form == {"route": forms[0].removeprefix("route=")}


def once(page: str, token: str = "") -> list[dict[str, Any]]:
    """A visit in which the page's program sends a token of its page where it has one."""
    asked = [entry(2, f"http://a.example/once?nonce={token}", "application/json", _resourceType="fetch")]
    return [entry(0, "http://a.example/", text=page), *(asked if token else ()), posted(4, "/buy", "stone=granite")]


def test_a_request_for_one_use_that_the_second_recording_could_not_send_is_left_out(tmp_path: Path) -> None:
    made = imported(tmp_path, once(f"<script>once = '{TOKEN}'</script>", TOKEN), once("<title>Shop</title>"))
    workload = load(str(tmp_path))
    assert workload.mix.sequence == ("home", "buy")
    assert workload.operations["home"].extract == ()
    reason = "the second recording has no such request, and no answer with a `nonce` for it"
    assert f"GET /once: {reason}" in made.left_out
    assert not made.correlated


def test_a_request_that_the_second_recording_could_send_is_kept(tmp_path: Path) -> None:
    page = "<script>once = '{}'</script>"
    imported(tmp_path, once(page.format(TOKEN), TOKEN), once(page.format(TOKEN[::-1])))
    workload = load(str(tmp_path))
    assert workload.mix.sequence == ("home", "once", "buy")
    assert [extract.value for extract in workload.operations["home"].extract] == ["nonce"]


def test_a_request_that_the_second_recording_has_without_its_answer_is_still_compared(tmp_path: Path) -> None:
    def visit(number: int, status: int) -> list[dict[str, Any]]:
        page = f'<input type=hidden name="post_ID" value="{number}">'
        return [entry(0, "http://a.example/", text=page), posted(4, "/unlock", f"post={number}", status=status)]

    imported(tmp_path, visit(13, 200), visit(18, -1))
    operations = load(str(tmp_path)).operations
    assert operations["unlock"].form == {"post": "{post}"}
    assert operations["unlock"].status is None


@pytest.mark.parametrize(
    ("value", "is_random"),
    [
        ("/wp/v2/templates/twentytwentythree//single", False),
        (f"/reset/{TOKEN}", True),
        (TOKEN, True),
        ("Zm9v/2JhcmJheg+cXV4=", True),
    ],
)
def test_a_path_is_a_token_only_if_a_segment_is(value: str, is_random: bool) -> None:
    assert is_token("route", value) is is_random


def test_requests_that_come_in_another_order_are_compared_with_their_like(tmp_path: Path) -> None:
    def visit(key: str, routes: tuple[str, ...]) -> list[dict[str, Any]]:
        asked = [posted(4 + at, "/api", f"route={route}&key={key}") for at, route in enumerate(routes)]
        return [entry(0, "http://a.example/", text=f'<input type=hidden name="key" value="{key}">'), *asked]

    made = imported(tmp_path, visit("abc1", ("one", "two", "three")), visit("xyz2", ("three", "one", "two")))
    forms = [operation.form for operation in load(str(tmp_path)).operations.values()]
    assert forms[1:] == [{"route": route, "key": "{key}"} for route in ("one", "two", "three")]
    assert {one.recordings for one in made.correlated} == {2}


def test_an_empty_field_is_not_called_a_message(tmp_path: Path) -> None:
    made = imported(tmp_path, shop("<title>Shop</title>", "note=&a=1"), shop("<title>Shop</title>", "note=x&a=1"))
    (place,) = made.places
    assert place.missed == "field note of buy occurs in no earlier response (unknown): use your own value"


def test_what_is_found_in_one_recording_alone_is_no_rule(tmp_path: Path) -> None:
    first = shop('<input name="a" value="abc1">', "sent=abc1")
    second = shop("<b title=xyz2 >", "sent=xyz2")
    made = imported(tmp_path, first, second)
    (one,) = made.correlated
    assert one.rule is None
    assert "sent of buy occurs in no earlier response" in made.places[0].missed
    assert load(str(tmp_path)).operations["buy"].form == {"sent": "abc1"}


def test_a_value_of_many_operations_is_one_line() -> None:
    leaf = Leaf("header", "X-Key")
    found = [Correlated(f"page_{number}", leaf, "key") for number in range(5)]
    assert [str(place) for place in group_places(found)] == ["header X-Key of page_0, page_1, page_2 and 2 more"]
    assert [str(place) for place in group_places(found[:4])] == ["header X-Key of page_0, page_1, page_2, page_3"]
    other = Correlated("page_9", leaf, "key_2")
    assert [place.operations for place in group_places([*found[:1], other])] == [("page_0",), ("page_9",)]


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


TOKEN = "5f3c9a1e7b2d4c608f1e2d3c4b5a6978"
LINES = "--XX\n{0}\n\n{1}\n--XX--\n"
BODIES = [
    ("text/plain", "csrf={}\r\nnote=a b\r\n"),
    ("text/xml", "<e:Envelope><e:Body><sid>{}</sid></e:Body></e:Envelope>"),
    ("application/x-www-form-urlencoded", "payload=%7B%22token%22%3A%22{}%22%7D"),
    ("Application/X-WWW-Form-Urlencoded; charset=UTF-8", "csrf={}&items[]=1&items[]=2"),
    ("multipart/form-data; boundary=XX", LINES.format('Content-Disposition: form-data; name="csrf"', "{}")),
    ("multipart/form-data; boundary=XX", LINES.format("content-disposition: form-data; name=csrf", "{}")),
    (
        "Multipart/Form-Data; boundary=XX",
        LINES.format('Content-Type: a/b\nContent-Disposition: form-data; name="csrf"', "{}").replace("\n", "\r\n"),
    ),
    ("application/json", '{{"variables": "{{\\"token\\": \\"{}\\"}}"}}'),
]


@pytest.mark.parametrize(("kind", "body"), BODIES)
@pytest.mark.parametrize("recordings", [1, 2])
def test_a_token_within_a_body_of_any_kind_is_taken_from_its_page(
    tmp_path: Path, kind: str, body: str, recordings: int
) -> None:
    tokens = [TOKEN, TOKEN[::-1]][:recordings]
    visits = []
    for token in tokens:
        sent = body.replace("{}", token) if "{{" not in body else body.format(token)
        request = {"method": "POST", "postData": {"mimeType": kind, "text": sent}}
        form = entry(0, "http://a.example/", text=f'<input name="csrf" value="{token}">')
        visits.append([form, entry(4, "http://a.example/send", request=request)])
    made = imported(tmp_path, *visits)
    assert TOKEN not in made.text
    (one,) = made.correlated
    assert (one.source, one.recordings, one.value in one.text) == ("home", recordings, True)
    sent = load(str(tmp_path)).operations["send"]
    assert f"{{{one.value}}}" in str(sent.body or sent.form)


def test_tokens_within_a_body_that_no_answer_tells_stay(tmp_path: Path) -> None:
    body = {"mimeType": "text/xml", "text": f"<a><b>{TOKEN}</b></a>"}
    visit = [entry(0, "http://a.example/", text="<p>"), posted(4, "/x", "")]
    visit[1]["request"]["postData"] = body
    made = imported(tmp_path, visit)
    assert (TOKEN in made.text, made.correlated) == (True, ())


@pytest.mark.parametrize(
    "page",
    [
        '<input name=t value="aaaa&#x2F;0123456789abcdef&#61;">',
        '<script>x = {"t": "aaaa\\u002F0123456789abcdef\\u003D"}</script>',
        '<script>x = {"t": "aaaa\\/0123456789abcdef="}</script>',
        '<a href="?t=aaaa%2f0123456789abcdef%3d">',
    ],
)
def test_a_token_is_found_however_its_page_escapes_it(tmp_path: Path, page: str) -> None:
    made = imported(tmp_path, shop(page, "t=aaaa%2F0123456789abcdef%3D"))
    assert load(str(tmp_path)).operations["buy"].form == {"t": "{t}"}
    (one,) = made.correlated
    assert one.rule is not None and one.source == "home"


def test_a_form_of_parts_that_was_recorded_by_its_fields_is_sent_whole(tmp_path: Path) -> None:
    visit = [entry(0, "http://a.example/", text=f'<input name="csrf" value="{TOKEN}">'), posted(4, "/up", "")]
    fields = [{"name": "csrf", "value": TOKEN}, {"name": "f", "fileName": "a.txt", "value": "hello"}]
    visit[1]["request"]["postData"] = {"mimeType": "multipart/form-data", "params": fields}
    imported(tmp_path, visit)
    body = load(str(tmp_path)).operations["up"].body or ""
    assert 'form-data; name="csrf"\r\n\r\n{csrf}\r\n' in body
    assert 'name="f"; filename="a.txt"\r\n\r\nhello\r\n' in body


@pytest.mark.parametrize("content", ["\x89PNG\ufffd\x00", ""])
def test_a_form_with_a_file_that_is_no_text_is_sent_with_a_filler(tmp_path: Path, content: str) -> None:
    parts = f'--X\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{TOKEN}\r\n'
    parts += f'--X\r\nContent-Disposition: form-data; name="f"; filename="a.png"\r\n\r\n{content}\r\n--X--\r\n'
    visit = [entry(0, "http://a.example/", text=f'<input name="csrf" value="{TOKEN}">'), posted(4, "/up", "")]
    visit[1]["request"]["postData"] = {"mimeType": "multipart/form-data; boundary=X", "text": parts}
    made = imported(tmp_path, visit)
    operation = load(str(tmp_path)).operations["up"]
    assert dict(operation.form) == {"csrf": "{csrf}"}
    (upload,) = operation.uploads.values()
    assert (upload.file_name, upload.bytes) == ("a.png", max(1, len(content)))
    assert made.doubts[0].startswith("files of up (`f`) are sent as fillers")
