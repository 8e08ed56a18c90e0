"""Recordings as programs write them: a field that is missing or odd costs itself, not the recording."""

import base64
import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.errors import UsageError
from loadstone.model.workload.operation import EmbeddedFile
from loadstone.workloads import load
from loadstone.workloads.importers.from_har import read_recording
from loadstone.workloads.importers.imported import Imported
from tests.unit.workloads.test_from_har import entry

SITE = "http://a.example"
FORM = "application/x-www-form-urlencoded"


def written(tmp_path: Path, content: bytes) -> Imported:
    (tmp_path / "visit.har").write_bytes(content)
    made = read_recording(tmp_path / "visit.har").build_workload("mine")
    (tmp_path / "workload.toml").write_text(made.text)
    return made


def imported(tmp_path: Path, *entries: dict[str, Any]) -> Imported:
    return written(tmp_path, json.dumps({"log": {"entries": entries}}).encode())


def page(at_s: float = 0, path: str = "/", title: str = "Shop", **changes: Any) -> dict[str, Any]:
    return entry(at_s, SITE + path, text=f"<title>{title}</title>", **changes)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path, encoding: str) -> None:
    content = json.dumps({"log": {"entries": [page(title="Bücher")]}}, ensure_ascii=False)
    written(tmp_path, content.encode(encoding))
    assert load(str(tmp_path)).operations["home"].title == "Bücher"


def at(*keys: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def found(one: dict[str, Any]) -> dict[str, Any]:
        for key in keys:
            one = one.setdefault(key, {})
        return one

    return found


POSTED = {"mimeType": FORM, "text": "a=1"}
ODD: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("response",), {"redirectURL": None}),
    (("response", "content"), {"mimeType": None}),
    (("response", "content"), {"text": None}),
    (("response", "content"), {"text": {"a": 1}, "mimeType": "application/json"}),
    (("response",), {"headers": None}),
    (("response",), {"headers": [{"name": "X", "value": None}, {"name": "Y", "value": 12}, {"name": None}, 7]}),
    (("response",), {"headers": {"Content-Type": "text/css"}}),
    (("response",), {"status": None}),
    (("response",), {"status": "200"}),
    (("response",), {"status": -999}),
    (("response",), {"_transferSize": 12.5}),
    (("response",), {"_transferSize": "unknown"}),
    (("response",), {"content": None}),
    ((), {"time": None}),
    ((), {"time": "NaN"}),
    ((), {"time": float("inf")}),
    ((), {"response": None}),
    ((), {"startedDateTime": None}),
    ((), {"startedDateTime": "yesterday"}),
    ((), {"startedDateTime": "2026-01-01T00:00:00.1234567+00:00"}),
    ((), {"_resourceType": None, "_fromCache": None, "_webSocketMessages": None}),
    ((), {"_fromCache": True}),
    (("request",), {"postData": None}),
    (("request",), {"headers": None}),
    (("request",), {"method": "POST", "postData": {**POSTED, "params": None}}),
    (("request",), {"method": "POST", "postData": {"mimeType": None, "text": None}}),
    (("request",), {"method": "POST", "postData": {**POSTED, "params": [{"name": "f", "value": None}]}}),
    (("request",), {"method": "CONNECT", "url": "a.example:443"}),
    (("request",), {"url": "blob:http://a.example/0b1c"}),
    (("request",), {"method": None}),
    (("request",), {"url": None}),
    ((), {"request": None}),
]


@pytest.mark.parametrize(("keys", "change"), ODD)
def test_an_odd_entry_does_not_cost_the_recording(
    tmp_path: Path, keys: tuple[str, ...], change: dict[str, Any]
) -> None:
    odd = entry(0.1, f"{SITE}/a.js", "text/javascript")
    at(*keys)(odd).update(change)
    made = imported(tmp_path, page(), odd, page(5, "/next"))
    assert {"home", "next"} <= load(str(tmp_path)).operations.keys()
    if {"request", "method", "url"} & change.keys() and None in change.values():
        assert any(what.startswith("1 entries that are not requests (entries.1.request") for what in made.left_out)


def test_an_entry_that_is_none_is_left_out_and_named(tmp_path: Path) -> None:
    content = json.dumps({"log": {"entries": [page(), "odd", 7, {"startedDateTime": "x"}, []]}})
    (told,) = written(tmp_path, content.encode()).left_out
    assert told.startswith("4 entries that are not requests (entries.1: ")
    assert told.endswith("and 1 more)")


