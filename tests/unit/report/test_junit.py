"""A verdict for pipelines: a case for each rule, and what was broken by what it means."""

import tarfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from loadstone.model.errors import UsageError
from loadstone.model.records.check import Bound, Check, CheckId, Outcome, Weight
from loadstone.model.records.result import Result
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import IterationVerdict, Verdict
from loadstone.report.junit import as_junit
from loadstone.store.read import read_result
from tests.places import DATA


@pytest.fixture
def result(tmp_path: Path) -> Result:
    with tarfile.open(DATA / "schema-1.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return read_result(tmp_path / "rate")


def judged(result: Result, *checks: Check) -> Xml.Element:
    assert result.verdict is not None
    iteration = IterationVerdict(Verdict.FAIL, checks)
    workload = replace(result.verdict.workloads[0], iterations=(iteration,))
    (suite,) = Xml.fromstring(as_junit(replace(result, verdict=replace(result.verdict, workloads=(workload,)))))
    return suite


def check(rule: str, weight: Weight, outcome: Outcome) -> Check:
    return Check(CheckId.GOOD_SHARE, rule, 90.0, 95.0, Bound.AT_LEAST, "%", weight, outcome, "a page", "<a\x00b>")


def test_each_rule_is_a_case(result: Result) -> None:
    assert result.verdict is not None
    document = Xml.fromstring(as_junit(result))
    for suite, workload in zip(document, result.verdict.workloads, strict=True):
        assert [case.get("name") for case in suite] == [check.rule for check in workload.iterations[0].checks]


def test_what_is_broken_says_what_that_means(result: Result) -> None:
    suite = judged(
        result,
        check("kept", Weight.FAIL, Outcome.KEPT),
        check("fails", Weight.FAIL, Outcome.BROKEN),
        check("spoils", Weight.INVALID, Outcome.BROKEN),
        check("tells", Weight.NOTE, Outcome.BROKEN),
        check("open", Weight.FAIL, Outcome.NOT_JUDGED),
    )
    assert [case[0].tag for case in suite] == ["system-out", "failure", "error", "system-out", "skipped"]
    assert [suite.get(kind) for kind in ("tests", "failures", "errors", "skipped")] == ["5", "1", "1", "1"]
    assert suite[1][0].get("message") == "fails: 90 %, at least 95 (<a\N{REPLACEMENT CHARACTER}b>)"


def test_what_was_not_judged_is_refused(result: Result) -> None:
    with pytest.raises(UsageError, match="rejudge"):
        as_junit(replace(result, verdict=None))


def test_a_run_of_which_nothing_was_measured_is_an_error_with_its_reason(result: Result) -> None:
    assert result.verdict is not None
    manifest = replace(result.manifest, status=Status.FAILED, reason="nothing listens there")
    (suite,) = Xml.fromstring(
        as_junit(replace(result, manifest=manifest, verdict=replace(result.verdict, workloads=())))
    )
    (error,) = suite.findall("./testcase/error")
    assert (suite.get("errors"), error.get("message"), error.get("type")) == ("1", "nothing listens there", "failed")
