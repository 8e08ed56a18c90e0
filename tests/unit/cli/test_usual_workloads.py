"""A study whose workloads are not named takes the usual ones that can run here, and says which are left out and why."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadstone.cli import study
from loadstone.cli.study import OMITTED_NOTE, StudyCommand
from loadstone.model.errors import UsageError
from loadstone.study.kinds.protection import KIND
from loadstone.study.resolve import add_usual_loads, resolve
from loadstone.testbed import software


def usual_study(monkeypatch: pytest.MonkeyPatch, workloads: tuple[str, ...]) -> tuple[Any, list[str]]:
    """The specification of a study of these usual workloads where no tool is installed, and its warnings."""
    warnings: list[str] = []
    monkeypatch.setattr(study, "warn", warnings.append)
    monkeypatch.setattr(software, "has_file", lambda _: False)
    command = StudyCommand(context=None, kind=replace(KIND, workloads=workloads))  # type: ignore[arg-type]
    section, declared = command._declared()
    return command.skip_impossible(section, resolve(add_usual_loads(declared), Path())), warnings


def test_workloads_whose_tools_are_missing_are_left_out_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, warnings = usual_study(monkeypatch, ("request-response", "iperf3", "fio:write-2k"))
    assert [part.workload.name for part in spec.parts] == ["request-response"]
    assert spec.notes[OMITTED_NOTE] == "iperf3, fio-write-2k"
    assert ["iperf3" in text and "apt-get install" in text for text in warnings] == [True, False]
    assert warnings[1].startswith("fio-write-2k is left out. fio needs socat")


def test_nothing_is_noted_where_all_can_run(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, warnings = usual_study(monkeypatch, ("request-response",))
    assert OMITTED_NOTE not in spec.notes and not warnings


def test_a_study_without_any_workload_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="None of the usual workloads can run here"):
        usual_study(monkeypatch, ("iperf3", "fio"))
