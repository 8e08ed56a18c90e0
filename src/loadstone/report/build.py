"""Building a run's report: read the result, gather its sections, render them in one of the forms."""

import json
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from loadstone import __version__
from loadstone.judge.consolidation import CONSOLIDATION_SCORE_NAME as CONSOLIDATION
from loadstone.judge.result import judge_result
from loadstone.judge.score import DISCLAIMER, WEB_INDEX_NAME
from loadstone.model.records.result import Iteration, Result, WorkloadResult
from loadstone.model.records.status import Status
from loadstone.page.blocks import Heading
from loadstone.report.html import render_html
from loadstone.report.markdown import render_markdown
from loadstone.report.section import ReportContext, list_shipped_sections, render_result_blocks
from loadstone.report.sections.endings import list_ending_rows
from loadstone.report.sections.machines import list_machine_views
from loadstone.report.sections.mix import mix_rows
from loadstone.report.sections.operations import list_operation_rows
from loadstone.store.documents import write_atomic
from loadstone.store.folder import MANIFESTS, VERDICTS, Seal, SealState, seal_of
from loadstone.store.layout import REJUDGED
from loadstone.store.read import read_result

ReportDocument = dict[str, Any]
"""A report as JSON, for other programs."""


class Format(StrEnum):
    """Forms of a report."""

    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"


def write_report(path: Path, form: Format = Format.HTML, output: Path | None = None) -> Path:
    """Writes the report of a result folder, whole or not at all; returns where it is. Raises StoreError."""
    output = output or path / f"report.{form.value}"
    write_atomic(output, render_folder(path, form).encode("utf-8", "replace"))
    return output


def render_folder(path: Path, form: Format) -> str:
    """The report of a result folder as text. Raises StoreError."""
    seal = seal_of(path)
    result, note = check_trust(read_result(path, seal.state is SealState.INTACT), seal, (path / REJUDGED).exists())
    return render(result, form, seal, note)


def check_trust(result: Result, seal: Seal, is_rejudged: bool = False) -> tuple[Result, str]:
    """The result with a verdict that belongs to its figures, and what is to be said of it.

    Without an intact seal nothing is compliant.
    """
    judged, note = _judged(result, seal, is_rejudged)
    if seal.state is SealState.INTACT or judged.verdict is None:
        return judged, note
    workloads = tuple(replace(workload, compliant=False) for workload in judged.verdict.workloads)
    index = judged.verdict.index and replace(judged.verdict.index, compliant=False)
    return replace(judged, verdict=replace(judged.verdict, workloads=workloads, index=index)), note


def _judged(result: Result, seal: Seal, is_rejudged: bool) -> tuple[Result, str]:
    """The result with a verdict that belongs to its figures, and what is to be said of it.

    One that was sealed with the figures is shown as it is. Any other stands beside them, where anybody can write: it is
    held against what the figures come to by this version's rules.
    """
    saved = result.verdict
    if saved is not None and seal.covers_verdict and not is_rejudged:
        return result, ""
    anew = judge_result(result, __version__)
    if saved is not None and [workload.verdict for workload in saved.workloads] == [
        workload.verdict for workload in anew.workloads
    ]:
        return result, "judged again after the run was sealed." if is_rejudged else ""
    if saved is None:
        return replace(result, verdict=anew), ""
    note = (
        f"the stored verdict ({saved.whole}, by version {saved.judged_by}) was not sealed with the figures and does "
        f"not follow from them. The report shows the verdict of version {__version__} instead."
    )
    return replace(result, verdict=anew), note


def render(result: Result, form: Format, seal: Seal | None = None, note: str = "") -> str:
    """The report's text."""
    seal = seal or Seal(SealState.ABSENT)
    if form is Format.JSON:
        return json.dumps(as_json(result, seal, note), indent=1) + "\n"
    context = ReportContext(result, seal, form is Format.HTML, note)
    blocks = list(render_result_blocks(context, list_shipped_sections()))
    title = _title(result)
    if form is Format.HTML:
        return render_html(title, [Heading(result.manifest.name, 1), *blocks])
    return render_markdown(result.manifest.name, blocks)


def _title(result: Result) -> str:
    verdict, name = result.verdict, result.manifest.name
    if verdict is None:
        return name
    if verdict.consolidation is not None and result.manifest.status is Status.COMPLETE:
        return f"{name}: {verdict.consolidation.headline}, {verdict.whole}"
    return f"{name}: {', '.join(f'{workload.workload} {workload.verdict}' for workload in verdict.workloads)}"


def as_json(result: Result, seal: Seal | None = None, note: str = "") -> ReportDocument:
    """The report's figures as a JSON document; distributions without their curves."""
    seal = seal or Seal(SealState.ABSENT)
    verdict: ReportDocument | None = VERDICTS.dump_python(result.verdict, mode="json") if result.verdict else None
    judged_document = verdict or {"workloads": [], "index": None, "consolidation": None}
    by_label = {workload["workload"]: workload for workload in judged_document["workloads"]}
    manifest: ReportDocument = MANIFESTS.dump_python(result.manifest, mode="json")
    index, scored = judged_document["index"], judged_document["consolidation"]
    return {
        "manifest": {key: value for key, value in manifest.items() if key not in ("criteria", "declarations")},
        "seal": {"state": seal.state, "changed": list(seal.changed)},
        "verdict_note": note,
        "index": None if index is None else {**index, "name": WEB_INDEX_NAME, "disclaimer": DISCLAIMER},
        "consolidation": None if scored is None else {**scored, "name": CONSOLIDATION, "disclaimer": DISCLAIMER},
        "workloads": [_workload(result, workload, by_label.get(workload.id.label)) for workload in result.workloads],
    }


def _workload(result: Result, workload: WorkloadResult, verdict: ReportDocument | None) -> ReportDocument:
    none = {"verdict": "not judged", "compliant": False, "iterations": [], "reasons": [], "not_judged": []}
    judged: list[ReportDocument] = verdict["iterations"] if verdict else []
    unjudged = {"verdict": "not judged", "checks": []}
    return {
        "terms": {"workload": workload.id.label, **asdict(workload.criteria)},
        "verdict": verdict or none,
        "iterations": [
            _iteration(result, workload, iteration, judged[index] if index < len(judged) else unjudged)
            for index, iteration in enumerate(workload.iterations)
        ],
    }


def _iteration(
    result: Result, workload: WorkloadResult, iteration: Iteration, verdict: ReportDocument
) -> ReportDocument:
    figures, criteria = iteration.figures, workload.criteria
    is_printed = result.manifest.imported is not None
    views = list_machine_views(iteration.steady_samples, result.manifest.machines, is_printed)
    operations = list_operation_rows(criteria, figures) if figures.operations else []
    return {
        "number": iteration.number,
        "verdict": verdict,
        "operations": [asdict(row) for row in operations],
        "mix": [asdict(row) for row in mix_rows(criteria, figures)],
        "endings": [asdict(row) for row in list_ending_rows(iteration.records.ledger)],
        "sessions": iteration.records.select_counts(figures.sessions),
        "wires": iteration.records.select_counts(figures.connections),
        "driver_lag_p99_s": figures.lag.get_value_at(99.0),
        "driver_cpu": list(figures.driver_cpu),
        "steady_s": figures.steady_s,
        "errors": list(figures.samples),
        "machines": [asdict(view) for view in views],
        "printed_monitors": [asdict(figure) for figure in figures.monitors],
    }
