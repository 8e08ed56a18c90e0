"""The commands of studies: one for each kind, made from what the kind declares and what all of them have."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer
from pydantic import ValidationError
from pydantic_core import PydanticUndefined

from loadstone.cli.exits import BY_VERDICT, Exit
from loadstone.cli.live import StudyView
from loadstone.cli.options import RESULT, Serving, WorkloadOptions, make_placement, profile_of
from loadstone.cli.outlook import tell_study
from loadstone.cli.screen import out, say
from loadstone.cli.specs import parts_of, spec_of_file, study_file
from loadstone.judge.score import DISCLAIMER, NAME
from loadstone.model.errors import UsageError
from loadstone.model.reading import Flag, remedy
from loadstone.model.records.manifest import Status, StudyManifest
from loadstone.model.records.verdict import worst
from loadstone.model.service import Tuning
from loadstone.report.studied_system import ran_on
from loadstone.run.spec import RunSpec
from loadstone.store.study import read_answer, read_study_manifest
from loadstone.study.base import WorkloadRuns
from loadstone.study.file import read_study
from loadstone.study.kind import StudyAnswer, StudySection
from loadstone.study.question import Answer
from loadstone.study.registry import AnyKind, file_sections, study_kinds
from loadstone.study.runner import run_study
from loadstone.study.spec import StudySpec, questions
from loadstone.workloads import expanded

QUESTION = "Question"


@dataclass(frozen=True, kw_only=True)
class StudyCommand(WorkloadOptions):
    """The options that all kinds of study have, and the study; each kind adds the fields of its section."""

    kind: ClassVar[AnyKind]
    workload: Annotated[str | None, typer.Option(help="Workloads with commas between.")] = None
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Begin anew, also where the same study was left.", rich_help_panel=RESULT),
    ] = False

    @property
    def workloads(self) -> list[str]:
        """What is named, in either way."""
        return expanded([*(self.names or ()), *filter(None, (self.workload or "").split(","))])

    def carry_out(self) -> Exit:
        """Runs the study and reports it; returns what the shell is told. Raises LoadstoneError."""
        if not self.workloads:
            raise UsageError("Name a workload, or a study file. `loadstone workloads` lists what there is.")
        file = study_file(self.workloads)
        section, spec, is_loaded = self._declared() if file is None else self._of_file(file)
        if spec.together:
            raise UsageError("A study plays its workloads one after the other: leave out `together`.")
        workloads = [part.workload for part in spec.parts]
        load = spec.parts[0].load if is_loaded else None
        asked = questions(self.kind, section, workloads, spec.profile, load)
        name = self.name or f"{self.kind.name}-{spec.name}"
        declaration = {"kind": self.kind.name, **section.model_dump(mode="json")}
        return _carry_out(StudySpec(name, self.kind, asked, WorkloadRuns(spec), declaration, self.fresh), self.report)

    def _declared(self) -> tuple[StudySection, RunSpec, bool]:
        section = self._section()
        if self.is_loaded and section.brings_load:
            instead = self.kind.instead_of_load
            raise UsageError(f"This study varies the load itself: leave out --sessions and --rate. {instead}".strip())
        for name, instead in self.kind.decides.items():
            if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                raise UsageError(f"This study settles --{name} by itself: that is said by {instead}.")
        return section, self._spec(section.varies_platform), self.is_loaded

    @property
    def services(self) -> Serving:
        """As for all commands, but what the kind means otherwise is not the tuning of all its runs."""
        asked = super().services
        return replace(asked, tuning=Tuning.DEFAULT) if "tuning" in self.kind.section.model_fields else asked

    def _section(self) -> StudySection:
        """The question as a file would declare it; raises UsageError that names the option."""
        given = {name: value for name, value in self._given().items() if value is not None}
        try:
            section: StudySection = self.kind.section.model_validate(given)
        except ValidationError as error:
            where = tuple(str(part) for part in error.errors()[0]["loc"])
            option = where[0].removesuffix("_pct") if where else self.kind.name
            raise UsageError(f"--{option}: {remedy(self.kind.section, where)}") from None
        return section

    def _given(self) -> dict[str, object]:
        """The fields of the section, as far as options say them; raises UsageError."""
        return {name: _value(flag, getattr(self, name)) for name, flag, _ in flags_of(self.kind.section)}

    def _spec(self, varied: bool) -> RunSpec:
        # What a kind means otherwise, as `--platform` of a comparison, is not the platform of all its runs.
        platform = None if "platform" in self.kind.section.model_fields else self.platform
        placement = make_placement(platform, self.machine, self.backend, varied, self.cold)
        return RunSpec(
            name="-".join(Path(word).name for word in self.workloads),
            parts=parts_of(self.workloads, self.load_or_none()),
            profile=profile_of(self.profile).changed(**self.lengths),
            seed=self.seed,
            threads=self.driver_threads,
            system=self.system(placement),
            placement=placement,
            results=self.results,
            clock=self.clock,
            agents=tuple(self.agent or ()),
            driver_limits=self.driver_limits,
            fleet=self.hosts(),
            notes=self.tags,
        )

    def _of_file(self, file: Path) -> tuple[StudySection, RunSpec, bool]:
        name = self.kind.name
        question = {field: (name, field) for field, _, _ in flags_of(self.kind.section)}
        study = read_study(file, file_sections(), self.overrides(question, self._given()))
        section = study.questions.get(name)
        if not isinstance(section, StudySection):
            raise UsageError(f"{file} has no [{name}]. Add it; `loadstone {name} --help` shows what it takes.")
        spec = spec_of_file(study, self.name, self.results)
        spec = replace(spec, fleet=self.hosts())
        return section, self.loosened(spec), study.is_loaded


def flags_of(section: type[StudySection]) -> Iterator[tuple[str, Flag, Any]]:
    """The fields of a section that are options: name, how they are given, default."""
    for name, info in section.model_fields.items():
        for flag in info.metadata:
            if isinstance(flag, Flag):
                yield name, flag, None if info.default is PydanticUndefined else info.default


def _value(flag: Flag, text: Any) -> object:
    if text is None or text == "" or text == []:
        return None
    if flag.read_all is not None:
        return flag.read_all(text)
    return text if flag.read is None else flag.read(text)


def commands() -> Iterator[tuple[str, type[StudyCommand], str]]:
    """Name, command and help of every kind of study that has a command."""
    for name, kind in study_kinds().items():
        if kind.help:
            yield name, _command(kind), kind.help


def _command(kind: AnyKind) -> type[StudyCommand]:
    options = [(name, *_option(flag, default)) for name, flag, default in flags_of(kind.section)]
    title = f"{kind.name.title()}Command"
    return make_dataclass(title, options, bases=(StudyCommand,), namespace={"kind": kind}, frozen=True, kw_only=True)


def _option(flag: Flag, default: Any) -> tuple[Any, Any]:
    """The type of an option, with its help, and its default."""
    names = (flag.name,) if flag.name else ()
    option = typer.Option(
        *names, help=flag.help, metavar=flag.metavar, min=flag.min, max=flag.max, rich_help_panel=QUESTION
    )
    if flag.read_all is not None:
        return Annotated[list[str] | None, option], None
    if flag.read is not None:
        return Annotated[str | None, option], None
    return Annotated[bool if flag.kind is bool else flag.kind | None, option], default


def _carry_out(spec: StudySpec[Any], has_report: bool) -> Exit:
    for promised in filter(None, map(spec.kind.promise, spec.questions.questions)):
        say(promised)
    base = spec.base.spec if isinstance(spec.base, WorkloadRuns) else None
    tell_study(base, spec.questions.left([]))
    with StudyView() as view:
        path = asyncio.run(run_study(spec, view.hear, view.begin, view.tell))
        if has_report:
            write_study_reports(path)
    manifest, answer = read_study_manifest(path), read_answer(path, spec.kind.adapter)
    for part in answer.parts:
        out.print(f"[bold]{part.workload}[/]")
        for line in part.headline:
            say(f"  {line}")
    if answer.index is not None:
        out.print(f"{NAME} of these peaks: {answer.index:.1f}. {DISCLAIMER}")
    say(f"Ran on: {ran_on(manifest, answer.runs)}.")
    if manifest.status is not Status.COMPLETE:
        say(f"{manifest.status}: {manifest.reason}")
    say_where(path, has_report)
    return exit_of(manifest, spec.kind, answer)


def write_study_reports(path: Path) -> None:
    """Writes the reports of a study and of its runs."""
    from loadstone.report.study import write_run_reports, write_study_report

    write_run_reports(path)
    write_study_report(path)


def say_where(path: Path, has_report: bool) -> None:
    """Prints where the report of a study is, or its folder where it has no report."""
    say(f"report: {path / 'report.html'}" if has_report else f"result: {path}")


def exit_of(manifest: StudyManifest, kind: AnyKind, answer: StudyAnswer[Answer]) -> Exit:
    """What the shell is told of a study."""
    if manifest.status is Status.INTERRUPTED:
        return Exit.INTERRUPTED
    return BY_VERDICT[worst([kind.outcome(part, answer.runs) for part in answer.parts])]
