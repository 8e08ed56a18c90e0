"""A verdict as JUnit XML, as pipelines read it: a suite for each iteration, a case for each rule."""

import re
from xml.etree import ElementTree as Xml

from loadstone.model.errors import UsageError
from loadstone.model.records.check import Check, Outcome, Weight
from loadstone.model.records.manifest import Manifest
from loadstone.model.records.result import Result

UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 (section 2.2) has no place for."""


def as_junit(result: Result) -> bytes:
    """A broken rule is a failure where the run fails for it, an error where nothing can be said for it.

    A run of which nothing was measured is an error with its reason. Raises UsageError for a result that was not judged.
    """
    if result.verdict is None:
        raise UsageError("The result was not judged. `loadstone report --rejudge` does it.")
    suites = Xml.Element("testsuites", name="loadstone")
    for workload in result.verdict.workloads:
        for number, iteration in enumerate(workload.iterations, 1):
            suite = Xml.SubElement(suites, "testsuite", name=f"{workload.workload}-{number}")
            for check in iteration.checks:
                _add(suite, workload.workload, check)
            counts = {kind: len(suite.findall(f"./testcase/{kind}")) for kind in ("failure", "error", "skipped")}
            suite.set("tests", str(len(suite)))
            suite.set("failures", str(counts["failure"]))
            suite.set("errors", str(counts["error"]))
            suite.set("skipped", str(counts["skipped"]))
    if not any(len(suite) for suite in suites):
        _add_unmeasured(suites, result.manifest)
    content: bytes = Xml.tostring(suites, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _add_unmeasured(suites: Xml.Element, manifest: Manifest) -> None:
    """An error for a run of which nothing was measured: pipelines take an empty report for a pass."""
    suite = Xml.SubElement(
        suites, "testsuite", name=_text(manifest.name), tests="1", failures="0", errors="1", skipped="0"
    )
    case = Xml.SubElement(suite, "testcase", classname=f"loadstone.{_text(manifest.name)}", name="run")
    reason = manifest.reason or "nothing was measured"
    Xml.SubElement(case, "error", message=_text(reason), type=str(manifest.status)).text = _text(reason)


def _add(suite: Xml.Element, workload: str, check: Check) -> None:
    case = Xml.SubElement(suite, "testcase", classname=f"loadstone.{workload}", name=_text(check.rule))
    message = _text(str(check))
    if check.is_broken:
        kind = "failure" if check.weight is Weight.FAIL else "error"
        Xml.SubElement(case, kind, message=message, type=str(check.weight)).text = _text(f"source: {check.source}")
    elif check.outcome not in (Outcome.KEPT, Outcome.BROKEN):
        Xml.SubElement(case, "skipped", message=message)
    else:
        Xml.SubElement(case, "system-out").text = message


def _text(text: str) -> str:
    return UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)
