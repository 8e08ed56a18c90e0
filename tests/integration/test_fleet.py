"""Runs on a fleet whose hosts are all this machine, from the command line."""

import json
from pathlib import Path

import pytest

from tests.integration.conftest import LoadstoneRunner, newest, page
from tests.verdicts import WINDOW

pytestmark = pytest.mark.integration

FLEET = """
back_end = "local"
silence_s = 60
[hosts.d1]
roles = ["driver"]
addresses = { public = "127.0.0.1" }
[hosts.d2]
roles = ["driver"]
addresses = { public = "127.0.0.1" }
[hosts.s1]
roles = ["system"]
addresses = { public = "127.0.0.1" }
"""


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "runtime"))  # one fleet at a time has this machine
    file = tmp_path / "fleet.toml"
    file.write_text(FLEET)
    return str(file)


@pytest.mark.slow("a run on three hosts")
def test_drivers_of_a_fleet_make_the_load_and_its_hosts_are_in_the_report(
    loadstone_here: LoadstoneRunner, tmp_path: Path, fleet: str
) -> None:
    done = loadstone_here("run", "static", "--rate", "40", *WINDOW, "--fleet", fleet)
    result = newest(tmp_path)
    manifest = json.loads((result / "manifest.json").read_text())
    assert manifest["status"] == "complete", done.stdout + done.stderr
    assert "errors 0.00 %" in done.stdout
    assert set(manifest["hosts"]) == {"d1", "d2", "s1"}
    assert manifest["machines"]["web"]["facts"]["host"] == "s1"
    events = [json.loads(line) for line in (result / "runs/static-1/events.jsonl").read_text().splitlines()]
    assert events[0]["drivers"] == 2 and events[0]["clock_bound_ns"] > 0
    logs = [(result / f"logs/{name}/driver-{name}.log").read_text() for name in ("d1", "d2")]
    assert sorted(log.splitlines()[0] for log in logs) == ["plays part 1 of 2", "plays part 2 of 2"]
    shown = page(tmp_path)
    assert "host d1" in shown and "host s1" in shown
    assert not list((tmp_path / "runtime").glob("ls*"))


def test_what_does_not_go_with_a_fleet_is_refused(loadstone_here: LoadstoneRunner, tmp_path: Path, fleet: str) -> None:
    def refused(*words: str) -> str:
        done = loadstone_here("run", "static", "--rate", "40", *words)
        assert done.returncode == 2, done.stdout
        return " ".join(done.stderr.split())

    assert "--drivers cannot be combined with --fleet" in refused("--fleet", fleet, "--drivers", "2")
    virtual = ("--virtual", "--station", "workers=2,service=0.001")
    assert "--virtual cannot be combined with --fleet" in refused("--fleet", fleet, *virtual)
    assert "there is no fleet. Add --fleet FILE" in refused("--machine", "host=s1")
    assert "`nowhere` is not a host of role `system` in this fleet" in refused(
        "--fleet", fleet, "--machine", "host=nowhere"
    )
    (tmp_path / "fleet.toml").write_text(FLEET.replace('"system"', '"sistem"'))
    assert "hosts.s1.roles" in refused("--fleet", fleet)
