"""`explain`: the broken rules of a result, and of the runs of a study together."""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter
from typer.testing import CliRunner

from loadstone.cli.explain import count_broken
from loadstone.cli.main import build_program
from loadstone.model.records.check import Bound, Check, CheckId, Outcome, Weight
from loadstone.model.records.verdict import IterationVerdict, ResultVerdict, Verdict, WorkloadVerdict
from loadstone.store.documents import write_document
from loadstone.store.layout import RUNS, VERDICT

LAG = Check(CheckId.DRIVER_LAG, "driver lag", 9.0, 1.0, Bound.AT_MOST, "ms", Weight.INVALID, Outcome.BROKEN)
SLOW = Check(CheckId.GOOD_SHARE, "good operations", 80.0, 95.0, Bound.AT_LEAST, "%", Weight.FAIL, Outcome.BROKEN)


def make_study(folder: Path, runs: list[tuple[Check, ...]]) -> Path:
    """A study whose runs broke these rules."""
    folder.mkdir()
    (folder / "study.json").write_text("{}")
    for number, checks in enumerate(runs, start=1):
        path = folder / RUNS / f"{number:03d}-page"
        path.mkdir(parents=True)
        iteration = IterationVerdict(Verdict.FAIL, checks)
        workload = WorkloadVerdict("page", Verdict.FAIL, False, (iteration,), (), ())
        write_document(path / VERDICT, TypeAdapter(ResultVerdict), ResultVerdict("test", (workload,)))
    return folder


def explain(*argv: str) -> Any:
    return CliRunner().invoke(build_program(), ["explain", *argv])


def test_rules_that_make_runs_invalid_come_first_then_the_most_frequent() -> None:
    few, many = count_broken([(SLOW,), (SLOW, LAG), ()])
    assert (few.first.id, few.runs) == (CheckId.DRIVER_LAG, 1)
    assert (many.first.id, many.runs) == (CheckId.GOOD_SHARE, 2)


def test_the_rules_of_a_study_are_explained_once_with_the_number_of_runs(tmp_path: Path) -> None:
    folder = make_study(tmp_path / "series", [(SLOW,), (SLOW, LAG), ()])
    text = explain(str(folder)).output
    assert text.count("good_share: ") == 1 and "good_share: 2 of 3 runs broke it" in text
    assert text.index("driver_lag: 1 of 3 runs broke it") < text.index("good_share: ")
    rules = json.loads(explain(str(folder), "--json").output)
    assert [(rule["id"], rule["runs"], rule["of"]) for rule in rules] == [("driver_lag", 1, 3), ("good_share", 2, 3)]


def test_a_study_without_a_broken_rule_says_so(tmp_path: Path) -> None:
    assert "None of the 2 runs broke a rule." in explain(str(make_study(tmp_path / "series", [(), ()]))).output
