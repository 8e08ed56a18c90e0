"""What a HAR file becomes, and what is left out of it."""

import contextlib
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loadstone.model.errors import UsageError
from loadstone.model.workload.operation import EmbeddedFile
from loadstone.workloads import load
from loadstone.workloads.importers.from_har import read_recording
from loadstone.workloads.importers.imported import Imported

START = datetime(2026, 1, 1, tzinfo=UTC)


def entry(at_s: float, url: str, kind: str = "text/html", **changes: Any) -> dict[str, Any]:
    request = {"method": "GET", "url": url, "headers": [], **changes.pop("request", {})}
    content = {"mimeType": kind, "text": changes.pop("text", "")}
    started = (START + timedelta(seconds=at_s)).isoformat()
    response = {"status": changes.pop("status", 200), "content": content, **changes.pop("response", {})}
    return {"startedDateTime": started, "time": 100, "request": request, "response": response, **changes}


def imported(tmp_path: Path, *entries: dict[str, Any]) -> Imported:
    file = tmp_path / "visit.har"
    file.write_text(json.dumps({"log": {"entries": list(entries)}}))
    made = read_recording(file).build_workload("mine")
    (tmp_path / "workload.toml").write_text(made.text)
    return made


def test_pages_files_order_and_gaps(tmp_path: Path) -> None:
    made = imported(
        tmp_path,
        entry(0, "http://a.example/", text="<title>Hello {you}</title>"),
        entry(0.2, "http://a.example/x.css", "text/css"),
        entry(0.2, "http://cdn.example/y.js", "text/javascript"),
        entry(4.3, "http://a.example/find?q=one%20two", request={"headers": [{"name": "Cookie", "value": "s=1"}]}),
        entry(8.4, "http://a.example/", status=200),
    )
    workload = load(str(tmp_path))
    assert list(workload.operations) == ["home", "find", "home_2"]  # the second time the browser had the style
    assert workload.mix.sequence == ("home", "find", "home_2")
    assert workload.pacing.mean_s == pytest.approx(4.0)
    assert workload.operations["home"].title == "Hello {{you}}"
    assert workload.operations["home"].embedded == (EmbeddedFile(path="/x.css"),)
    assert workload.operations["find"].query == {"q": "one two"}
    assert made.target == "http://a.example"
    assert "1 request to other sites: http://cdn.example (1)" in made.left_out
    assert any("cookies" in what for what in made.left_out)


def test_forms_and_redirects(tmp_path: Path) -> None:
    form = {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "user", "value": "me"}]}
    other = {"mimeType": "application/json", "text": "{}"}
    made = imported(
        tmp_path,
        entry(0, "http://a.example/old", status=301, response={"redirectURL": "/new"}),
        entry(0.1, "http://a.example/new"),
        entry(3, "http://a.example/login", request={"method": "POST", "postData": form}),
        entry(6, "http://a.example/api", request={"method": "POST", "postData": other}),
    )
    operations = load(str(tmp_path)).operations
    assert (operations["old"].path, operations["old"].redirects) == ("/old", 1)
    assert operations["login"].form == {"user": "me"}
    assert operations["api"].body == "{{}}"
    assert operations["api"].headers == {"Content-Type": "application/json"}
    assert not any("api" in what for what in made.left_out)


def test_a_log_in_that_redirects_stays_what_it_was(tmp_path: Path) -> None:
    form = {"mimeType": "application/x-www-form-urlencoded", "text": "user=me&csrfmiddlewaretoken=Zk39vQ"}
    went = {"redirectURL": "http://a.example/account"}
    made = imported(
        tmp_path,
        entry(0, "http://a.example/login", text='<input name="csrfmiddlewaretoken" value="Zk39vQ">'),
        entry(5, "http://a.example/login", request={"method": "POST", "postData": form}, status=302, response=went),
        entry(5.2, "http://a.example/account", text="<title>Your account</title>"),
        entry(5.3, "http://a.example/a.css", "text/css"),
    )
    workload = load(str(tmp_path))
    assert workload.mix.sequence == ("login", "login_submit")
    entering = workload.operations["login_submit"]
    assert (entering.method, entering.path, entering.redirects, entering.status) == ("POST", "/login", 1, None)
    assert entering.form == {"user": "me", "csrfmiddlewaretoken": "{csrfmiddlewaretoken}"}
    (rule,) = workload.operations["login"].extract
    assert (rule.value, rule.field) == ("csrfmiddlewaretoken", "csrfmiddlewaretoken")
    assert (entering.title, entering.embedded) == ("Your account", (EmbeddedFile(path="/a.css"),))
    (one,) = made.correlated
    assert (one.operation, str(one.leaf), one.source, one.recordings) == (
        "login_submit",
        "field csrfmiddlewaretoken",
        "login",
        1,
    )


