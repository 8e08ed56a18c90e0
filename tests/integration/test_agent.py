"""A server that others run, seen from inside by the agent that they started there."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadstone.host.programs import find_server
from loadstone.model.records.sample import InsideView
from loadstone.store.read import read_result
from tests.integration.conftest import LoadstoneRunner, newest, page, require_requests, run_until
from tests.verdicts import WINDOW, broken_rules
from tests.waiting import LONGEST_S

pytestmark = pytest.mark.integration
TOKEN = "a-token-for-this-test-alone"
SHORT = ("--sessions", "2", *WINDOW)
SSH = """#!/bin/sh
# Logs in nowhere: what is to be run there is run here.
shift 2
[ "$1" = somewhere.example ] || exit 255
shift
exec "$@"
"""


@contextmanager
def serving(role: str, *options: str, token: str = "") -> Iterator[Mapping[str, str]]:
    """One of our servers, as somebody else might have started it; what its ready line says."""
    environment = {**os.environ, "LOADSTONE_TOKEN": token}
    words = [find_server(), role, "--until-stdin-ends", *options]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(timeout=LONGEST_S)
        process.stdout.close()


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serving("idle", "--listen", "127.0.0.1:0", "--threads", "1") as ready:
        yield f"http://{ready['http']}"


def seen(loadstone: LoadstoneRunner, folder: Path, *words: str) -> str:
    """Runs a command and returns what its report shows; the agent's figures must be in the records.

    All that is broken is that the server has no such page: what it is asked is of no account here.
    """
    has_requests = require_requests(1)

    def is_seen(result: Path) -> bool:
        views = list_inside_views(result)
        groups = [group for view in views for group in view.groups if group.name.startswith("loadstone")]
        return has_requests(result) and len(views) >= 2 and any(group.cores > 0 for group in groups)

    run_until(loadstone, folder, is_seen, *words)
    (broken,) = broken_rules(newest(folder))
    assert "validation errors" in broken and "status" in broken
    assert all(view.running is not None and view.running > 0 for view in list_inside_views(newest(folder)))
    return page(folder)


def list_inside_views(result: Path) -> list[InsideView]:
    """Lists what agents saw of their machines; a busy host may read some of it too late."""
    samples = read_result(result).workloads[0].iterations[0].records.monitor
    return [view.inside for sample in samples for view in sample.machines.values() if view.inside]


@pytest.mark.slow("a run")
def test_figures_of_a_host_stand_in_the_report(site: str, tmp_path: Path, loadstone_here: LoadstoneRunner) -> None:
    with serving("agent", "--listen", "127.0.0.1:0") as agent:
        words = ("run", "static", "--target", site, "--agent", f"http://{agent['http']}", *SHORT)
        text = seen(loadstone_here, tmp_path, *words)
    host = os.uname().nodename
    for shown in (f"CPU of {host}", f"Machine {host}", "tasks running or waiting", "process group loadstone-serv"):
        assert shown in text, shown


@pytest.mark.slow("a run")
def test_over_tls_it_takes_the_token(
    site: str, tmp_path: Path, loadstone_here: LoadstoneRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("agent", "--listen-tls", "127.0.0.1:0", token=TOKEN) as agent:
        authority = tmp_path / "authority.pem"
        authority.write_text(agent["authority"])
        words = ["run", "static", "--target", site, "--agent", f"https://{agent['https']}", *SHORT]
        words += ["--authority", str(authority)]
        refused = loadstone_here(*words, "--results", "refused")
        assert refused.returncode == 3
        assert "401 Unauthorized" in refused.stderr and "LOADSTONE_AGENT_TOKEN" in refused.stderr
        assert TOKEN not in refused.stderr
        monkeypatch.setenv("LOADSTONE_AGENT_TOKEN", TOKEN)
        assert TOKEN not in seen(loadstone_here, tmp_path, *words)


@pytest.mark.slow("a run")
def test_over_ssh_it_ends_with_the_run(
    site: str, tmp_path: Path, loadstone_here: LoadstoneRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(SSH)
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{Path(find_server()).parent}:{os.environ['PATH']}")
    seen(loadstone_here, tmp_path, "run", "static", "--target", site, "--agent", "ssh://somewhere.example", *SHORT)


@pytest.mark.parametrize(
    ("url", "said", "code"),
    [
        ("http://127.0.0.1:1", "does not respond", 3),
        ("ssh://-oProxyCommand=x", "names no host", 2),
        ("ftp://127.0.0.1:1", "is not a valid agent address", 2),
        ("http://127.0.0.1", "127.0.0.1", 2),
    ],
)
def test_what_is_no_agent_is_named(url: str, said: str, code: int, site: str, loadstone_here: LoadstoneRunner) -> None:
    done = loadstone_here("run", "static", "--target", site, "--agent", url, *SHORT)
    assert done.returncode == code
    assert said in done.stderr.replace("\n", " ")


def test_a_web_server_is_no_agent(site: str, loadstone_here: LoadstoneRunner) -> None:
    done = loadstone_here("run", "static", "--target", site, "--agent", site, *SHORT)
    assert done.returncode == 3
    assert "does not respond" in done.stderr.replace("\n", " ")
