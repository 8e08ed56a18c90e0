"""CONTRIBUTING's recipes, carried out in a folder of their own: how many files each takes."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner

from loadstone.cli import study as study_commands
from loadstone.cli.main import main
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.records.manifest import Status
from loadstone.report import section as section_module
from loadstone.report import sections
from loadstone.report.build import Format, write_report
from loadstone.report.study import write_study_report
from loadstone.run.judging import judge
from loadstone.store.study import StudyFolder
from loadstone.study import kinds, registry
from loadstone.study.kind import StudyAnswer
from loadstone.study.spec import questions
from loadstone.workloads import load
from tests.made import carry_out, made
from tests.records import interval, result_folder, study_manifest

KIND = '''
"""`twice`: does a second run come out as the first? Pure."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Flag
from loadstone.page.blocks import Paragraph
from loadstone.study.kind import StudyKind, StudySection
from loadstone.study.question import Answer, first_missing, key_of
from loadstone.study.summary import RunRequest


class TwiceSection(StudySection):
    """`[twice]`."""

    apart_pct: Annotated[float, Flag("How far apart they may be, in %.", name="--apart", kind=float)] = Field(
        default=5.0, description="a number"
    )


@dataclass(frozen=True, kw_only=True)
class TwiceAnswer(Answer):
    """Both throughputs."""

    throughputs: tuple[float, ...]


@dataclass(frozen=True)
class Twice:
    """Two runs of one setting."""

    workload: str

    def requests(self):
        return [RunRequest(key_of(number, self.workload, ""), self.workload, {}, number) for number in (1, 2)]

    def next(self, runs):
        return first_missing(self.requests(), runs)

    def left(self, runs):
        return 2 - len(runs)

    def answer(self, runs):
        values = tuple(run.metrics["throughput"] for run in runs)
        headline = (f"Twice: {' and '.join(f'{value:g}' for value in values)}.",)
        return TwiceAnswer(workload=self.workload, is_answered=len(runs) == 2, headline=headline, throughputs=values)


def blocks(answer, workload, runs):
    yield Paragraph(f"Throughputs: {answer.throughputs}")


KIND = StudyKind(
    name="twice", question="Does it come out again?", help="Make a run twice.", section=TwiceSection,
    answer=TwiceAnswer, make=lambda section, context: Twice(context.workload.name), blocks=blocks,
)
'''
SECTION = '''
"""Of which seed a result is."""

from loadstone.page.blocks import Heading, Paragraph
from loadstone.report.section import Section


def blocks(context):
    yield Heading("Sown")
    yield Paragraph(f"From seed {context.result.manifest.seed}.")


SECTION = Section(rank=999, of_result=blocks)
'''
WORKLOAD = """
[workload]
name = "knock"
title = "One knock a second"
[pacing]
kind = "cycle"
mean_s = 1
[limits]
good_s = 1
tolerable_s = 2
[mix]
kind = "flat"
shares = { knock = 1 }
[operations.knock]
path = "/"
"""


def add(package: ModuleType, folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Puts a module where a package looks for its own; returns what had to be written."""
    (folder / f"{name}.py").write_text(text)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    return list(folder.iterdir())


@pytest.fixture(autouse=True)
def found_anew() -> Iterator[None]:
    """What is found by itself is looked for again, before and after."""
    for cached in (registry.study_kinds, section_module.shipped_sections):
        cached.cache_clear()
    yield
    for cached in (registry.study_kinds, section_module.shipped_sections):
        cached.cache_clear()


def test_a_kind_of_study_takes_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    written = add(kinds, modules, "twice", KIND, monkeypatch)
    kind = registry.kind_of("twice")
    app = typer.Typer()
    for name, command, text in study_commands.commands():
        app.command(name, help=text)(command)
    helped = CliRunner().invoke(app, ["twice", "--help"], env={"COLUMNS": "160"})
    assert "--apart" in helped.output, helped.output
    assert "twice" in registry.file_sections()

    section = kind.section(apart_pct=1)
    (question,) = questions(kind, section, [load("static")], PROFILES["quick"], Population(1)).questions
    answer, runs = carry_out(question, lambda request: made(request, throughput=7.0))
    folder = StudyFolder.create(tmp_path, study_manifest(kind="twice"))
    folder.write_answer(kind.adapter, StudyAnswer("twice", (answer,), runs=tuple(runs)))
    folder.mark(Status.COMPLETE)
    for form in (Format.HTML, Format.MARKDOWN):
        text = write_study_report(folder.path, form).read_text()
        assert "Twice: 7 and 7." in text
        assert "Throughputs: (7.0, 7.0)" in text
    assert len([path for path in written if path.suffix == ".py"]) == 1


def test_a_report_section_takes_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    written = add(sections, modules, "sown", SECTION, monkeypatch)
    path = result_folder(tmp_path, [interval(1)])
    judge(path)
    for form in (Format.HTML, Format.MARKDOWN):
        assert "From seed 1." in write_report(path, form).read_text()
    assert len([path for path in written if path.suffix == ".py"]) == 1


def test_a_workload_takes_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "knock"
    folder.mkdir()
    (folder / "workload.toml").write_text(WORKLOAD)
    with pytest.raises(SystemExit) as end:
        main(["workloads", "check", str(folder)])
    assert end.value.code == 0, capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["simulate", str(folder), "--sessions", "10"])
    assert end.value.code == 0, capsys.readouterr()
    assert len(list(folder.iterdir())) == 1
