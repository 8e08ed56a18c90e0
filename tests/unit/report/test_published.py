"""Reports of iterations that others published."""

import csv
from pathlib import Path

import pytest

from loadstone.cli.figures import format_lines
from loadstone.report.build import Format, write_report
from loadstone.report.sections.operations import list_operation_rows
from loadstone.run.published import import_published
from loadstone.store.read import read_result
from tests.places import DATA

TABLE = DATA / "published_iterations.csv"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sessions = {"banking": 2300, "shopping": 3200, "support": 2200}
    return import_published(TABLE, sessions, tmp_path_factory.mktemp("results"), "published")


def test_the_weighted_byte_rate_is_that_which_was_published(folder: Path) -> None:
    with TABLE.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if "Weighted ABR" in row["table"] and row["workload"] == "banking"]
    published = {(row["page"], row["column"]): float(row["value"]) for row in rows}
    workload = next(one for one in read_result(folder).workloads if one.id.label == "banking")
    for iteration in workload.iterations:
        for row in list_operation_rows(workload.criteria, iteration.figures)[:-1]:
            known = published[row.name, f"V{iteration.number}"]
            assert row.weighted_rate == pytest.approx(known, rel=0.002)  # means are published with three digits


def test_a_report_shows_what_was_disclosed_and_calls_nothing_else_none(folder: Path) -> None:
    text = write_report(folder, Format.MARKDOWN, folder / "report.md").read_text()
    assert "weighted byte rate, B/s" in text
    assert "percentiles **not disclosed**; errors **not disclosed**" in text
    assert "too few samples" not in text
    assert "errors **0" not in text
    assert "| 609 767 | 594 137 | 15 596 | 34 | not disclosed | not disclosed |" in text.replace("\u202f", " ")


def test_the_terminal_does_so_too(folder: Path) -> None:
    said = [line for workload in read_result(folder).workloads for line in format_lines(workload)]
    assert said[0] == "iteration 1: 338.8 operations/s; average 600 ms; percentiles and errors not disclosed"
    assert not any("0.00 %" in line for line in said)


def test_the_kept_headline_says_no_share_of_errors(folder: Path) -> None:
    verdict = read_result(folder).verdict
    assert verdict is not None
    headlines = [workload.iterations[0].headline for workload in verdict.workloads]
    assert [headline and headline.errors_pct for headline in headlines] == [None] * 3
