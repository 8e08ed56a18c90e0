"""Whether runs were long enough for a pass, and how long they must be. Pure.

A run with fewer operations than a pass takes may fail, but could not have passed: it does not show what a system
sustains.
"""

import math
from collections.abc import Iterable, Sequence

from loadstone.judge.outlook import MARGIN
from loadstone.model.records.check import Check, CheckId
from loadstone.study.summary import RunSummary


def has_enough(checks: Sequence[Check]) -> bool:
    """Whether a run had the operations that a pass takes; true where no rule asks for any."""
    return all(check.figure >= check.limit for check in checks if check.id is CheckId.ENOUGH)


def compute_needed_steady_s(runs: Iterable[RunSummary]) -> int | None:
    """Returns the shortest steady state, in seconds, with which one of the runs would have had operations enough.

    None where none had too few, or where no window is known.
    """
    lengths = [
        _needed_s(check, run)
        for run in runs
        for check in run.checks
        if check.id is CheckId.ENOUGH and check.figure < check.limit and run.windows_unix_s
    ]
    return min(lengths, default=None)


def compute_steady_s_for(load: float, runs: Iterable[RunSummary]) -> int:
    """Returns the shortest steady state, in seconds, that has operations enough at a load, by runs at other loads.

    0 where no run says so.
    """
    lengths = [
        _needed_s(check, run) * run.request.load / load
        for run in runs
        for check in run.checks
        if check.id is CheckId.ENOUGH and run.windows_unix_s and run.request.load
    ]
    return math.ceil(min(lengths, default=0.0))


def advise_steady(runs: Iterable[RunSummary]) -> str:
    """Returns the option that makes runs long enough."""
    needed_s = compute_needed_steady_s(runs)
    return "--steady" if needed_s is None else f"--steady {needed_s}"


def _needed_s(check: Check, run: RunSummary) -> int:
    begin, end = run.windows_unix_s[0]
    return math.ceil(MARGIN * (end - begin) * check.limit / max(1.0, check.figure))
