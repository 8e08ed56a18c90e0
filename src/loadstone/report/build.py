"""Building a report: read the result, gather what it shows, render it in one of its forms."""

import json
import shlex
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import jinja2

from loadstone.judge.consolidation import NAME as CONSOLIDATION
from loadstone.judge.score import DISCLAIMER, NAME
from loadstone.model.errors import StoreError
from loadstone.model.figures import IterationFigures, Terms
from loadstone.report.machines import MachineView, machine_views
from loadstone.report.pictures import Picture, load_pictures, resource_pictures
from loadstone.report.tables import EndingRow, MixRow, OperationRow, ending_rows, mix_rows, operation_rows
from loadstone.report.tiles import tiles_view
from loadstone.store.read import Iteration, Result, WorkloadResult, read_result

Json = dict[str, Any]


MOST_PICTURED = 30
"""Workloads of a result up to which each has pictures of its own: those of dozens of tiles would take minutes."""


class Format(StrEnum):
    """Forms of a report."""

    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"


@dataclass(frozen=True)
class IterationSection:
    """What the report says of one iteration."""

    number: int
    verdict: Json
    figures: IterationFigures
    rows: list[OperationRow]
    mix: list[MixRow]
    load: list[Picture]
    resources: list[Picture]
    start: Json
    machines: list[MachineView]
    endings: list[EndingRow]


@dataclass(frozen=True)
class WorkloadSection:
    """What the report says of one workload."""

    terms: Terms
    verdict: Json
    iterations: list[IterationSection]
    declaration: str


def write_report(path: Path, form: Format = Format.HTML, output: Path | None = None) -> Path:
    """Writes the report of a judged result folder; returns where it is."""
    output = output or path / f"report.{form.value}"
    text = render(read_result(path), form)
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"The report cannot be written: {error}. Name another file with --output.") from None
    return output


def render(result: Result, form: Format) -> str:
    """The report's text."""
    if form is Format.JSON:
        return json.dumps(as_json(result), indent=1, ensure_ascii=False) + "\n"
    sections = gather(result, pictures=form is Format.HTML)
    templates = environment(form)
    return templates.get_template(f"report.{form.value}.j2").render(
        result=result,
        manifest=result.manifest,
        index=(result.verdict or {}).get("index"),
        index_name=NAME,
        disclaimer=DISCLAIMER,
        command=command(result.manifest),
        sections=sections,
        tiles=tiles_view(result, pictures=form is Format.HTML),
        score_name=CONSOLIDATION,
        most_pictured=MOST_PICTURED,
    )


def environment(form: Format) -> jinja2.Environment:
    """The templates of one form of report."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("loadstone.report"),
        autoescape=form is Format.HTML,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    templates.filters |= {"number": number, "seconds": seconds, "rounded": rounded, "figure": figure}
    return templates


def gather(result: Result, pictures: bool) -> list[WorkloadSection]:
    """Everything the templates need, workload by workload."""
    verdicts = {one["workload"]: one for one in (result.verdict or {"workloads": []})["workloads"]}
    pictures = pictures and len(result.workloads) <= MOST_PICTURED
    return [_workload(result, workload, verdicts, pictures) for workload in result.workloads]


def as_json(result: Result) -> Json:
    """The report's figures as a JSON document; distributions without their curves."""
    sections = []
    for section in gather(result, pictures=False):
        iterations = []
        for one in section.iterations:
            operations, mix = [asdict(row) for row in one.rows], [asdict(row) for row in one.mix]
            iterations.append(
                {
                    "number": one.number,
                    "verdict": one.verdict,
                    "operations": operations,
                    "mix": mix,
                    "endings": [asdict(row) for row in one.endings],
                    "sessions": dict(one.figures.sessions),
                    "wires": dict(one.figures.wires),
                    "driver_lag_p99_s": one.figures.lag.at(99.0),
                    "driver_cpu": list(one.figures.driver_cpu),
                    "steady_s": one.figures.steady_s,
                    "errors": list(one.figures.samples),
                    "machines": [asdict(view) for view in one.machines],
                }
            )
        sections.append({"terms": asdict(section.terms), "verdict": section.verdict, "iterations": iterations})
    index = (result.verdict or {}).get("index")
    named = None if index is None else {**index, "name": NAME, "disclaimer": DISCLAIMER}
    manifest = {key: value for key, value in result.manifest.items() if key not in ("terms", "declarations")}
    consolidation = (result.verdict or {}).get("consolidation")
    scored = None if consolidation is None else {**consolidation, "name": CONSOLIDATION, "disclaimer": DISCLAIMER}
    return {"manifest": manifest, "index": named, "consolidation": scored, "workloads": sections}


def command(manifest: Json) -> str:
    """The command that makes the same run again."""
    words = manifest["command"]
    return shlex.join(["loadstone", *words[1:]])


def number(value: float | None, digits: int = 0) -> str:
    """A number with thousands apart; empty for none."""
    return "" if value is None else f"{value:,.{digits}f}".replace(",", "\u202f")


def seconds(value: float | None) -> str:
    """Seconds with three places; empty for none."""
    return "" if value is None else f"{value:.3f}"


def rounded(value: float) -> str:
    """Four significant figures, never in powers of ten."""
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"


def figure(value: float, digits: int | None) -> str:
    """With so many places, or where none are given with four significant figures."""
    return rounded(value) if digits is None else number(value, digits)


def _workload(result: Result, workload: WorkloadResult, verdicts: dict[str, Json], pictures: bool) -> WorkloadSection:
    terms = workload.terms
    none = {"verdict": "not judged", "compliant": False, "iterations": [], "reasons": [], "not_judged": []}
    verdict = verdicts.get(terms.workload, none)
    # All workloads of a tile have the same monitors: one shows what they saw.
    shows_resources = "tiles" not in result.manifest or terms.workload.endswith("-web")
    judged = [*verdict["iterations"], *([{"verdict": "not judged", "checks": []}] * len(workload.iterations))]
    iterations = [
        _iteration(terms, iteration, kept, pictures, shows_resources)
        for iteration, kept in zip(workload.iterations, judged, strict=False)
    ]
    return WorkloadSection(terms, verdict, iterations, result.manifest["declarations"].get(terms.workload, ""))


def _iteration(
    terms: Terms, iteration: Iteration, verdict: Json, pictures: bool, shows_resources: bool
) -> IterationSection:
    figures = iteration.figures
    rows = operation_rows(terms, figures) if figures.operations else []
    return IterationSection(
        number=iteration.number,
        verdict=verdict,
        figures=figures,
        rows=rows,
        mix=list(mix_rows(terms, figures)),
        load=load_pictures(iteration, rows) if pictures else [],
        resources=resource_pictures(iteration) if pictures and shows_resources else [],
        start=iteration.start,
        machines=machine_views(iteration.steady_samples),
        endings=ending_rows(iteration.ledger),
    )
