"""The commands of studies: one for each kind, made from what the kind declares and what all of them have."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from loadstone.cli.exits import BY_VERDICT, Exit
from loadstone.cli.live import StudyView
from loadstone.cli.options import WorkloadOptions
from loadstone.cli.outlook import EMULATED_OUTLOOK, list_emulated, tell_emulation, tell_study
from loadstone.cli.results import RESULT
from loadstone.cli.screen import out, say, warn
from loadstone.cli.section_options import SectionOptions, declare_options, make_callback, place_option
from loadstone.cli.specs import find_study_file
from loadstone.judge.score import DISCLAIMER, WEB_INDEX_NAME
from loadstone.model.errors import LoadstoneError, UsageError
from loadstone.model.records.manifest import StudyManifest
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import choose_worst
from loadstone.report.studied_system import describe_system_and_host
from loadstone.run.deployment import Deployment
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.store.study import read_answer, read_study_manifest
from loadstone.study.base import WorkloadRuns
from loadstone.study.declaration import Declaration
from loadstone.study.kind import StudyAnswer, StudySection
from loadstone.study.question import Answer
from loadstone.study.registry import AnyStudyKind, list_study_kinds
from loadstone.study.resolve import add_usual_loads, resolve
from loadstone.study.runner import run_study
from loadstone.study.spec import StudySpec, build_questions
from loadstone.workloads import expand_suites

QUESTION = "Question"
OMITTED_NOTE = "left out"
"""Note with the usual workloads that cannot run here."""
USUAL_NAME = "suite"
"""Name of a study of its kind's usual workloads."""
QUICK_PROFILE = "brief"
"""Profile of studies that are asked for in their quick form."""


@dataclass(frozen=True, kw_only=True)
class StudyCommand(WorkloadOptions):
    """The options that all kinds of study have, and the study; each kind adds the fields of its section."""

    kind: AnyStudyKind
    question: SectionOptions = declare_options(StudySection, QUESTION)
    workload: Annotated[str | None, typer.Option(help="Workload names, separated by commas.")] = place_option(None)
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Start from scratch, even if the same study was interrupted.", rich_help_panel=RESULT
        ),
    ] = place_option(False)

    @property
    def workloads(self) -> list[str]:
        """What is named, in either way; those of the kind where nothing is named."""
        named = expand_suites([*(self.names or ()), *filter(None, (self.workload or "").split(","))])
        if named or not self.kind.workloads:
            return named
        in_short = self.kind.in_short if self.question.read(self.kind.section).is_quick else {}
        return [in_short.get(name, name) for name in self.kind.workloads]

    @property
    def has_usual_workloads(self) -> bool:
        """Whether its workloads are those of its kind, since none is named."""
        return not self.names and not self.workload

    def execute(self) -> Exit:
        """Runs the study and reports it; returns what the shell is told. Raises LoadstoneError."""
        if not self.workloads:
            raise UsageError("Name a workload or a study file. `loadstone workloads` lists the built-in workloads.")
        file = find_study_file(self.workloads)
        section, declared = self._declared() if file is None else self._of_file(file)
        if not section.brings_load:
            declared = add_usual_loads(declared)
        if section.is_quick:
            declared = replace(declared, profile=declared.profile.model_copy(update={"name": QUICK_PROFILE}))
        spec = resolve(declared, self.results, self.read_hosts(), self.tags)
        spec = replace(spec, name=self.name or spec.name, power=section.meters)
        if spec.together:
            raise UsageError("A study runs its workloads one after another. Remove `together`.")
        if file is None and self.has_usual_workloads:
            spec = self.skip_impossible(section, spec)
        workloads = [part.workload for part in spec.parts]
        load = spec.parts[0].load if declared.is_loaded else None
        plan = build_questions(self.kind, section, workloads, spec.profile, load)
        name = self.name or f"{self.kind.name}-{spec.name}"
        declaration = {"kind": self.kind.name, **section.model_dump(mode="json")}
        base = WorkloadRuns(spec)
        return _carry_out(StudySpec(name, self.kind, plan, base, declaration, self.fresh), base, self.report)

    def _declared(self) -> tuple[StudySection, Declaration]:
        section: StudySection = self.question.read(self.kind.section)
        declared = self.declare(self.workloads, section.varies_platform)
        if declared.is_loaded and section.brings_load:
            instead = self.kind.instead_of_load
            raise UsageError(f"This study varies the load itself. Remove --sessions and --rate. {instead}".strip())
        changed = declared.server.services.list_changed()
        for name, instead in self.kind.decides.items():
            if name in changed:
                raise UsageError(f"This study sets --{name} itself. Use {instead}.")
        return section, declared

    def skip_impossible(self, section: StudySection, spec: RunSpec) -> RunSpec:
        """Returns the study of those workloads that can run here, with the others among its notes. Raises UsageError
        without any.
        """
        reasons = {part.workload.name: self._obstacle(section, spec, part) for part in spec.parts}
        left_out = {name: reason for name, reason in reasons.items() if reason}
        for name, reason in left_out.items():
            warn(f"{name} is left out. {reason}")
        parts = tuple(part for part in spec.parts if part.workload.name not in left_out)
        if not parts:
            raise UsageError("None of the usual workloads can run here. Install what is missing, or name a workload.")
        notes = {**spec.notes, OMITTED_NOTE: ", ".join(left_out)} if left_out else spec.notes
        return replace(spec, name=self.name or USUAL_NAME, parts=parts, notes=notes)

    def _obstacle(self, section: StudySection, spec: RunSpec, part: WorkloadLoad) -> str:
        """Why a workload's runs cannot be made here; empty where they can."""
        (question,) = build_questions(self.kind, section, [part.workload], spec.profile, part.load).questions
        try:
            for request in question.plan_runs()[:2]:
                run = Deployment(WorkloadRuns(spec).make_spec(request, Path()))
                run.check()
                run.check_software()
        except LoadstoneError as error:
            return str(error)
        return ""

    def _of_file(self, file: Path) -> tuple[StudySection, Declaration]:
        name, declared = self.kind.name, self.read_file(file)
        section = declared.questions.get(name)
        if not isinstance(section, StudySection):
            raise UsageError(f"{file} has no [{name}]. Add it; `loadstone {name} --help` lists its options.")
        return section, declared


