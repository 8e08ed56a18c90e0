"""What a HAR file becomes, and what is left out of it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.errors import UsageError
from loadstone.model.workload import EmbeddedFile
from loadstone.workloads import load
from loadstone.workloads.from_har import Imported, from_har

START = datetime(2026, 1, 1, tzinfo=UTC)


def entry(at_s: float, url: str, kind: str = "text/html", **changes: Any) -> dict[str, Any]:
    request = {"method": "GET", "url": url, "headers": [], **changes.pop("request", {})}
    content = {"mimeType": kind, "text": changes.pop("text", "")}
    started = (START + timedelta(seconds=at_s)).isoformat()
    response = {"status": changes.pop("status", 200), "content": content}
    return {"startedDateTime": started, "time": 100, "request": request, "response": response}


def imported(tmp_path: Path, *entries: dict[str, Any]) -> Imported:
    file = tmp_path / "visit.har"
    file.write_text(json.dumps({"log": {"entries": list(entries)}}))
    made = from_har(file, "mine")
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
    assert list(workload.operations) == ["home", "find"]
    assert workload.mix.sequence == ("home", "find", "home")
    assert workload.pacing.mean_s == pytest.approx(4.0)
    assert workload.operations["home"].title == "Hello {{you}}"
    assert workload.operations["home"].embedded == (EmbeddedFile(path="/x.css"),)
    assert workload.operations["find"].query == {"q": "one two"}
    assert made.target == "http://a.example"
    assert any("1 requests to other sites" in what for what in made.left_out)
    assert any("cookies" in what for what in made.left_out)


def test_forms_and_redirects(tmp_path: Path) -> None:
    form = {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "user", "value": "me"}]}
    other = {"mimeType": "application/json", "text": "{}"}
    made = imported(
        tmp_path,
        entry(0, "http://a.example/old", status=301),
        entry(0.1, "http://a.example/new"),
        entry(3, "http://a.example/login", request={"method": "POST", "postData": form}),
        entry(6, "http://a.example/api", request={"method": "POST", "postData": other}),
    )
    operations = load(str(tmp_path)).operations
    assert operations["new"].redirects == 1
    assert operations["login"].form == {"user": "me"}
    assert operations["api"].body == "{{}}"
    assert operations["api"].headers == {"Content-Type": "application/json"}
    assert not any("api" in what for what in made.left_out)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "no HAR file"), ('{"log": {}}', "log.entries"), ('{"log": {"entries": []}}', "no page")],
)
def test_what_is_no_recorded_visit_is_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.har").write_text(content)
    with pytest.raises(UsageError, match=message):
        from_har(tmp_path / "x.har", "x")
