"""Small HAR files for cases. `entry(url, ...)` returns an exchange; `write(file, entries)` writes the file."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

BEGAN = datetime(2026, 3, 1, 9, 0, 0, tzinfo=UTC)


def entry(
    url,
    at_s=0.0,
    method="GET",
    status=200,
    mime="text/html; charset=utf-8",
    text="",
    took_ms=20,
    kind=None,
    sent=None,
    sent_mime=None,
    response_headers=(),
    request_headers=(),
    content=None,
    redirect="",
    **more,
):
    request = {
        "method": method,
        "url": url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "queryString": [],
        "headers": [{"name": n, "value": v} for n, v in (("Host", url.split("/")[2]), *request_headers)],
        "headersSize": -1,
        "bodySize": -1,
    }
    if sent is not None:
        request["postData"] = {"mimeType": sent_mime or "application/x-www-form-urlencoded", "text": sent}
    response = {
        "status": status,
        "statusText": "",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": [{"name": n, "value": v} for n, v in response_headers],
        "content": content if content is not None else {"size": len(text), "mimeType": mime, "text": text},
        "redirectURL": redirect,
        "headersSize": -1,
        "bodySize": len(text),
    }
    exchange = {
        "startedDateTime": (BEGAN + timedelta(seconds=at_s)).isoformat(),
        "time": took_ms,
        "request": request,
        "response": response,
        "cache": {},
        "timings": {"send": 0, "wait": took_ms, "receive": 0},
    }
    if kind:
        exchange["_resourceType"] = kind
    exchange.update(more)
    return exchange


def write(file, entries, creator="cases", bom=False, **log):
    document = {
        "log": {"version": "1.2", "creator": {"name": creator, "version": "1"}, "pages": [], "entries": entries, **log}
    }
    text = json.dumps(document, indent=1)
    Path(file).write_bytes((b"\xef\xbb\xbf" if bom else b"") + text.encode())
