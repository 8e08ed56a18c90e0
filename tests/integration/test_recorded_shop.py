"""A recorded visit is played on another host: bodies and queries go out as they were recorded, and users who are placed
behind the log-in have got in.
"""

import http.client
import json
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

import pytest

from loadstone.workloads.importers.from_har import read_recording
from tests.integration.conftest import LoadstoneRunner, newest, report, require_requests, rows, run_until
from tests.verdicts import WINDOW, broken_rules

pytestmark = pytest.mark.integration

PASSWORD = "granite-and-basalt"
FORM = "application/x-www-form-urlencoded"
TOKEN = re.compile(r"[0-9a-f]{32}")
OPERATIONS = ("me", "products", "order")


class Shop(BaseHTTPRequestHandler):
    """Takes log-ins from browsers that keep a test cookie alone, and requests with a fresh token."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body at once
    sessions: set[str]
    tokens: set[str]
    saved: set[str]
    """Numbers of what was saved, which redirects alone tell."""
    received: list[str]

    def do_GET(self) -> None:
        """Pages."""
        path = urlsplit(self.path).path
        token = secrets.token_hex(16)
        self.tokens.add(token)
        field = f'<input type=hidden name=csrf value="{token}">'
        if path == "/":
            self._answer("<TITLE lang=en>Welcome &amp; hello</TITLE>")
        elif path == "/login":
            self._answer(f"<title>Log in</title>{field}", cookie="test=1")
        elif self._cookie("sid") not in self.sessions:
            self._answer("<title>Log in first</title>", 403)
        else:
            self._answer(f"<title>{path.split('/')[1]}</title>{field}")

    def do_POST(self) -> None:
        """What changes something."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.received.append(f"{self.path} {body}")
        url = urlsplit(self.path)
        fields = parse_qs(body)
        is_fresh = fields.get("csrf", [self.headers["X-CSRF"]])[0] in self.tokens
        if url.path == "/login":
            lead = dict(parse_qsl(url.query))["redirect_to"]
            is_right = fields["pwd"] == [PASSWORD] and lead == f"http://{self.headers['Host']}/account"
            if not (is_right and is_fresh and self._cookie("test")):
                self._answer("<title>Refused</title>Cookies are blocked")
                return
            session = secrets.token_hex(8)
            self.sessions.add(session)
            self._answer("", 302, cookie=f"sid={session}", location="/account")
        elif self._cookie("sid") not in self.sessions or not is_fresh:
            self._answer("<title>Refused</title>", 403)
        elif url.path == "/save" and len(fields["item[]"]) == 2 and "\n" in fields["note"][0]:
            number = secrets.token_hex(16)
            self.saved.add(number)
            self._answer("", 303, location=f"/saved/{number}")
        elif url.path.startswith("/saved/") and url.path.split("/")[2] not in self.saved:
            self._answer("<title>Not saved</title>", 404)
        else:
            self._answer(json.dumps({"data": body}), kind="application/json")

    def _answer(
        self, text: str, status: int = 200, *, kind: str = "text/html", cookie: str = "", location: str = ""
    ) -> None:
        self.send_response(status)
        lines = {"Content-Type": kind, "Content-Length": str(len(text)), "Location": location, "Set-Cookie": cookie}
        for name, value in lines.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def _cookie(self, name: str) -> str:
        pairs = (pair.strip().partition("=") for pair in self.headers.get("Cookie", "").split(";"))
        return next((value for key, _, value in pairs if key == name), "")

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def shop() -> Iterator[tuple[str, list[str]]]:
    """A shop on a free port: its address, and paths with bodies of what was posted."""
    received: list[str] = []
    handler = type("Handler", (Shop,), {"sessions": set(), "tokens": set(), "saved": set(), "received": received})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", received
        server.shutdown()


