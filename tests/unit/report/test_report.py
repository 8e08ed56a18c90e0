"""Reports of whole and of broken-off results, in all forms."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from loadstone.judge.remedies import REMEDIES
from loadstone.model.numbers import format_number, format_rounded
from loadstone.model.records.check import Outcome
from loadstone.model.records.manifest import HELD_CURVE, MachineFacts
from loadstone.model.records.status import Status
from loadstone.page.blocks import Gallery, Row, Table
from loadstone.page.plot import PercentilePlot
from loadstone.report.build import Format, check_trust, write_report
from loadstone.report.charts import MOST_POINTS, _thinned
from loadstone.report.section import ReportContext
from loadstone.report.sections import held_outputs, pair_log
from loadstone.run.judging import judge
from loadstone.store.folder import Seal, SealState
from loadstone.store.read import read_result, read_verdict
from loadstone.study.run_figures import PairLog
from tests.places import PROJECT
from tests.records import interval, result_folder


@pytest.fixture
def broken_off(tmp_path: Path) -> Path:
    path = result_folder(tmp_path, [interval(1), interval(2)], Status.FAILED)
    judge(path)
    return path


@pytest.mark.parametrize("form", Format)
def test_a_broken_off_result_has_a_report_that_says_so(broken_off: Path, form: Format) -> None:
    text = write_report(broken_off, form).read_text()
    assert "failed" in text
    assert "invalid" in text


def test_html_loads_nothing_from_elsewhere(broken_off: Path) -> None:
    text = write_report(broken_off).read_text()
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", text.replace("xlink:href", ""))
    assert "<script" not in text
    assert not re.findall(r"url\((?!#|&quot;#|'#)", text)


def test_every_broken_rule_links_to_its_cause_and_remedy(broken_off: Path) -> None:
    verdict = read_verdict(broken_off)
    assert verdict is not None
    checks = verdict.workloads[0].iterations[0].checks
    broken = {check.id for check in checks if check.outcome is Outcome.BROKEN}
    text = write_report(broken_off).read_text()
    assert broken
    assert set(re.findall(r'<a href="#rule-(\w+)">', text)) == broken
    for rule in broken:
        assert text.count(f'id="rule-{rule}"') == 1
        assert f"loadstone explain {rule}" in text
        assert REMEDIES[rule].remedy.replace("`", "") in unescape(text)


def test_json_is_complete(broken_off: Path) -> None:
    content = json.loads(write_report(broken_off, Format.JSON).read_text())
    assert content["workloads"][0]["verdict"]["verdict"] == "invalid"
    assert content["manifest"]["status"] == "failed"


def test_how_long_a_pair_held_its_outputs_is_a_picture(broken_off: Path) -> None:
    result, seal = read_result(broken_off), Seal(SealState.INTACT, covers_verdict=True)
    pair = MachineFacts("a pair", facts={HELD_CURVE: [[0.2, 0.5], [0.4, 0.9], [7.0, 1.0]]})
    result = replace(result, manifest=replace(result.manifest, machines={"web": pair, "db": MachineFacts("another")}))
    (gallery,) = held_outputs.render_blocks(ReportContext(result, seal, has_pictures=True))
    assert isinstance(gallery, Gallery)
    assert isinstance(gallery.figures[0].plot, PercentilePlot)
    rows = gallery.figures[0].plot.rows
    assert [(row["series"], row["value"]) for row in rows] == [("web", 0.0002), ("web", 0.0004), ("web", 0.007)]
    assert [row["beyond"] for row in rows] == pytest.approx([0.5, 0.1, 0.05])
    assert not list(held_outputs.render_blocks(ReportContext(result, seal, has_pictures=False)))


def test_the_log_of_a_pair_is_a_row_of_kinds() -> None:
    log = PairLog(3.0, 1.5, None, None, None, None, {"network": 2.0, "clock": 1.0})
    _heading, table, _note = pair_log.build_table({"support": log})
    assert isinstance(table, Table)
    assert [column.title.split("\n")[0] for column in table.columns] == ["workload", "log", "network", "clock", "wire"]
    assert [row.cells for row in table.rows if isinstance(row, Row)] == [["support", "3", "2", "1", "1.5"]]


def test_a_result_without_a_pair_has_no_table_of_logs(broken_off: Path) -> None:
    context = ReportContext(read_result(broken_off), Seal(SealState.INTACT, covers_verdict=True), has_pictures=True)
    assert not list(pair_log.render_blocks(context))


def test_numbers_are_written_for_people() -> None:
    assert format_number(1234567.891, 1) == "1\u202f234\u202f567.9"
    assert format_number(None) == ""
    assert (format_rounded(0.5), format_rounded(123456.0)) == ("0.5", "123456")


def test_templates_have_lines_that_can_be_read() -> None:
    templates = list((PROJECT / "src").rglob("*.j2"))
    long = [f"{path.name}:{at}" for path in templates for at, line in enumerate(path.open(), 1) if len(line) > 160]
    assert len(templates) > 6
    assert not long


@pytest.mark.parametrize("state", SealState)
def test_only_what_is_sealed_is_compliant(broken_off: Path, state: SealState) -> None:
    result = read_result(broken_off)
    assert result.verdict is not None
    compliant = tuple(replace(one, compliant=True) for one in result.verdict.workloads)
    seal = Seal(state, covers_verdict=True)
    shown, _ = check_trust(replace(result, verdict=replace(result.verdict, workloads=compliant)), seal)
    assert shown.verdict is not None
    assert shown.verdict.workloads[0].compliant is (state is SealState.INTACT)


@pytest.mark.parametrize("form", [Format.HTML, Format.MARKDOWN])
def test_a_report_says_whether_its_result_is_sealed(broken_off: Path, form: Format) -> None:
    assert "seal intact" in write_report(broken_off, form).read_text()


def test_a_picture_of_a_long_run_has_bounded_points_and_every_extreme() -> None:
    rows = [
        {
            "second": second,
            "value": 1000 if second == 77_777 else -5 if second == 12_345 else second % 7,
            "series": name,
        }
        for name in ("a", "b")
        for second in range(100_000)
    ]
    kept = _thinned(rows, is_stacked=False)
    assert len(kept) <= 2 * MOST_POINTS + 4
    for name in ("a", "b"):
        own = [row for row in kept if row["series"] == name]
        assert {-5, 1000} <= {row["value"] for row in own}
        assert [row["second"] for row in own] == sorted(row["second"] for row in own)
    stacked = _thinned(rows, is_stacked=True)
    seconds = [[row["second"] for row in stacked if row["series"] == name] for name in ("a", "b")]
    assert seconds[0] == seconds[1] and len(seconds[0]) <= MOST_POINTS
    assert _thinned(rows[:100], is_stacked=False) == rows[:100]