def list_commands() -> Iterator[tuple[str, Callable[..., StudyCommand], str]]:
    """Name, command and help of every kind of study that has a command."""
    for name, kind in list_study_kinds().items():
        if kind.help:
            yield name, make_callback(StudyCommand, {"question": (name, kind.section)}, kind=kind), kind.help


def _carry_out(spec: StudySpec[Any], base: WorkloadRuns, has_report: bool) -> Exit:
    for promised in filter(None, map(spec.kind.promise, spec.questions.questions)):
        say(promised)
    requests = spec.questions.plan_runs()
    tell_study(base, spec.questions.estimate_left([]), requests)
    tell_emulation({request.settings.get("platform") for request in requests})
    with StudyView() as view:
        path = asyncio.run(run_study(spec, view.on_event, view.begin, view.tell))
        if has_report:
            write_study_reports(path)
    manifest, answer = read_study_manifest(path), read_answer(path, spec.kind.adapter)
    for platform in list_emulated(answer.runs):
        out.print(f"[yellow]{platform}[/]: {EMULATED_OUTLOOK}.")
    for part in answer.parts:
        out.print(f"[bold]{part.workload}[/]")
        for line in part.headline:
            say(f"  {line}")
    if answer.index is not None:
        out.print(f"{WEB_INDEX_NAME} of these peaks: {answer.index:.1f}. {DISCLAIMER}")
    say(f"Ran on: {describe_system_and_host(manifest, answer.runs)}.")
    if manifest.status is not Status.COMPLETE:
        say(f"{manifest.status}: {manifest.reason}")
    say_where(path, has_report)
    if concluded := spec.kind.conclusion(answer.runs):
        say(concluded)
    return exit_of(manifest, spec.kind, answer)


def write_study_reports(path: Path) -> None:
    """Writes the reports of a study and of its runs."""
    from loadstone.report.study import write_run_reports, write_study_report

    warn("Writes the reports of the study and of its runs.")
    write_run_reports(path)
    write_study_report(path)


def say_where(path: Path, has_report: bool) -> None:
    """Prints where the report of a study is, or its folder where it has no report."""
    say(f"report: {path / 'report.html'}" if has_report else f"result: {path}")


def exit_of(manifest: StudyManifest, kind: AnyStudyKind, answer: StudyAnswer[Answer]) -> Exit:
    """Returns the exit code of a study."""
    if manifest.status is Status.INTERRUPTED:
        return Exit.INTERRUPTED
    return BY_VERDICT[choose_worst([kind.conclude(part, answer.runs) for part in answer.parts])]