class Browser:
    """Records what it asks for, at moments three seconds apart."""

    def __init__(self, site: str) -> None:
        self.site = site
        self.path = ""
        """Of the last answer."""
        self.entries: list[dict[str, Any]] = []
        self.cookies: dict[str, str] = {}
        self.began_s = time.time()

    def ask(self, method: str, path: str, body: str = "", kind: str = FORM, **headers: str) -> str:
        """Asks for something and follows redirects; the text of the last answer."""
        self.path = path
        sent = {**headers, "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        sent |= {"Content-Type": kind} if body else {}
        connection = http.client.HTTPConnection(self.site.removeprefix("http://"), timeout=10)
        connection.request(method, path, body or None, sent)
        answer = connection.getresponse()
        text, location = answer.read().decode(), answer.getheader("Location", "")
        connection.close()
        if cookie := answer.getheader("Set-Cookie"):
            name, _, value = cookie.partition("=")
            self.cookies[name] = value
        self._record((method, path, body, kind), headers, answer, text)
        return self.ask("GET", location) if location else text

    def _record(
        self, asked: tuple[str, str, str, str], headers: dict[str, str], answer: http.client.HTTPResponse, text: str
    ) -> None:
        method, path, body, kind = asked
        pause_s = 0.01 if self.entries and self.entries[-1]["response"]["redirectURL"] else 3
        self.began_s += pause_s
        request: dict[str, Any] = {"method": method, "url": self.site + path, "headers": _pairs(headers)}
        request |= {"postData": {"mimeType": kind, "text": body}} if body else {}
        content = {"mimeType": answer.getheader("Content-Type"), "text": text}
        response = {"status": answer.status, "headers": _pairs(dict(answer.getheaders())), "content": content}
        response["redirectURL"] = answer.getheader("Location", "")
        started = datetime.fromtimestamp(self.began_s, UTC).isoformat()
        self.entries.append({"startedDateTime": started, "time": 5, "request": request, "response": response})


def _pairs(table: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in table.items()]


def visit(site: str, file: Path) -> None:
    """Records a visit: log-in, three requests to one address, a form with a field twice, a print of what was saved."""
    browser = Browser(site)
    browser.ask("GET", "/")
    page = browser.ask("GET", "/login")
    where = quote(f"{site}/account", safe="")
    page = browser.ask("POST", f"/login?redirect_to={where}", f"log=ann&pwd={PASSWORD}&csrf={_token(page)}")
    for what in OPERATIONS:
        query = json.dumps({"query": f"query {what} {{ {what} }}"})
        browser.ask("POST", "/graphql", query, "application/json", **{"X-CSRF": _token(page)})
    page = browser.ask("POST", "/save", f"csrf={_token(page)}&item%5B%5D=1&item%5B%5D=2&note=two%0D%0Alines")
    browser.ask("POST", f"{browser.path}/print", f"csrf={_token(page)}")
    file.write_text(json.dumps({"log": {"entries": browser.entries}}))


def _token(page: str) -> str:
    found = TOKEN.search(page)
    assert found, page
    return found[0]


@pytest.mark.slow("a run")
def test_a_visit_is_played_on_another_host_as_it_was_recorded(
    loadstone_here: LoadstoneRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop() as (site, received):
        files = tmp_path / "a.har", tmp_path / "b.har"
        for file in files:
            visit(site, file)
        recorded_bodies = [TOKEN.sub("TOKEN", line).replace(quote(site, safe=""), "SITE") for line in received[:6]]
    assert loadstone_here("workloads", "from-har", *map(str, files), "-o", "mine").returncode == 0
    assert PASSWORD not in (tmp_path / "mine" / "workload.toml").read_text()
    for variable, text in read_recording(*files).list_secrets("mine").items():
        monkeypatch.setenv(variable, text)
    with shop() as (site, received):
        tried = loadstone_here("try", "mine", "--target", site)
        assert tried.returncode == 0, tried.stdout
        sent_bodies = [TOKEN.sub("TOKEN", line).replace(quote(site, safe=""), "SITE") for line in received]
        assert sent_bodies == recorded_bodies
        words = ("run", "mine", "--target", site, "--sessions", "60", *WINDOW)
        done = run_until(loadstone_here, tmp_path, require_requests(1, "save"), *words)
        assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    operations = rows(report(tmp_path))
    assert operations["Total"]["errors"] == 0
    assert {f"graphql_{what}" for what in OPERATIONS} < operations.keys()
