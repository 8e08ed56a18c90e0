"""The results of checks, as the emulated host writes them and its creator reads them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_POSSIBLE = "not possible"


class NotPossibleError(Exception):
    """The host lacks what the check needs; the text says what."""


@dataclass(frozen=True)
class CheckResult:
    """A check, its outcome and the reason or the values that it read."""

    check: str
    outcome: Outcome
    detail: str
    seconds: float


def write_result(result: CheckResult) -> str:
    """Returns a result as a line of JSON."""
    return json.dumps({"result": asdict(result)})


def read_results(lines: Iterable[str]) -> Iterator[CheckResult]:
    """Yields the results among lines; other lines, and one that was cut, are left out."""
    for line in lines:
        try:
            fields = json.loads(line)["result"]
        except (ValueError, KeyError, TypeError):
            continue
        yield CheckResult(**{**fields, "outcome": Outcome(fields["outcome"])})


def add_missing(results: Iterable[CheckResult], checks: Iterable[str], why: str) -> list[CheckResult]:
    """Returns the results in the order of the checks; those without a result have failed, for the given reason."""
    known = {result.check: result for result in results}
    return [known.get(check) or CheckResult(check, Outcome.FAILED, why, 0.0) for check in checks]


def write_table(results: Iterable[CheckResult]) -> str:
    """Returns the results as a table in Markdown."""
    rows = [
        f"| {result.check} | {result.outcome} | {result.seconds:.0f} | {_cell(result.detail)} |" for result in results
    ]
    return "\n".join(["| check | outcome | seconds | detail |", "|---|---|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
