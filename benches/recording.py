"""A recorded visit for the importer: pages with files, and forms with values that the pages gave out."""

import hashlib
import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Json = dict[str, Any]

START = datetime(2026, 1, 1, tzinfo=UTC)
PAGES = 214
FILES_EACH = 12
"""Files of a page; each is asked for by every page."""
PAGE_BYTES = 150_000
FILE_BYTES = 3_000
PAUSE_S = 5
WORD_LETTERS = 7
WORDS = [hashlib.sha256(f"word {at}".encode()).hexdigest()[: WORD_LETTERS - 1] for at in range(3_000)]
"""Words of the site's texts, which its pages share."""


def write_recording(path: Path, visit: int) -> None:
    """Writes a recording (HAR) of about 40 MB. Recordings of two visits have the same steps and other tokens."""
    entries: list[Json] = []
    for number in range(PAGES):
        at_s = PAUSE_S * number
        entries.append(_page(at_s, number, visit))
        entries.extend(_file(at_s + 1 + place / 100, place) for place in range(FILES_EACH))
    path.write_text(json.dumps({"log": {"entries": entries}}), encoding="utf-8")


def _page(at_s: float, number: int, visit: int) -> Json:
    """A form that sends what the page before gave out, and a page that gives out the next values."""
    token, row = _token("token", number, visit), 1000 + 7 * number
    fields = f'<input type=hidden name="csrf" value="{token}"><input type=hidden name="row" value="{row}">'
    body = f"<html><head><title>Page {number}</title></head><body><form>{fields}</form>"
    body += _filler(f"page {number}", PAGE_BYTES - len(body))
    request: Json = {"method": "GET", "url": f"http://a.example/page/{number}"}
    if number:
        given, own = _token("token", number - 1, visit), _token("own", number, visit)
        form = f"csrf={given}&row={1000 + 7 * (number - 1)}&own={own}"
        kind = "application/x-www-form-urlencoded"
        request = {**request, "method": "POST", "postData": {"mimeType": kind, "text": form}}
    return _entry(at_s, request, "text/html", body)


def _file(at_s: float, place: int) -> Json:
    request = {"method": "GET", "url": f"http://a.example/files/{place}.css"}
    return _entry(at_s, request, "text/css", _filler(f"file {place}", FILE_BYTES))


def _entry(at_s: float, request: Json, kind: str, body: str) -> Json:
    response = {"status": 200, "content": {"mimeType": kind, "text": body}}
    started = (START + timedelta(seconds=at_s)).isoformat()
    return {"startedDateTime": started, "time": 100, "request": {"headers": [], **request}, "response": response}


def _token(kind: str, number: int, visit: int) -> str:
    return hashlib.sha256(f"{kind} {number} {visit}".encode()).hexdigest()[:32]


def _filler(name: str, length: int) -> str:
    """Text of this length in the words of the site, in another order for each name."""
    order = random.Random(name)
    return " ".join(order.choices(WORDS, k=length // WORD_LETTERS + 1))[:length]