def test_half_a_letter_is_no_trouble(tmp_path: Path) -> None:
    content = json.dumps({"log": {"entries": [page(title="half \ud83d of it")]}})
    written(tmp_path, content.encode())
    assert load(str(tmp_path)).operations["home"].title == "half ? of it"


@pytest.mark.parametrize("kind", ["text/html; charset=iso-8859-1", "text/html", "application/json"])
def test_a_body_recorded_by_base64_is_read(tmp_path: Path, kind: str) -> None:
    token = "5f3c9a1e7b2d4c608f1e2d3c4b5a6978"
    text = f'<title>Bücher</title><input name="csrf" value="{token}">' if "html" in kind else f'{{"csrf": "{token}"}}'
    body = base64.b64encode(text.encode("iso-8859-1" if "8859" in kind else "utf-8")).decode()
    first = entry(3, f"{SITE}/form", kind, response={})
    first["response"]["content"] = {"mimeType": kind, "text": body, "encoding": "base64"}
    request = {"method": "POST", "postData": {"mimeType": FORM, "text": f"csrf={token}"}}
    imported(tmp_path, page(), first, entry(6, f"{SITE}/send", request=request))
    operations = load(str(tmp_path)).operations
    assert operations["send"].form == {"csrf": "{csrf}"}
    assert operations["form"].title == ("Bücher" if "html" in kind else None)


def test_a_page_from_the_cache_or_a_service_worker_is_asked_for(tmp_path: Path) -> None:
    had = {"_transferSize": 0}
    imported(tmp_path, page(response=had), entry(0.1, f"{SITE}/a.css", "text/css", response=had), page(5, "/b"))
    assert load(str(tmp_path)).mix.sequence == ("home", "b")


def test_a_page_that_the_user_goes_back_to_in_the_cache_is_not_asked_for(tmp_path: Path) -> None:
    imported(tmp_path, page(), page(5, "/b"), page(9, _fromCache="disk"), page(12, "/c"))
    assert load(str(tmp_path)).mix.sequence == ("home", "b", "c")


def test_a_recording_of_an_interface_alone_is_played(tmp_path: Path) -> None:
    calls = [entry(n, f"{SITE}/v1/{path}", "application/json", text="{}") for n, path in enumerate("abc")]
    imported(tmp_path, *calls, entry(9, "http://ads.example/", "image/gif"))
    assert load(str(tmp_path)).mix.sequence == ("v1_a", "v1_b", "v1_c")


def test_pipes_devices_and_folders_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(UsageError, match="is not an ordinary file"):
            read_recording(file)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"_resourceType": "eventsource", "kind": "text/event-stream", "time": 20_000}, "a stream of events"),
        ({"_resourceType": "fetch", "kind": "text/event-stream; charset=utf-8", "time": 20_000}, "a stream of events"),
        ({"_resourceType": "xhr", "kind": "application/json", "time": 25_000}, "a long poll, open for 25 s"),
        ({"_resourceType": "fetch", "kind": "text/plain", "time": 9_000}, "a long poll, open for 9 s"),
    ],
)
def test_what_stays_open_beside_the_visit_is_no_part_of_it(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    stays = entry(0.2, f"{SITE}/events", **change)
    made = imported(tmp_path, page(), stays, page(5, "/cart", "Cart"))
    workload = load(str(tmp_path))
    assert workload.mix.sequence == ("home", "cart")
    assert workload.operations["home"].embedded == ()
    assert any("/events" in what and said in what for what in made.left_out), made.left_out


def test_a_long_file_does_not_swallow_the_next_page(tmp_path: Path) -> None:
    film = entry(0.2, f"{SITE}/film.mp4", "video/mp4", time=30_000)
    imported(tmp_path, page(), film, page(5, "/cart", "Cart"))
    workload = load(str(tmp_path))
    assert workload.mix.sequence == ("home", "cart")
    assert workload.operations["home"].embedded == (EmbeddedFile(path="/film.mp4"),)


def test_a_page_that_the_browser_revalidated_comes_whole(tmp_path: Path) -> None:
    again = page(5, status=304, request={"headers": [{"name": "If-None-Match", "value": '"1"'}]})
    imported(tmp_path, page(), again)
    workload = load(str(tmp_path))
    assert workload.mix.sequence == ("home", "home")
    assert workload.operations["home"].status is None


def test_a_redirect_of_a_file_to_another_site_is_where_it_ends(tmp_path: Path) -> None:
    elsewhere = {"redirectURL": "https://avatars.example/1.png"}
    imported(
        tmp_path,
        page(),
        entry(0.1, f"{SITE}/avatar", "image/png", status=302, response=elsewhere),
        entry(0.1, f"{SITE}/beacon.gif", "image/gif", status=204),
    )
    assert load(str(tmp_path)).operations["home"].embedded == (
        EmbeddedFile(path="/avatar", status=(302,)),
        EmbeddedFile(path="/beacon.gif"),
    )


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<TITLE>Shop</TITLE>", "Shop"),
        ('<title data-react-helmet="true">Shop</title>', "Shop"),
        ("<title>\n The\n  shop </title>", "The shop"),
        (
            "<title>Posts &lsaquo; Shop &#8211; WordPress &amp; more</title>",
            "Posts \u2039 Shop \u2013 WordPress & more",
        ),
        ("<titlebar>no</titlebar><title>Shop</title >", "Shop"),
        (f"<style>{'a{}' * 7000}</style><title>Shop</title>", "Shop"),
        ("<title>Shop", None),
        ("<title><b></title>", None),
        ("no", None),
    ],
)
def test_titles_are_read_as_browsers_show_them(tmp_path: Path, html: str, title: str | None) -> None:
    made = imported(tmp_path, entry(0, f"{SITE}/", text=html))
    assert load(str(tmp_path)).operations["home"].title == title
    assert made.by_status == (title is None)


