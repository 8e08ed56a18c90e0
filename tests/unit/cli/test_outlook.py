"""What a study says before its first run and first in its answer: its machines will be, or were, emulated."""

from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.cli import outlook
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.system import Reference
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.study.base import WorkloadRuns
from loadstone.study.summary import RunRequest
from loadstone.workloads import load as load_workload
from tests.made import made

REASON = "/dev/kvm: it is not there"


@pytest.mark.parametrize(
    ("platforms", "reason", "begins"),
    [
        ({"process", "vm"}, REASON, ["vm: machines will be emulated by TCG, not KVM"]),
        ({"process", "vm"}, "", []),
        ({"process", None}, REASON, []),
        ({"pair"}, "", ["pair: machines are emulated by TCG, not KVM"]),
    ],
)
def test_emulation_is_told_before_the_first_run(
    platforms: set[str | None], reason: str, begins: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(outlook, "warn", lines.append)
    monkeypatch.setattr(outlook, "foresee_emulation", lambda: reason)
    outlook.tell_emulation(platforms)
    assert len(lines) == len(begins)
    assert all(line.startswith(begin) for line, begin in zip(lines, begins, strict=True))


def test_an_answer_names_each_emulated_platform_once() -> None:
    run = made(RunRequest("1", "page", {}, 0))
    vm, kvm = replace(run, platform="vm", accelerator="tcg"), replace(run, platform="vm", accelerator="kvm")
    assert outlook.list_emulated([run, vm, vm]) == ["vm"]
    assert outlook.list_emulated([run, kvm]) == []


@pytest.mark.parametrize(
    ("sessions", "varied", "warnings"),
    [(3, (), 1), (1000, (), 0), (1000, (3, 5), 2), (3, (1000,), 0)],
)
def test_a_study_warns_of_each_load_that_is_too_small_for_a_verdict(
    sessions: int, varied: tuple[int, ...], warnings: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(outlook, "warn", lines.append)
    part = WorkloadLoad(load_workload("banking"), Population(sessions))
    base = WorkloadRuns(RunSpec("banking", (part,), PROFILES["brief"], 1, 1, Reference(1), tmp_path))
    requests = [RunRequest(str(load), "banking", {"sessions": load}, 0) for load in varied]
    outlook.tell_study(base, 6, requests or [RunRequest("1", "banking", {}, 0)])
    assert sum("operations are expected at most, and a verdict takes 100" in line for line in lines) == warnings
