"""What an import says: what must be acted on first, within a screen."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadstone.cli import workloads
from loadstone.cli.exits import Exit
from loadstone.run.verify import Verified, VisitRefusal
from tests.unit.workloads.test_from_har import entry

SITE = "http://a.example"
PASSWORD = "Secret-123-pw"


@pytest.fixture
def har(tmp_path: Path) -> Path:
    form = {"mimeType": "application/x-www-form-urlencoded", "text": f"log=ann&pwd={PASSWORD}&csrf=5f3c9a1e7b2d4c60"}
    entries: list[dict[str, Any]] = [
        entry(0, f"{SITE}/", text="<title>Shop</title>"),
        *(entry(0.1, f"{SITE}/{number}.js", "text/javascript", status=404) for number in range(40)),
        *(entry(0.1, f"http://{number}.gravatar.example/", "image/png") for number in (1, 2)),
        entry(4, f"{SITE}/login", request={"method": "POST", "postData": form}),
        entry(5, f"{SITE}/a.css", "text/css", _fromCache="memory"),
    ]
    (tmp_path / "visit.har").write_text(json.dumps({"log": {"entries": entries}}))
    return tmp_path / "visit.har"


def test_what_must_be_acted_on_stands_first_on_one_screen(har: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert workloads.from_har_(har, output=har.parent / "my-shop") is Exit.PASS
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("workload.toml: 2 operations, 1 of them checked by status alone")
    assert lines[1] == (
        "look at: field pwd of login is a password; it is read from the variable MY_SHOP_PASSWORD and never stored"
    )
    assert lines[2].startswith("look at: field log of login is `ann` for all sessions: one account.")
    assert lines[-1].startswith("Next: MY_SHOP_PASSWORD=... loadstone try ")
    left_out = [line for line in lines if line.startswith("left out: ")]
    assert lines.index(left_out[0]) > 3
    assert len(lines) < 25
    assert any("more such lines" in line for line in left_out)
    assert PASSWORD not in "".join(lines)


def test_a_visit_that_the_site_refuses_ends_with_1_and_the_reason(
    har: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = VisitRefusal("login", 2, "status 403 instead of [200]", "Forbidden: the token is too old")
    monkeypatch.setattr(workloads, "_verified", lambda *_: Verified((), (), refusal))
    folder = har.parent / "mine"
    assert workloads.from_har_(har, output=folder, verify_at="http://127.0.0.1:1") is Exit.FAIL
    assert (folder / "workload.toml").exists()
    (failed,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("failed: ")]
    assert failed.startswith(
        "failed: the site refused the visit: login, operation 2 of the visit: status 403 instead of [200]. "
        "The answer says: Forbidden: the token is too old"
    )
    assert "field csrf" in failed


def test_a_visit_that_went_through_ends_with_0(har: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "_verified", lambda *_: Verified((), (), None))
    assert workloads.from_har_(har, output=har.parent / "mine", verify_at="http://127.0.0.1:1") is Exit.PASS
