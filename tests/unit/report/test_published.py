"""Reports of iterations that others published."""

import csv
from pathlib import Path

import pytest

from loadstone.cli.figures import format_lines
from loadstone.model.errors import UsageError
from loadstone.model.records.check import CheckId, Outcome
from loadstone.model.records.verdict import Verdict
from loadstone.report.build import Format, write_report
from loadstone.report.sections.operations import list_operation_rows
from loadstone.run.published import import_published
from loadstone.store.read import read_result
from loadstone.study.summary import collect_metrics
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


MONITORS = DATA / "published_monitors.csv"
"""What the host spent on the virtual machine, as printed."""
SESSIONS = {"banking": 2300, "shopping": 3200, "support": 2200}
GUEST = """banking,monitors of web,processors,V1,1
banking,monitors of web,"CPU user, %",V1,80
banking,monitors of web,"CPU system, %",V1,19
banking,monitors of web,"CPU idle, %",V1,1
banking,monitors of web/eth0,"packets sent, 1/s",V1,0
"""


def import_with(folder: Path, rows: str) -> Path:
    """Imports the published iterations with further rows."""
    (folder / "table.csv").write_text(TABLE.read_text() + rows)
    return import_published(folder / "table.csv", SESSIONS, folder / "results", "monitored")


@pytest.fixture(scope="module")
def monitored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = MONITORS.read_text().partition("\n")[2]
    return import_with(tmp_path_factory.mktemp("monitored"), rows + GUEST)


def cells(text: str, heading: str) -> dict[str, list[str]]:
    """Rows of the first table below a heading, by their first cell."""
    lines = text.partition(heading)[2].partition("\n|--")[2].partition("\n\n")[0].splitlines()[1:]
    rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {row[0]: row[1:] for row in rows}


def test_a_report_shows_what_monitors_saw_and_what_was_not_printed(monitored: Path) -> None:
    text = write_report(monitored, Format.MARKDOWN, monitored / "report.md").read_text()
    rows = cells(text, "Monitors, as printed")
    assert rows["CPU"] == ["1.04", "not disclosed", "cores"]
    assert rows["CPU user"] == ["not disclosed", "80", "%"]
    assert rows["network"] == ["90", "not disclosed", "Mbit/s"]
    assert rows["CPU wait"] == ["not disclosed", "not disclosed", ""]
    assert "| web/eth0 | 0 |" in text
    assert "Printed once, for all iterations: CPU of web by the host, network of web by the host." in text
    assert text.count("Printed once, for all iterations: all figures.") == 8
    assert "1 of 1 relations between the printed figures of monitors hold." in text


def test_the_block_of_a_machine_has_them_in_the_units_of_measured_runs(monitored: Path) -> None:
    text = write_report(monitored, Format.MARKDOWN, monitored / "report.md").read_text()
    rows = cells(text, "Machine web: as the host sees it, as it sees itself")
    assert rows["CPU in all"] == ["1.04", "0.99", "cores"]
    assert (rows["of it user"], rows["of it system"]) == (["-", "0.8", "cores"], ["-", "0.19", "cores"])
    assert rows["idle"] == ["-", "0.01", "cores"]
    assert "memory" not in rows


def test_a_comparison_has_the_cpu_of_the_printed_system(monitored: Path) -> None:
    (first, *_) = read_result(monitored).workloads[0].iterations
    metrics = collect_metrics(first)
    assert metrics["server_cpu"] == pytest.approx(1.04)
    assert (metrics["server_user"], metrics["server_system"]) == (pytest.approx(0.80), pytest.approx(0.19))
    assert metrics["server_cpu_per_operation"] == pytest.approx(1.04 / metrics["throughput"])
    assert not {"host_cpu", "host_interrupts"} & metrics.keys()


def test_without_monitors_their_figures_are_not_disclosed(folder: Path) -> None:
    text = write_report(folder, Format.MARKDOWN, folder / "report.md").read_text()
    assert text.count("Figures of monitors: not disclosed.") == 9
    assert "Machine " not in text
    assert not {"server_cpu", "host_cpu"} & collect_metrics(read_result(folder).workloads[0].iterations[0]).keys()


def test_a_contradiction_between_monitors_is_noted_and_changes_no_verdict(tmp_path: Path) -> None:
    path = import_with(tmp_path, GUEST.replace(",19\n", ",29\n"))
    verdict = read_result(path).verdict
    assert verdict is not None and verdict.whole is Verdict.PASS
    assert "is 110 %, not at most 100" in verdict.workloads[0].iterations[0].notes[0]
    text = write_report(path, Format.MARKDOWN, path / "report.md").read_text()
    assert "0 of 1 relations between the printed figures of monitors hold." in text


def test_a_machine_that_the_system_does_not_have_is_refused_with_those_it_has(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"`monitors of` names `wbe`.*Known machines: host, driver, web, backend"):
        import_with(tmp_path, "banking,monitors of wbe,processors,V1,1\n")
    import_with(tmp_path, "banking,monitors of web-2,processors,V1,1\nbanking,monitors of driver,processors,V1,2\n")


def test_a_table_that_was_not_read_is_named_in_the_report(tmp_path: Path) -> None:
    path = import_with(tmp_path, "banking,temperature of the room,login,V1,20\n")
    (notice,) = read_result(path).manifest.notices
    assert notice.startswith("The table `temperature of the room` is not known and was not read.")
    assert "not known and was not read" in write_report(path, Format.MARKDOWN, path / "report.md").read_text()


def test_printed_validation_errors_are_in_the_headline(tmp_path: Path) -> None:
    path = import_with(tmp_path, "banking,validation errors,Total,V3,0\n")
    text = write_report(path, Format.MARKDOWN, path / "report.md").read_text()
    assert "validation errors **0**; other errors **not disclosed**" in text
    lines = list(format_lines(read_result(path).workloads[0]))
    assert lines[-1].endswith("0 validation errors; percentiles and other errors not disclosed")


def test_what_tables_do_not_have_of_a_run_is_not_disclosed(folder: Path) -> None:
    text = write_report(folder, Format.MARKDOWN, folder / "report.md").read_text()
    facts = text.partition("## Configuration")[2].partition("####")[0]
    for name in ("ramp-up, warm-up, ramp-down", "seed", "driver threads", "machines", "host"):
        assert any(name in line and "not disclosed" in line for line in facts.splitlines()), name
    assert "1800 s" in facts and "published_iterations.csv, SHA-256" in facts
    assert "Control group limits" not in text and "no sample" not in text
    assert "plan.json" not in text


def test_a_lead_that_was_not_printed_is_not_judged(folder: Path) -> None:
    verdict = read_result(folder).verdict
    assert verdict is not None
    lead = [check for check in verdict.workloads[0].iterations[0].checks if check.id is CheckId.LEAD]
    assert [check.outcome for check in lead] == [Outcome.NOT_JUDGED]
