"""Building a study's report: its answer as kept, in HTML, Markdown or JSON."""

import json
from pathlib import Path
from typing import Any

from loadstone.judge.score import DISCLAIMER, NAME
from loadstone.model.errors import StoreError
from loadstone.report.build import Format, command, environment, write_report
from loadstone.report.platform_rows import tables
from loadstone.report.study_pictures import pictures_of
from loadstone.store.folder import RUNS
from loadstone.store.read import catalogue
from loadstone.store.study import read_answer, read_study_manifest

Json = dict[str, Any]

RUN_LINKS = {"real": "runs/{folder}/report.html", "virtual": "runs/{folder}/"}
"""Where a run's own report is, from its study's: rehearsals have none until one is asked for."""
QUESTIONS = {
    "repeat": "How far may the figures of one run be trusted?",
    "search": "What is the largest load that passes every rule?",
    "sweep": "How do the figures move with what was varied?",
    "platforms": "What does one platform cost against the other?",
    "compare": "Is there a difference between A and B?",
    "tiles": "How many tiles does the host hold?",
    "predict": "What do a few loads say of others?",
}


def write_study_report(path: Path, form: Format = Format.HTML, output: Path | None = None) -> Path:
    """Writes the report of a study's folder; returns where it is."""
    output = output or path / f"report.{form.value}"
    try:
        output.write_text(render_study(path, form), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"The report cannot be written: {error}. Name another file with --output.") from None
    return output


def write_run_reports(path: Path) -> None:
    """Writes the reports of a study's real runs that have none yet."""
    for run, manifest in catalogue(path / RUNS):
        if manifest.get("clock") == "real" and not (run / "report.html").is_file():
            write_report(run)


def _emulated(answer: Json) -> list[Json]:
    """Parts some of whose machines were emulated: nobody may take such figures for those of hardware."""
    workloads = {run["wanted"]["workload"] for run in answer["runs"] if run.get("accelerator") == "tcg"}
    return [part for part in answer["parts"] if part["workload"] in workloads]


def render_study(path: Path, form: Format, run_link: str | None = None) -> str:
    """The report's text; `run_link` is where a run's own report is found, if not beside it."""
    manifest, answer = read_study_manifest(path), read_answer(path)
    if form is Format.JSON:
        return json.dumps({"manifest": manifest, "answer": answer}, indent=1, ensure_ascii=False) + "\n"
    workloads = {one["workload"]: one for one in manifest["workloads"]}
    parts = [
        {
            **part,
            "title": workloads[part["workload"]]["title"],
            "pictures": pictures_of(answer["kind"], part, workloads[part["workload"]]) if form is Format.HTML else [],
            "tables": tables(part) if answer["kind"] == "platforms" else [],
            "made": [run for run in answer["runs"] if run["wanted"]["workload"] == part["workload"]],
        }
        for part in answer["parts"]
    ]
    return (
        environment(form)
        .get_template(f"study.{form.value}.j2")
        .render(
            manifest=manifest,
            kind=answer["kind"],
            question=QUESTIONS[answer["kind"]],
            parts=parts,
            left=answer["left"],
            index=answer.get("index"),
            indices=answer.get("indices"),
            emulated=_emulated(answer),
            index_name=NAME,
            disclaimer=DISCLAIMER,
            command=command(manifest),
            run_link=run_link or RUN_LINKS[manifest["clock"]],
        )
    )
