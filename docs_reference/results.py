"""The page of the results folder: every file of a run and of a study with what it holds, and fields of documents."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from docs_reference.markdown import anchor, code, documented_fields, paragraph, plural, sentence, summary, table
from loadstone.cli.baseline import FOLDER as BASELINES
from loadstone.model.figures import FIGURES_SCHEMA, IterationFigures
from loadstone.model.records.check import CheckId
from loadstone.model.records.events import EVENT_SCHEMA
from loadstone.model.records.manifest import (
    ANSWER_SCHEMA,
    MANIFEST_SCHEMA,
    STUDY_SCHEMA,
    Manifest,
    StudyManifest,
)
from loadstone.model.records.sample import Sample
from loadstone.model.records.verdict import VERDICT_SCHEMA, ResultVerdict
from loadstone.run.plan import PLAN_SCHEMA
from loadstone.store.figures import AUDIT, FIGURES, TOOL_CLOCK
from loadstone.store.folder import RESERVE, SEAL_SCHEMA
from loadstone.store.layout import ANSWER, LOGS, MANIFEST, REJUDGED, RUNS, SEAL, STUDY, VERDICT
from loadstone.store.read import FAULT, PLAN
from loadstone.store.records import EVENTS, MONITOR
from loadstone.store.refused import NOTE
from loadstone.study.baseline.series import BASELINE_SCHEMA

HEAD = ("file", "content", "schema")
RUN_FILES = (
    (MANIFEST, "Command, profile, seed, system, machine, versions, limits, and how far the run got.",
     f"{MANIFEST_SCHEMA}, [fields](#manifest)"),
    (VERDICT, "Verdict of the run: every rule with figure, limit and source.",
     f"{VERDICT_SCHEMA}, [fields](#resultverdict)"),
    (REJUDGED, "Verdict of `loadstone report --rejudge`, from the same figures.",
     f"{VERDICT_SCHEMA}, [fields](#resultverdict)"),
    (SEAL, "SHA-256 of the manifest, the verdict and everything measured.", str(SEAL_SCHEMA)),
    ("report.html", "The report: one file that loads nothing from elsewhere.", ""),
    (f"{RUNS}/WORKLOAD-N/{PLAN}", "Plan of the driver for iteration N.",
     f"{PLAN_SCHEMA}, [plan.json](../../schemas/plan.json)"),
    (f"{RUNS}/WORKLOAD-N/{EVENTS}", "Lines of the driver: phases, one record per second with all histograms, totals.",
     f"{EVENT_SCHEMA}, [events.json](../../schemas/events.json)"),
    (f"{RUNS}/WORKLOAD-N/{MONITOR}", "Lines of the monitors, about one per second.", "[fields](#sample)"),
    (f"{RUNS}/WORKLOAD-N/driver.log", "Log of the driver.", ""),
    (f"{RUNS}/WORKLOAD-N/{AUDIT}", "Answer of the server to the audit; of audited workloads.", ""),
    (f"{RUNS}/WORKLOAD-N/{TOOL_CLOCK}", "Drift of a tool's clock, if only mean times are known for that.", ""),
    (f"{RUNS}/WORKLOAD-N/{FAULT}", "The fault that was injected; of `loadstone failover`.", ""),
    (f"{RUNS}/WORKLOAD-N/{FIGURES}", "Figures that were judged, computed from the files above; those of "
     "`loadstone import` come alone.", f"{FIGURES_SCHEMA}, [fields](#iterationfigures)"),
    (f"{LOGS}/*.log", "Logs of servers, machines and drivers of other hosts.", ""),
    (RESERVE, "Disk space that a run reserves, so that its end can be written.", ""),
)  # fmt: skip
STUDY_FILES = (
    (STUDY, "Declaration of the study, and how far it got.", f"{STUDY_SCHEMA}, [fields](#studymanifest)"),
    (ANSWER, "Answer of the study so far, rewritten after each run.", f"{ANSWER_SCHEMA}"),
    (f"{RUNS}/*/", "Result folders of its runs.", ""),
    ("report.html", "The report of the study.", ""),
)
OTHER_FILES = (
    (f"{BASELINES}/NAME.json", "A baseline of `loadstone baseline save`.", str(BASELINE_SCHEMA)),
    (NOTE, "The latest command that ended without a result.", ""),
)
DOCUMENTS = (Manifest, ResultVerdict, StudyManifest, Sample, IterationFigures)
SCALARS = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def results_folder(schemas: Path) -> Iterator[str]:
    """Blocks of results-folder.md."""
    yield "# Results folder"
    yield paragraph(
        "`--results` or `LOADSTONE_RESULTS` names the folder of the results, `results` by default. A run leaves "
        "`TIME-NAME/` there, a study a folder of the same form. Sealed files are never changed; a later verdict "
        "becomes a further file. Documents name their schema, and results of older schemas are read. "
        "`make reference` writes this page from the code."
    )
    yield "## Files of a run"
    yield table(HEAD, ((code(name), text, schema) for name, text, schema in RUN_FILES))
    yield "## Files of a study"
    yield table(HEAD, ((code(name), text, schema) for name, text, schema in STUDY_FILES))
    yield "## Further files"
    yield table(HEAD, ((code(name), text, schema) for name, text, schema in OTHER_FILES))
    yield "## Lines of events.jsonl"
    yield from _events(json.loads((schemas / "events.json").read_text(encoding="utf-8")))
    records = Records()
    for kind in DOCUMENTS:
        yield from records.blocks(kind, 2)


def _events(schema: Mapping[str, Any]) -> Iterator[str]:
    yield paragraph(schema["description"])
    rows = []
    for event in schema["oneOf"]:
        content = schema["$defs"].get(event.get("$ref", "").rpartition("/")[2], {})
        properties = {**event["properties"], **content.get("properties", {})}
        keys = ", ".join(code(key) for key in properties if key != "event")
        about = event.get("description") or content.get("description", "")
        rows.append((code(event["properties"]["event"]["const"]), " ".join(about.split()), keys))
    yield table(("event", "meaning", "keys"), rows)


@dataclass
class Records:
    """Records of documents, each written once, in the order in which they are reached."""

    known: set[type[Any]] = field(default_factory=set)

    def blocks(self, kind: type[Any], level: int) -> Iterator[str]:
        """Heading, description and fields of a record, and then the same of all records below it."""
        self.known.add(kind)
        hints, texts = get_type_hints(kind), documented_fields(kind)
        below: list[type[Any]] = []
        rows = []
        for record_field in fields(kind):
            type_text, records = _type_of(hints[record_field.name])
            below += [record for record in records if record not in self.known and record not in below]
            rows.append((code(record_field.name), type_text, _in_json(sentence(texts.get(record_field.name, "")))))
        self.known |= set(below)
        yield f"{'#' * level} {kind.__name__}"
        if (about := summary(kind)) and not about.startswith(f"{kind.__name__}("):
            yield paragraph(_in_json(sentence(about)))
        yield table(("key", "type", "description"), rows)
        for record in below:
            yield from self.blocks(record, 3)


def _in_json(text: str) -> str:
    """A text about a record as one about a document."""
    return re.sub(r"\bNone\b", "null", text)


def _type_of(annotation: Any) -> tuple[str, list[type[Any]]]:
    """A type in words, and the records in it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        parts = [_type_of(argument) for argument in arguments if argument is not type(None)]
        type_text = " or ".join(dict.fromkeys(part[0] for part in parts))
        return f"{type_text} or null" if type(None) in arguments else type_text, [
            record for part in parts for record in part[1]
        ]
    if origin is tuple:
        type_text, below = _type_of(arguments[0])
        return f"list of {plural(type_text)}", below
    if isinstance(origin, type) and issubclass(origin, Mapping):
        type_text, below = _type_of(arguments[1])
        return f"object of {plural(type_text)}", below
    if isinstance(annotation, type) and is_dataclass(annotation):
        return f"[{annotation.__name__}](#{anchor(annotation.__name__)})", [annotation]
    if annotation is CheckId:
        return "[id of a rule](rules.md)", []
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(code(member.value) for member in annotation), []
    return ("any", []) if isinstance(annotation, TypeVar) else (SCALARS.get(annotation, "any"), [])
