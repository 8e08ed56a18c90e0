"""What a study says before its first run and first in its answer: its machines will be, or were, emulated."""

from dataclasses import replace

import pytest

from loadstone.cli import outlook
from loadstone.study.summary import RunRequest
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
    assert outlook.emulated_platforms([run, vm, vm]) == ["vm"]
    assert outlook.emulated_platforms([run, kvm]) == []