def test_a_redirect_to_another_site_is_where_the_operation_ends(tmp_path: Path) -> None:
    gone = {"redirectURL": "https://pay.example/"}
    imported(
        tmp_path,
        entry(0, "http://a.example/"),
        entry(3, "http://a.example/buy", request={"method": "POST"}, status=303, response=gone),
        entry(3.1, "https://pay.example/"),
    )
    buying = load(str(tmp_path)).operations["buy"]
    assert (buying.method, buying.redirects, buying.status) == ("POST", 0, (303,))


def test_a_page_visited_long_after_a_redirect_to_it_is_a_visit_of_its_own(tmp_path: Path) -> None:
    imported(
        tmp_path,
        entry(0, "http://a.example/end", status=301, response={"redirectURL": "/new"}),
        entry(9, "http://a.example/new"),
    )
    operations = load(str(tmp_path)).operations
    assert [(one.path, one.redirects) for one in operations.values()] == [("/end", 0), ("/new", 0)]
    assert list(operations) == ["page_end", "new"]


def test_what_changes_something_is_an_operation_and_keeps_its_headers(tmp_path: Path) -> None:
    headers = [
        *({"name": name, "value": "x"} for name in ("User-Agent", "sec-fetch-mode", "Cookie")),
        *({"name": name, "value": "y"} for name in ("X-CSRF", "X-Requested-With", "Referer")),
    ]
    body = {"mimeType": "application/json", "text": '{"a": 1}'}
    made = imported(
        tmp_path,
        entry(0, "http://a.example/"),
        entry(0.2, "http://a.example/item/1", "", request={"method": "PUT", "headers": headers, "postData": body}),
        entry(0.3, "http://a.example/late.js", "text/javascript"),
        entry(0.4, "http://a.example/item/1", "", request={"method": "DELETE"}, status=204),
        entry(0.5, "http://a.example/item/1", "", request={"method": "OPTIONS"}),
        entry(9, "http://a.example/items", "application/json", _resourceType="fetch"),
    )
    operations = load(str(tmp_path)).operations
    assert [one.method for one in operations.values()] == ["GET", "PUT", "DELETE", "GET"]
    assert operations["home"].embedded == (EmbeddedFile(path="/late.js"),)
    put = operations["item_1"]
    assert put.headers == {"X-CSRF": "y", "X-Requested-With": "y", "Referer": "y", "Content-Type": "application/json"}
    assert operations["item_1_delete"].status == (204,)
    assert "OPTIONS /item/1: workloads do not support the method" in made.left_out
    assert any("header X-CSRF of item_1 occurs in no earlier response" in place.missed for place in made.places)


def test_files_that_the_browser_had_and_those_that_failed_are_not_fetched(tmp_path: Path) -> None:
    made = imported(
        tmp_path,
        entry(0, "http://a.example/"),
        entry(0.1, "http://a.example/a.css", "text/css"),
        entry(0.1, "http://a.example/favicon.ico", "image/x-icon", status=404),
        entry(0.1, "http://a.example/never", "", status=0),
        entry(0.1, "ws://a.example/live", "", status=101),
        entry(5, "http://a.example/next"),
        entry(5.1, "http://a.example/a.css", "text/css", response={"_transferSize": 0}),
        entry(5.1, "http://a.example/b.css", "text/css", status=304),
        entry(5.1, "http://a.example/b.css", "text/css", _fromCache="memory"),
    )
    operations = load(str(tmp_path)).operations
    assert operations["home"].embedded == (EmbeddedFile(path="/a.css"),)
    assert operations["next"].embedded == (EmbeddedFile(path="/b.css", conditional=1),)
    said = " / ".join(made.left_out)
    for what in (
        "favicon.ico: answered 404",
        "/never: it got no response",
        "/live: it switched to another protocol",
        "2 files that the browser had in its cache",
    ):
        assert what in said


