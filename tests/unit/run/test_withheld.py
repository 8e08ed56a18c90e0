"""Secrets from the environment: drivers are told them, records never hold them."""

import json
from pathlib import Path

import pytest

from loadstone.model.errors import StudyError, UsageError
from loadstone.model.load import Population
from loadstone.model.profile import Phases
from loadstone.run.plan import Part, Timing, make_plan
from loadstone.run.withheld import withheld_of
from loadstone.workloads import load

SECRET = 'p\u00e4ss "w&rd/1+'
DECLARED = """
[values]
password = { kind = "environment", variable = "SHOP_PASSWORD" }

[operations.page.form]
secret = "{password}"
"""


def plan_of(folder: Path) -> str:
    """The plan of a workload with a password, as it is kept."""
    static = (
        (Path(load("static").folder) / "workload.toml").read_text().replace('path = "/"', 'path = "/"\nmethod = "POST"')
    )
    (folder / "workload.toml").write_text(static.replace('name = "static"', 'name = "own"') + DECLARED)
    plan = make_plan([Part(load(str(folder)), Population(1))], Timing(Phases(0, 0, 1, 0), 1))
    return json.dumps(plan)


def test_a_plan_has_a_stand_in_and_its_driver_the_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    kept = plan_of(tmp_path)
    assert "secret SHOP_PASSWORD" in kept and "w&rd" not in kept
    told = json.loads(withheld_of(kept).told(kept))
    (value,) = told["parts"][0]["workload"]["values"]
    assert value["values"] == [SECRET]


@pytest.mark.parametrize(
    "said",
    [
        {"detail": f"got {SECRET} back"},
        {"request": "POST / HTTP/1.1\r\n\r\nsecret=p%C3%A4ss%20%22w%26rd%2F1%2B"},
        {"request": "GET /?secret=p%C3%A4ss+%22w%26rd%2F1%2B"},
        {"body": "<input value='p\u00e4ss &quot;w&amp;rd/1+'>"},
    ],
)
def test_whatever_a_driver_says_of_it_is_withheld(
    said: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    withheld = withheld_of(plan_of(tmp_path))
    for line in (json.dumps(said), json.dumps(said, ensure_ascii=False)):
        shown = withheld.without(line)
        assert "***" in shown and "rd" not in json.dumps(list(json.loads(shown).values())), shown


def test_a_secret_that_is_missing_or_cannot_be_withheld_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = plan_of(tmp_path)
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    with pytest.raises(UsageError, match="SHOP_PASSWORD, which is not set"):
        withheld_of(kept)
    monkeypatch.setenv("SHOP_PASSWORD", "abc")
    with pytest.raises(UsageError, match="shorter than 4"):
        withheld_of(kept)


def test_a_secret_is_not_taken_from_a_variable_that_results_tell(tmp_path: Path) -> None:
    plan_of(tmp_path)
    file = tmp_path / "workload.toml"
    file.write_text(file.read_text().replace("SHOP_PASSWORD", "LOADSTONE_RUN_PASSWORD"))
    with pytest.raises(StudyError) as raised:
        load(str(tmp_path))
    assert "which results tell" in " ".join(map(str, raised.value.problems))
