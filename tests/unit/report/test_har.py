"""A traced visit as HAR: without cookies and credentials, unless they are asked for."""

import json
from datetime import UTC, datetime

from loadstone.model.records.events import Exchange
from loadstone.report.har import as_har

REQUEST = (
    "GET / HTTP/1.1\r\nHost: shop\r\nCookie: sid=secret-1; theme=secret-2\r\nAuthorization: Basic secret-3\r\n\r\nq=1"
)
ANSWER = "HTTP/1.1 200 OK\r\nSet-Cookie: sid=secret-4; Path=/; HttpOnly\r\nset-cookie: other=secret-5\r\n\r\n"
EXCHANGE = Exchange("exchange", 0, 1, 2, False, REQUEST, ANSWER, "body", 4, 4, "")
SITES = {False: "http://shop", True: "https://shop"}


def archive(has_cookies: bool) -> str:
    return json.dumps(as_har([EXCHANGE], datetime(2026, 1, 1, tzinfo=UTC), SITES, has_cookies))


def test_a_trace_names_cookies_without_their_values() -> None:
    written = archive(has_cookies=False)
    assert "secret-" not in written
    for text in ("sid=***; theme=***", "Basic ***", "sid=***; Path=/; HttpOnly", "other=***", "q=1"):
        assert text in written


def test_a_trace_has_them_where_they_are_asked_for() -> None:
    written = archive(has_cookies=True)
    assert all(f"secret-{number}" in written for number in range(1, 6))
