"""Requests of programs and forms as browsers and proxies record them: each is sent as it was recorded."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest

from loadstone.model.workload.operation import EmbeddedFile
from loadstone.workloads import load
from loadstone.workloads.importers.imported import Imported
from tests.unit.workloads.test_from_har import START, entry
from tests.unit.workloads.test_sent_as_recorded import SITE, TOKEN, home, imported, post, sent

FETCHED = {"_resourceType": "fetch"}


def headers(**fields: str) -> dict[str, Any]:
    return {"headers": [{"name": name.replace("_", "-"), "value": text} for name, text in fields.items()]}


def call(at_s: float, path: str, text: str = "{}", **changes: Any) -> dict[str, Any]:
    return entry(at_s, SITE + path, "application/json", text=text, **FETCHED, **changes)


def answered(request: dict[str, Any], members: dict[str, str]) -> dict[str, Any]:
    request["response"]["content"]["text"] = json.dumps(members)
    return request


def test_each_request_sends_the_token_that_allowed_it(tmp_path: Path) -> None:
    tokens = [f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{number}In0.c2lnbmF0dXJl{number}" for number in (1, 2)]
    bearers = [headers(Authorization=f"Bearer {token}") for token in tokens]
    visit = [
        home(),
        answered(post(2, "/login", "user=ann"), {"access": tokens[0], "refresh": TOKEN}),
        call(4, "/api/me", request=bearers[0]),
        answered(post(6, "/refresh", f"token={TOKEN}"), {"access": tokens[1]}),
        call(8, "/api/me", request=bearers[1]),
        call(10, "/api/me", request=bearers[1]),
    ]
    imported(tmp_path, visit)
    workload = load(str(tmp_path))
    me = [workload.operations[name] for name in workload.mix.sequence if name.startswith("api_me")]
    first, second = "Bearer {authorization}", "Bearer {authorization_2}"
    assert [operation.headers["Authorization"] for operation in me] == [first, second, second]


def test_a_moment_in_the_address_of_what_a_page_fetches_is_that_of_the_play(tmp_path: Path) -> None:
    moment = round(START.timestamp() * 1000) + 300
    imported(tmp_path, [home(), call(0.3, f"/api/news?_={moment}"), call(0.3, "/api/menu")])
    operations = load(str(tmp_path)).operations
    assert operations["home"].embedded == (EmbeddedFile(path="/api/menu"),)
    assert operations["api_news"].query == {"_": "{now_ms}"}


@pytest.mark.parametrize("content", [b'{"id":7}', gzip.compress(b'{"id":7}')], ids=["plain", "packed"])
def test_a_body_that_a_proxy_recorded_by_base64_is_sent_as_text(tmp_path: Path, content: bytes) -> None:
    recorded = post(3, "/api", base64.b64encode(content).decode(), "application/json")
    recorded["request"]["postData"]["encoding"] = "base64"
    recording = imported(tmp_path, [home(), recorded])
    assert sent(tmp_path)[1]["body"] == '{{"id":7}}'
    assert recording.doubts == ()


def test_bytes_that_were_recorded_by_base64_are_not_sent_as_their_base64(tmp_path: Path) -> None:
    recorded = post(3, "/api", base64.b64encode(b"\x08\x96\x01\xff").decode(), "application/x-protobuf")
    recorded["request"]["postData"]["encoding"] = "base64"
    recording = imported(tmp_path, [home(), recorded])
    assert recording.doubts == ("the body of api (application/x-protobuf) was not recorded as text",)


def test_an_answer_that_a_proxy_recorded_packed_is_read(tmp_path: Path) -> None:
    form = home()
    packed = gzip.compress(f'<title>Shop</title><input name="csrf" value="{TOKEN}">'.encode())
    form["response"]["content"] |= {"text": base64.b64encode(packed).decode(), "encoding": "base64"}
    imported(tmp_path, [form, post(3, "/buy", f"csrf={TOKEN}")])
    operations = load(str(tmp_path)).operations
    assert (operations["home"].title, operations["buy"].form) == ("Shop", {"csrf": "{csrf}"})


def test_ways_to_write_an_ipv6_address_are_one_site(tmp_path: Path) -> None:
    pages = [("2001:DB8::1", "/a"), ("2001:db8:0:0:0:0:0:1", "/b"), ("2001:db8::2", "/c")]
    visit = [
        entry(4 * number, f"http://[{host}]:8080{path}", text="<title>x</title>")
        for number, (host, path) in enumerate(pages)
    ]
    recording = imported(tmp_path, visit)
    assert recording.target == "http://[2001:db8::1]:8080"
    assert load(str(tmp_path)).mix.sequence == ("a", "b")


def test_the_version_of_a_document_that_is_changed_is_taken_from_its_answer(tmp_path: Path) -> None:
    read = call(2, "/doc", response=headers(ETag='"v17abc"'))
    change = post(4, "/doc", '{"a":2}', "application/json", request={"method": "PUT", **headers(If_Match='"v17abc"')})
    change["request"]["postData"] = {"mimeType": "application/json", "text": '{"a":2}'}
    imported(tmp_path, [home(), read, change])
    operations = load(str(tmp_path)).operations
    assert operations["doc_put"].headers["If-Match"] == "{if_match}"
    assert [(rule.value, rule.header) for rule in operations["doc"].extract] == [("if_match", "ETag")]


def test_parts_of_a_file_that_a_program_asks_for_are_asked_for(tmp_path: Path) -> None:
    parts = [call(3 * n, "/data", request=headers(Range=f"bytes={n}00-{n}99"), status=206) for n in (1, 2)]
    imported(tmp_path, [home(), *parts])
    operations = [load(str(tmp_path)).operations[name] for name in load(str(tmp_path)).mix.sequence[1:]]
    assert [operation.headers for operation in operations] == [{"Range": "bytes=100-199"}, {"Range": "bytes=200-299"}]
    assert [operation.status for operation in operations] == [(206,), (206,)]


def test_a_file_whose_rest_the_browser_asked_for_comes_whole(tmp_path: Path) -> None:
    rest = entry(5, f"{SITE}/a.pdf", "application/pdf", request=headers(Range="bytes=5-"), status=206)
    imported(tmp_path, [home(), {**rest, "_resourceType": "document"}])
    assert load(str(tmp_path)).operations["a_pdf"].status is None


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"Sec_Fetch_Dest": "iframe"}, ("home", "next")),
        ({"Sec_Fetch_Dest": "frame", "Sec_Fetch_User": "?1"}, ("home", "frame", "next")),
        ({"Sec_Fetch_Dest": "document"}, ("home", "frame", "next")),
    ],
)
def test_a_frame_is_a_part_of_its_page_unless_a_user_opens_it(
    tmp_path: Path, fields: dict[str, str], names: tuple[str, ...]
) -> None:
    frame = entry(0.4, f"{SITE}/frame", text="<title>F</title>", request=headers(**fields))
    imported(tmp_path, [home(), frame, entry(5, f"{SITE}/next", text="<title>N</title>")])
    assert load(str(tmp_path)).mix.sequence == names


def test_a_request_without_a_body_lacks_none(tmp_path: Path) -> None:
    removed = post(3, "/item/7", "", request={"method": "DELETE", "bodySize": 0}, status=204)
    removed["request"]["postData"] = {"mimeType": "", "text": ""}
    assert imported(tmp_path, [home(), removed]).doubts == ()


@pytest.mark.parametrize("query", ["a=1;b=2", "ids=1,2,3", "at=12:30&who=a@b.example", "next=/a/b", "f=a=b"])
def test_a_query_that_is_encoded_in_a_way_of_its_own_is_sent_so(tmp_path: Path, query: str) -> None:
    imported(tmp_path, [home(), entry(3, f"{SITE}/s?{query}", text="<title>S</title>")])
    assert (sent(tmp_path)[1]["path"], sent(tmp_path)[1]["query"]) == (f"/s?{query}", [])


@pytest.mark.parametrize("query", ["q=a%20b", "q=a+b", "q=%c3%a9", "q=it's~(a)!*", "q=%2a%7e"])
def test_a_query_that_is_encoded_as_usual_is_a_table(tmp_path: Path, query: str) -> None:
    imported(tmp_path, [home(), entry(3, f"{SITE}/s?{query}", text="<title>S</title>")])
    assert sent(tmp_path)[1]["query"] == [{"name": "q", "value": unquote_plus(query[2:])}]


def test_a_form_with_semicolons_is_sent_as_it_was(tmp_path: Path) -> None:
    imported(tmp_path, [home(), post(3, "/send", "a=1;b=2")])
    assert (sent(tmp_path)[1]["form"], sent(tmp_path)[1]["body"]) == ([], "a=1;b=2")


def test_a_media_type_without_a_body_is_sent(tmp_path: Path) -> None:
    imported(tmp_path, [home(), post(3, "/send", "", request=headers(Content_Type="application/json"))])
    assert load(str(tmp_path)).operations["send"].headers == {"Content-Type": "application/json"}


def test_a_header_may_have_any_name_of_http(tmp_path: Path) -> None:
    imported(tmp_path, [home(), call(3, "/api", request=headers(**{"X.Client!": "1"}))])
    assert load(str(tmp_path)).operations["api"].headers == {"X.Client!": "1"}


@pytest.mark.parametrize(("source", "files"), [("Network Load", 1), ("Memory Cache", 0), ("Disk Cache", 0)])
def test_a_file_that_safari_had_in_its_cache_is_not_fetched_again(tmp_path: Path, source: str, files: int) -> None:
    style = entry(5.1, f"{SITE}/a.css", "text/css", _fetchType=source)
    imported(tmp_path, [home(), entry(5, f"{SITE}/b", text="<title>B</title>"), style])
    assert len(load(str(tmp_path)).operations["b"].embedded) == files


def picture(name: str, kind: str) -> str:
    return f'--x\r\nContent-Disposition: form-data; name="photo"; filename="{name}"\r\nContent-Type: {kind}\r\n\r\n\r\n'


def test_all_files_of_a_field_are_sent_with_their_types(tmp_path: Path) -> None:
    body = f"{picture('a.png', 'image/png')}{picture('b.webp', 'image/webp')}--x--\r\n"
    imported(tmp_path, [home(), post(3, "/photos", body, "multipart/form-data; boundary=x")])
    uploads = [
        (upload["field"], upload["file_name"], upload["content_type"]) for upload in sent(tmp_path)[1]["uploads"]
    ]
    assert uploads == [("photo", "a.png", "image/png"), ("photo", "b.webp", "image/webp")]


def list_headers(tmp_path: Path, *requests: dict[str, Any]) -> tuple[list[dict[str, str]], Imported]:
    """What requests of a program send beside what browsers send, and the import."""
    visit = [home(), *(call(2 * number, f"/api/{number}", request=one) for number, one in enumerate(requests, 1))]
    made = imported(tmp_path, visit)
    workload = load(str(tmp_path))
    return [dict(workload.operations[name].headers) for name in workload.mix.sequence[1:]], made


def test_a_token_that_no_answer_tells_is_read_from_the_environment(tmp_path: Path) -> None:
    key, other = "static-key-0123456789", "other-key-9876543210"
    requests = [headers(Authorization=f"{scheme}{token}") for scheme, token in (("Bearer ", key), ("", other))]
    sent_headers, made = list_headers(tmp_path, *requests, requests[0])
    first, second = {"Authorization": "Bearer {bearer_token}"}, {"Authorization": "{bearer_token_2}"}
    assert sent_headers == [first, second, first]
    assert key not in made.text and other not in made.text and not made.left_out
    assert [variable for variable, _ in made.passwords] == ["MY_SHOP_BEARER_TOKEN", "MY_SHOP_BEARER_TOKEN_2"]


@pytest.mark.parametrize(
    "value", ["Negotiate YIIJvwYGKwYBBQUCoIIJszCCCa", "AWS4-HMAC-SHA256 Credential=A, Signature=c0"]
)
def test_what_allows_one_request_or_connection_is_left_out(tmp_path: Path, value: str) -> None:
    sent_headers, made = list_headers(tmp_path, headers(Authorization=value))
    assert sent_headers == [{}] and not made.passwords
    assert any("credentials" in reason for reason in made.left_out)


def test_a_token_that_differs_in_each_recording_is_no_lasting_one(tmp_path: Path) -> None:
    visits = [[home(), call(2, "/api", request=headers(Authorization=f"Bearer {text * 20}"))] for text in ("a1", "b2")]
    made = imported(tmp_path, *visits)
    assert not made.passwords and "a1a1" not in made.text


def test_headers_of_one_name_are_joined(tmp_path: Path) -> None:
    pairs = [{"name": name, "value": value} for name, value in (("X-Tag", "a"), ("x-tag", "b"), ("X-Tag", "c"))]
    assert list_headers(tmp_path, {"headers": pairs})[0] == [{"X-Tag": "a, b, c"}]


def test_letters_beyond_ascii_in_headers_are_sent(tmp_path: Path) -> None:
    recorded = {"X-Bytes": "Gr\u00c3\u00b6\u00c3\u009fe", "X-Latin": "Gr\u00f6\u00dfe", "X-Wide": "\u5bf8"}
    sent_headers, made = list_headers(tmp_path, headers(**recorded))
    assert sent_headers == [{"X-Bytes": "Gr\u00f6\u00dfe", "X-Latin": "Gr\u00f6\u00dfe", "X-Wide": "\u5bf8"}]
    assert [doubt for doubt in made.doubts if "header" in doubt] == [
        "header X-Latin of api_1 is sent as UTF-8; the browser sent it as Latin-1"
    ]


def test_a_moment_by_iso_8601_is_that_of_sending_with_or_without_milliseconds(tmp_path: Path) -> None:
    at = START.strftime("%Y-%m-%dT%H:%M:%S")
    imported(tmp_path, [home(), call(2, f"/api?a={at}Z&b={at}.000Z")])
    assert load(str(tmp_path)).operations["api"].query == {"a": "{now_iso_s}", "b": "{now_iso}"}


def test_an_address_keeps_the_signs_that_browsers_leave_in_it(tmp_path: Path) -> None:
    path = "/a[1]|b?filter[name]=x|y&q={z}&r=^`"
    imported(tmp_path, [home(), entry(2, SITE + path, text="<title>Found</title>")])
    workload = load(str(tmp_path))
    assert workload.operations[workload.mix.sequence[1]].path == path.replace("{z}", "{{z}}")