def test_each_of_many_pages_gives_its_own_value(tmp_path: Path) -> None:
    entries = []
    for number in range(300):
        token = f"{number:04}a9b8c7d6e5f4"
        text = f'<title>{number}</title><input name="t" value="{token}">'
        entries.append(entry(6 * number, f"{SITE}/{number}", text=text))
        request = {"method": "POST", "postData": {"mimeType": FORM, "text": f"t={token}&n={number}"}}
        entries.append(entry(6 * number + 3, f"{SITE}/send", request=request))
    made = imported(tmp_path, *entries)
    assert len([one for one in made.correlated if one.rule]) == 300


def requested(**headers: str) -> list[dict[str, str]]:
    return [{"name": name.replace("_", "-"), "value": text} for name, text in headers.items()]


@pytest.mark.parametrize(
    "change",
    [
        {"_resourceType": "image"},
        {"_resourceType": "Other"},
        {"request": {"headers": requested(Sec_Fetch_Dest="image", Accept="*/*")}},
        {"request": {"headers": requested(Accept="image/avif,image/webp,*/*")}},
        {},
    ],
)
def test_a_missing_file_that_is_answered_by_a_page_is_no_page(tmp_path: Path, change: dict[str, Any]) -> None:
    missing = page(3, "/favicon.ico", title="Not found", response={"status": 404}, **change)
    made = imported(tmp_path, page(), missing, entry(4, f"{SITE}/a.css", kind="text/css"))
    operations = load(str(tmp_path)).operations
    assert operations.keys() == {"home"}
    assert [file.path for file in operations["home"].embedded] == ["/a.css"]
    assert "GET /favicon.ico: answered 404" in made.left_out


@pytest.mark.parametrize(
    "headers",
    [
        requested(Sec_Fetch_Dest="empty", Sec_Fetch_Mode="cors"),
        requested(HX_Request="true"),
        requested(X_Requested_With="XMLHttpRequest"),
    ],
)
def test_a_fragment_that_a_program_asks_for_is_no_page(tmp_path: Path, headers: list[dict[str, str]]) -> None:
    part = page(3, "/part", title="", request={"headers": headers})
    imported(tmp_path, page(), part, entry(3.5, f"{SITE}/a.png", kind="image/png"))
    operations = load(str(tmp_path)).operations
    assert list(operations) == ["home", "part"]
    assert [file.path for file in operations["home"].embedded] == ["/a.png"]


@pytest.mark.parametrize(
    "change",
    [
        {"_resourceType": "EventSource"},
        {"kind": "Text/Event-Stream;charset=UTF-8"},
        {"kind": "", "request": {"headers": requested(Accept="text/event-stream")}},
        {"kind": "multipart/x-mixed-replace; boundary=f", "_resourceType": "image"},
    ],
)
def test_a_stream_is_known_by_any_of_its_marks(tmp_path: Path, change: dict[str, Any]) -> None:
    stream = entry(0.2, f"{SITE}/live", time=90_000, **change)
    made = imported(tmp_path, page(), stream, page(8, "/next"))
    assert list(load(str(tmp_path)).operations) == ["home", "next"]
    assert "GET /live: a stream of events, which stays open as long as its page" in made.left_out


