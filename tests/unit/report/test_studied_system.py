"""What a study's report says was measured."""

from collections.abc import Sequence
from dataclasses import replace

from loadstone.model.records.manifest import HostFacts, SystemKind, SystemRecord
from loadstone.model.system import Clock
from loadstone.page.blocks import Facts
from loadstone.report.studied_system import describe_system_and_host
from loadstone.report.study import render_study_blocks
from loadstone.study.kind import StudyAnswer
from loadstone.study.registry import get_kind
from loadstone.study.summary import RunRequest, RunSummary
from tests.made import made
from tests.records import study_manifest


def told(system: SystemRecord, runs: Sequence[RunSummary]) -> str:
    manifest = study_manifest(system=system)
    blocks = render_study_blocks(manifest, get_kind("repeat"), StudyAnswer("repeat", (), runs=tuple(runs)), False)
    (facts,) = (block for block in blocks if isinstance(block, Facts))
    return str(dict(facts.rows)["system"])


def test_the_terminal_names_system_machines_and_host() -> None:
    manifest = study_manifest(
        system=SystemRecord(SystemKind.REFERENCE, {"threads": 2}), host=HostFacts(cpu_model="CPU X", cores=4)
    )
    pairs = [replace(run("a", ""), platform="pair"), replace(run("b", ""), platform="process")]
    assert describe_system_and_host(manifest, pairs) == (
        "kind reference, threads 2, platform pair and plain processes of this host, driver on CPU X, 4 cores"
    )
    assert "no server was measured" in describe_system_and_host(replace(manifest, clock=Clock.VIRTUAL), [])


def run(side: str, target: str) -> RunSummary:
    return made(RunRequest(side, "banking", {"target": target}, 0, side=side))  # type: ignore[arg-type]


def test_two_targets_of_others_are_what_was_measured_and_no_reference_server() -> None:
    sides = [run("b", "http://b.example:80"), run("a", "http://a.example:80")]
    said = told(SystemRecord(SystemKind.REFERENCE), sides)
    assert said == "managed elsewhere: A http://a.example:80, B http://b.example:80"


def test_an_address_is_written_as_one() -> None:
    settings = {"http": {"host": "127.0.0.1", "port": 8080}, "verify": True}
    assert told(SystemRecord(SystemKind.TARGET, settings), []) == "kind target, http 127.0.0.1:8080, verify True"
