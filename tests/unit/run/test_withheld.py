"""Secrets from the environment: drivers are told them, records never hold them, and no text of a document gets one."""

import json
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.errors import StudyError, UsageError
from loadstone.model.load import Population
from loadstone.model.profile import Phases
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.run.withheld import with_secrets
from loadstone.workloads import load

SECRET = 'p\u00e4ss "w&rd/1+'
DECLARED = """
[values]
password = { kind = "environment", variable = "SHOP_PASSWORD" }

[operations.page.form]
secret = "{password}"
"""
STAND_INS = (
    "\u27e8secret SHOP_PASSWORD\u27e9",
    "\u27e8secret LOADSTONE_AGENT_TOKEN\u27e9",
    "${SHOP_PASSWORD}",
    "$SHOP_PASSWORD",
    "%SHOP_PASSWORD%",
    '{"kind": "secret", "variable": "SHOP_PASSWORD"}',
    '", "value": "x',
)
"""Texts of a document that look as if they stood for a variable."""


def folder_of(folder: Path, declared: str = DECLARED) -> Path:
    static = (
        (Path(load("static").folder) / "workload.toml").read_text().replace('path = "/"', 'path = "/"\nmethod = "POST"')
    )
    (folder / "workload.toml").write_text(static.replace('name = "static"', 'name = "own"') + declared)
    return folder


def plan_of(folder: Path, declared: str = DECLARED) -> dict[str, Any]:
    """The plan of a workload with a password, as it is kept."""
    parts = [WorkloadLoad(load(str(folder_of(folder, declared))), Population(1))]
    return json.loads(json.dumps(make_plan(parts, Timing(Phases(0, 0, 1, 0), 1))))


def test_a_plan_names_the_variable_and_its_driver_gets_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    kept = plan_of(tmp_path)
    (value,) = kept["parts"][0]["workload"]["values"]
    assert value["kind"] == "secret" and value["variable"] == "SHOP_PASSWORD" and "value" not in value
    (told,) = with_secrets(kept)["parts"][0]["workload"]["values"]
    assert told == {**value, "value": SECRET}
    assert "value" not in kept["parts"][0]["workload"]["values"][0], "the plan that is kept stays as it is"


@pytest.mark.parametrize("text", STAND_INS)
def test_no_text_of_a_document_gets_a_variable(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", SECRET)
    monkeypatch.setenv("LOADSTONE_AGENT_TOKEN", SECRET)
    written = json.dumps(text.replace("{", "{{").replace("}", "}}"))
    for place in ("form", "headers"):
        kept = plan_of(tmp_path, f"\n[operations.page.{place}]\nX-Text = {written}\n")
        assert with_secrets(kept) == kept
    value = f"\n[values]\nq = {{ kind = 'choice', values = [{written}] }}\n[operations.page.form]\nq = '{{q}}'\n"
    kept = plan_of(tmp_path, value)
    assert with_secrets(kept) == kept


def test_a_secret_that_is_missing_or_cannot_be_withheld_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = plan_of(tmp_path)
    monkeypatch.delenv("SHOP_PASSWORD", raising=False)
    with pytest.raises(UsageError, match="SHOP_PASSWORD, which is not set"):
        with_secrets(kept)
    monkeypatch.setenv("SHOP_PASSWORD", "abc")
    with pytest.raises(UsageError, match="shorter than 4"):
        with_secrets(kept)


def test_a_plan_gets_no_variable_of_the_lab_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_AGENT_TOKEN", SECRET)
    kept = plan_of(tmp_path)
    kept["parts"][0]["workload"]["values"][0]["variable"] = "LOADSTONE_AGENT_TOKEN"
    with pytest.raises(UsageError, match="LOADSTONE_AGENT_TOKEN, which is reserved for Loadstone"):
        with_secrets(kept)


def test_a_secret_is_not_taken_from_a_variable_that_results_tell(tmp_path: Path) -> None:
    folder_of(tmp_path)
    file = tmp_path / "workload.toml"
    file.write_text(file.read_text().replace("SHOP_PASSWORD", "LOADSTONE_RUN_PASSWORD"))
    with pytest.raises(StudyError) as raised:
        load(str(tmp_path))
    assert "which results disclose" in " ".join(map(str, raised.value.problems))


def test_a_workload_says_which_variables_it_sends(tmp_path: Path) -> None:
    more = DECLARED.replace("[values]\n", "[values]\nkey = { kind = 'environment', variable = 'API_KEY' }\n")
    assert load(str(folder_of(tmp_path, more))).variables == ("API_KEY", "SHOP_PASSWORD")
    assert load("static").variables == ()
