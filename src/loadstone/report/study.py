"""Building a study's report: its answer as kept, in HTML, Markdown or JSON."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic_core import to_json

from loadstone.judge.score import DISCLAIMER, WEB_INDEX_NAME
from loadstone.model.errors import StoreError
from loadstone.model.numbers import format_number, format_places, format_rounded
from loadstone.model.records.manifest import StudiedWorkload, StudyManifest
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import Verdict
from loadstone.model.system import Clock
from loadstone.page.blocks import (
    Block,
    Card,
    Cards,
    Cell,
    Column,
    ColumnKind,
    Facts,
    Fold,
    Gallery,
    Heading,
    Paragraph,
    Row,
    Table,
    Tone,
    Verbatim,
)
from loadstone.report.build import Format, write_report
from loadstone.report.disclosure import format_command, format_phases, list_notes, list_versions_and_host
from loadstone.report.html import render_html
from loadstone.report.markdown import render_markdown
from loadstone.report.studied_system import describe_machines, describe_system
from loadstone.store.documents import write_atomic
from loadstone.store.layout import ANSWER, RUNS
from loadstone.store.read import list_results
from loadstone.store.study import read_answer, read_study_manifest
from loadstone.study.kind import StudyAnswer
from loadstone.study.question import Answer
from loadstone.study.registry import AnyStudyKind, get_kind
from loadstone.study.settings import write_settings
from loadstone.study.summary import Purpose, RunSummary

RUN_LINKS = {Clock.REAL: "runs/{folder}/report.html", Clock.VIRTUAL: "runs/{folder}/"}
"""Where a run's own report is, from its study's: those in virtual time have none until one is asked for."""
OPEN_RUNS = 12
"""Runs up to which their table is not folded."""
NOTE = (
    "Every run is a result folder of its own below runs/; "
    "answer.json contains all figures of this page. The rules that "
    "answer each question are in docs/studies.md."
)
EMULATED_STUDY_WARNING = (
    "this machine's processors do not run virtual machines by hardware, so QEMU translated every instruction. The "
    "figures show that the set-up works, not what virtualization costs with KVM."
)
RUN_METRICS = (
    ("throughput", "operations/s", 1, 1.0),
    ("response_p95", "p95, s", None, 1.0),
    ("response_p99", "p99, s", None, 1.0),
    ("good", "good, %", 2, 1.0),
    ("server_cpu", "server CPU, cores", 2, 1.0),
    ("driver_lag_p99", "driver lag p99, ms", None, 1000.0),
)
"""Metrics of the table of runs: title, digits, factor."""


UNFIT = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError)
"""What an answer whose parts do not fit together raises while it is drawn: each is valid by itself."""


def write_study_report(path: Path, form: Format = Format.HTML, output: Path | None = None) -> Path:
    """Writes the report of a study's folder, whole or not at all; returns where it is. Raises StoreError."""
    output = output or path / f"report.{form.value}"
    write_atomic(output, render_study(path, form).encode("utf-8", "replace"))
    return output


def write_run_reports(path: Path) -> None:
    """Writes the reports of a study's real runs that have none yet."""
    for run, manifest in list_results(path / RUNS):
        if manifest.clock is Clock.REAL and not (run / "report.html").exists():
            write_report(run)


def render_study(path: Path, form: Format, run_link: str | None = None) -> str:
    """The report's text; `run_link` is where a run's own report is found, if not beside it. Raises StoreError."""
    manifest = read_study_manifest(path)
    kind = get_kind(manifest.kind)
    answer = read_answer(path, kind.adapter)
    if form is Format.JSON:
        return (
            to_json({"manifest": manifest, "answer": kind.adapter.dump_python(answer, mode="json")}, indent=1).decode()
            + "\n"
        )
    try:
        blocks = list(render_study_blocks(manifest, kind, answer, form is Format.HTML))
    except UNFIT as error:
        raise StoreError(
            f"{path / ANSWER} is inconsistent ({type(error).__name__}: {error}), so it cannot be shown. "
            "It was modified; the command of the study rebuilds it from the runs."
        ) from None
    if form is Format.MARKDOWN:
        return render_markdown(manifest.name, blocks)
    return render_html(manifest.name, [Heading(manifest.name, 1), *blocks], run_link or RUN_LINKS[manifest.clock])