def test_an_answer_that_streams_to_a_post_is_played(tmp_path: Path) -> None:
    asked = {"method": "POST", "postData": {"mimeType": "application/json", "text": '{"q": "hi"}'}}
    imported(tmp_path, page(), entry(3, f"{SITE}/chat", kind="text/event-stream", request=asked))
    assert load(str(tmp_path)).operations["chat"].body == '{{"q": "hi"}}'


@pytest.mark.parametrize(
    "goal", ["/caf\u00e9 x?q=\u00e4#top", "caf%C3%A9%20x?q=%C3%A4", "../y/../caf\u00e9 x?q=\u00e4"]
)
def test_a_redirect_to_an_address_with_other_letters_is_followed(tmp_path: Path, goal: str) -> None:
    moved = entry(0, f"{SITE}/old", response={"status": 302, "headers": requested(Location=goal)})
    imported(tmp_path, moved, page(0.1, "/caf%C3%A9%20x?q=%C3%A4"))
    (operation,) = load(str(tmp_path)).operations.values()
    assert (operation.path, operation.redirects, operation.title) == ("/old", 1, "Shop")


@pytest.mark.parametrize(
    "change",
    [{"_resourceType": ["script"]}, {"response": []}, {"response": {"status": 200, "content": "text"}}],
)
def test_a_field_of_another_type_counts_as_missing(tmp_path: Path, change: dict[str, Any]) -> None:
    odd = {**entry(0.1, f"{SITE}/a.js", kind="text/javascript"), **change}
    made = imported(tmp_path, page(), odd)
    assert not any("no requests" in reason for reason in made.left_out)


def test_a_body_that_was_written_as_its_text_alone_is_sent(tmp_path: Path) -> None:
    sent = entry(3, f"{SITE}/send")
    sent["request"] |= {"method": "POST", "postData": "a=1"}
    imported(tmp_path, page(), sent)
    assert load(str(tmp_path)).operations["send"].body == "a=1"


def test_a_name_in_letters_and_in_punycode_is_one_site(tmp_path: Path) -> None:
    first = entry(0, "https://b\u00fccher.example/", text="<title>Shop</title>")
    made = imported(tmp_path, first, entry(5, "https://xn--bcher-kva.example/b", text="<title>Cart</title>"))
    assert (made.target, made.operations) == ("https://xn--bcher-kva.example", 2)


@pytest.mark.parametrize(
    "change",
    [
        {"_resourceType": "document", "kind": "x-unknown"},
        {"kind": "", "request": {"headers": requested(Accept="text/html,*/*;q=0.8")}},
        {"kind": ""},
    ],
)
def test_a_page_that_was_not_modified_is_one_without_its_type(tmp_path: Path, change: dict[str, Any]) -> None:
    imported(tmp_path, entry(0, f"{SITE}/", response={"status": 304}, **change), page(5, "/next"))
    assert list(load(str(tmp_path)).operations) == ["home", "next"]


def test_a_file_that_the_user_opens_is_no_part_of_the_page_before(tmp_path: Path) -> None:
    opened = entry(4, f"{SITE}/bill.pdf", kind="application/pdf", _resourceType="document")
    imported(tmp_path, page(_resourceType="document"), opened, page(9, "/next", _resourceType="document"))
    operations = load(str(tmp_path)).operations
    assert list(operations) == ["home", "bill_pdf", "next"]
    assert not operations["home"].embedded


def test_addresses_of_ipv6_are_sites_of_their_own(tmp_path: Path) -> None:
    pages = [entry(at, f"http://[::{name}]/", text="<title>a</title>") for at, name in enumerate((1, 2, 2, 2))]
    assert imported(tmp_path, *pages).target == "http://[::1]"


def packed(content: bytes, names: list[str]) -> bytes:
    if not names:
        return gzip.compress(content)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize("names", [[], ["visit.har"], ["har.har", "abc.html"]])
def test_a_packed_recording_is_read(tmp_path: Path, names: list[str]) -> None:
    content = json.dumps({"log": {"entries": [page()]}}).encode()
    assert written(tmp_path, packed(content, names)).operations == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"\x1f\x8b\x08\x00junk", "cannot be unpacked"),
        (b"PK\x03\x04junk", "cannot be unpacked"),
        pytest.param(packed(b"{}", ["a.har", "b.har"]), "contains 2 files. Unpack it", id="two files"),
    ],
)
def test_a_file_that_cannot_be_unpacked_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        written(tmp_path, content)