def test_what_a_table_would_lose_or_send_otherwise_is_kept_as_it_was(tmp_path: Path) -> None:
    form = {"mimeType": "application/x-www-form-urlencoded", "text": "size=1&size=2"}
    imported(
        tmp_path,
        entry(0, "http://a.example/find?q=Product+042&q=x{y}"),
        entry(2, "http://a.example/found?q=Product+042"),
        entry(4, "http://a.example/pick", request={"method": "POST", "postData": form}),
    )
    operations = load(str(tmp_path)).operations
    assert operations["find"].path == "/find?q=Product+042&q=x{{y}}"
    assert operations["found"].query == {"q": "Product 042"}
    assert operations["pick"].body == "size=1&size=2"
    assert operations["pick"].headers == {"Content-Type": "application/x-www-form-urlencoded"}


def test_a_page_of_titles_takes_no_time(tmp_path: Path) -> None:
    began = time.process_time()
    imported(tmp_path, entry(0, "http://a.example/", text="<title>" * 200_000 + "<title " * 200_000))
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a valid HAR file"),
        ("[" * 100_000, "not a valid HAR file"),
        ('{"log": {}}', "log.entries, .* is missing. Save a visit as HAR with content"),
        ('{"openapi": "3.0.0"}', "is missing. Use `loadstone workloads from-openapi` for an API description"),
        ("<jmeterTestPlan/>", "Invalid JSON: .* Save a visit as HAR with content"),
        ('{"log": {"entries": []}}', "no page"),
        (json.dumps({"log": {"entries": [entry(0, "http://[::1/")]}}), "no page"),
        (json.dumps({"log": {"entries": [{**entry(0, "http://a.example/"), "request": None}]}}), "entries.0.request"),
        (json.dumps({"log": {"entries": [{**entry(0, "http://a.example/"), "startedDateTime": ""}]}}), "start times"),
    ],
)
def test_what_is_no_recorded_visit_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.har").write_text(content)
    with pytest.raises(UsageError, match=message):
        read_recording(tmp_path / "x.har")


TEXTS = st.text(max_size=12) | st.sampled_from(
    [
        *(
            "GET",
            "POST",
            "OPTIONS",
            "text/html",
            "application/json",
            "a=1&a=2",
            "a=%zz&b={c}",
            "application/x-www-form",
        ),
        *(
            "http://a.example/",
            "http://a.example/x y?q={z}",
            "http://a.example:99999/",
            "http://[::1/",
            "ws://a.example/",
            '{"key": "k7Qw90ZxVb12Lm34"}',
        ),
        *("xhr", "websocket", "memory", "X-Token", "Location", "/next", "//", "<title>x</title>", "\x00", "\ud7ff"),
    ]
)
PAIRS = st.lists(st.fixed_dictionaries({"name": TEXTS, "value": TEXTS}), max_size=3)
MESSAGES = st.fixed_dictionaries(
    {"type": st.sampled_from(["send", "receive"]), "time": st.floats(0, 20), "opcode": st.integers(0, 9), "data": TEXTS}
)
ENTRIES = st.builds(
    lambda at, request, body, response, content, kind, messages: {
        **entry(at, "", _resourceType=kind, request=request | ({"postData": body} if body else {}), response=response),
        "response": {**response, "content": content},
        "_webSocketMessages": messages,
    },
    st.floats(0, 20),
    st.fixed_dictionaries({"method": TEXTS, "url": TEXTS, "headers": PAIRS}),
    st.none() | st.fixed_dictionaries({"mimeType": TEXTS, "text": TEXTS, "params": PAIRS}),
    st.fixed_dictionaries({"status": st.integers(-1, 600) | st.just(101), "redirectURL": TEXTS, "headers": PAIRS}),
    st.fixed_dictionaries({"mimeType": TEXTS, "text": TEXTS}),
    TEXTS,
    st.lists(MESSAGES, max_size=4),
)


SOCKETS = st.builds(
    lambda at, messages: entry(
        at, "ws://a.example/live", "", status=101, _resourceType="websocket", _webSocketMessages=messages
    ),
    st.floats(0, 20),
    st.lists(MESSAGES, min_size=1, max_size=4),
)


@given(entries=st.lists(ENTRIES | SOCKETS, max_size=6))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_a_visit_of_any_shape_is_taken_or_refused(tmp_path: Path, entries: list[dict[str, Any]]) -> None:
    with contextlib.suppress(UsageError):
        imported(tmp_path, entry(0, "http://a.example/"), *entries)
    load(str(tmp_path))