def render_study_blocks(
    manifest: StudyManifest, kind: AnyStudyKind, answer: StudyAnswer[Answer], has_pictures: bool
) -> Iterator[Block]:
    """Everything a study's report says."""
    yield from _banner(manifest, kind, answer)
    yield Cards([_card(part, kind.conclude(part, answer.runs)) for part in answer.parts])
    yield from _indices(answer)
    yield from (block for block in kind.overview(answer.parts) if has_pictures or not isinstance(block, Gallery))
    workloads = {workload.workload: workload for workload in manifest.workloads}
    for part in answer.parts:
        workload = workloads.get(part.workload, StudiedWorkload(part.workload, part.workload))
        yield Heading(workload.title, 2, part.workload, part.workload)
        runs = [run for run in answer.runs if run.request.workload == part.workload]
        shown = kind.blocks(part, workload, runs)
        yield from (block for block in shown if has_pictures or not isinstance(block, Gallery))
        if runs:
            yield Fold(f"All {len(runs)} runs", [_runs(runs)], is_open=len(runs) <= OPEN_RUNS)
    yield from _configuration(manifest, answer.runs)


def _banner(manifest: StudyManifest, kind: AnyStudyKind, answer: StudyAnswer[Answer]) -> Iterator[Block]:
    started = manifest.started[:19].replace("T", " ")
    where = ", in virtual time against a modelled station" if manifest.clock is Clock.VIRTUAL else ""
    text = f"{kind.question} {started} UTC, profile {manifest.profile.name}, seed {manifest.seed}{where}"
    yield Paragraph(text, Tone.QUIET)
    if manifest.status is not Status.COMPLETE:
        reason = manifest.reason or "it has not finished"
        left = f"about {answer.left} runs are left. The same command resumes the study."
        yield Paragraph(f"{reason}; {left}", Tone.INVALID, f"{manifest.status}:")
    yield from _emulated(answer)


def _emulated(answer: StudyAnswer[Answer]) -> Iterator[Block]:
    """A warning for all emulated workloads, and others for those whose cost of emulation is known."""
    emulated = {run.request.workload for run in answer.runs if run.accelerator == "tcg"}
    names_of: dict[str, list[str]] = defaultdict(list)
    for part in answer.parts:
        if part.workload in emulated:
            cost: float | None = getattr(part, "cost", None)
            times = f": {format_number(cost, 1)} times the CPU time an operation" if cost else ""
            names_of[f"Emulated by TCG, not KVM{times}"].append(part.workload)
    for title, names in names_of.items():
        yield Paragraph(f"{', '.join(names)}: {EMULATED_STUDY_WARNING}", Tone.ALARM, title)


def _card(part: Answer, outcome: Verdict) -> Card:
    return Card(Tone(outcome.value), "", part.workload, part.headline)


def _indices(answer: StudyAnswer[Answer]) -> Iterator[Block]:
    if answer.indices is not None:
        a, b, ratio = answer.indices.a, answer.indices.b, answer.indices.ratio
        sentence = f"A {format_number(a, 1)}, B {format_number(b, 1)}, B by A {format_number(ratio, 3)}. {DISCLAIMER}"
        yield Paragraph(sentence, strong=f"{WEB_INDEX_NAME}:")
    if answer.index is not None:
        yield Paragraph(f"{format_number(answer.index, 1)}. {DISCLAIMER}", strong=f"{WEB_INDEX_NAME} of these peaks:")


def _runs(runs: Sequence[RunSummary]) -> Table:
    text = [Column("what", ColumnKind.TEXT), Column("verdict", ColumnKind.TEXT)]
    metrics = [Column(title) for _, title, _, _ in RUN_METRICS]
    columns = [Column("run"), *text, *metrics, Column("reasons", ColumnKind.LONG)]
    return Table(columns, [_run(run) for run in runs])


def _run(run: RunSummary) -> Row:
    request = run.request
    settings = write_settings(request.settings) or "settings as declared"
    purpose = "" if request.purpose is Purpose.MEASURE else f" ({request.purpose})"
    title = f"{request.side.upper()} {settings}{purpose}".strip()
    metrics = [
        format_places(run.metrics[name] * factor, digits) if name in run.metrics else ""
        for name, _, digits, factor in RUN_METRICS
    ]
    verdict = Cell(run.verdict, Tone(run.verdict.value))
    link = run.folder if run.was_made else ""
    return Row([Cell(request.key or run.folder, link=link), title, verdict, *metrics, "; ".join(run.reasons)])


def _configuration(manifest: StudyManifest, runs: Sequence[RunSummary]) -> Iterator[Block]:
    yield Heading("Configuration", 2, "configuration")
    yield Facts(
        [
            ("profile", f"{manifest.profile.name}: {format_phases(manifest.profile)}"),
            ("seed", f"{manifest.seed}; every run adds its own"),
            ("system", describe_system(manifest, runs)),
            *([("machines", machines)] if (machines := describe_machines(runs)) else []),
            ("driver threads", format_rounded(manifest.driver_threads)),
            *list_notes(manifest.notes),
            *list_versions_and_host(manifest.versions, manifest.host),
        ]
    )
    yield Heading("How to reproduce", 2, "reproduce")
    yield Verbatim(format_command(manifest.command))
    yield Paragraph(NOTE, Tone.QUIET)
