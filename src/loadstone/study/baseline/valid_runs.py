"""Whether a series has enough valid runs for a baseline, and what to do where it has not. Pure."""

import math
from collections import Counter
from collections.abc import Sequence

from loadstone.judge.remedies import get_title
from loadstone.judge.statistics import compute_least_for_unpaired
from loadstone.model.records.check import CheckId, Weight
from loadstone.study.summary import RunSummary

LEAST_VALID = compute_least_for_unpaired(1)
"""Valid runs on each side from which a series can be distinguished from another."""
REASONS = 3
"""Rules that a sentence names at most."""


def conclude_series(runs: Sequence[RunSummary]) -> str:
    """Returns whether a baseline can be saved of each workload, in a sentence; empty without runs."""
    lacking = find_lacking(runs)
    if lacking:
        return f"Not enough valid runs for a baseline. {'; '.join(map(explain_lack, lacking))}. {advise_runs(lacking)}"
    return f"Enough valid runs for a baseline (at least {LEAST_VALID})." if runs else ""


def find_lacking(runs: Sequence[RunSummary]) -> list[list[RunSummary]]:
    """Returns all runs of each workload that has too few valid runs for a baseline."""
    names = dict.fromkeys(run.request.workload for run in runs)
    grouped = ([run for run in runs if run.request.workload == name] for name in names)
    return [group for group in grouped if sum(run.is_valid for run in group) < LEAST_VALID]


def explain_lack(runs: Sequence[RunSummary]) -> str:
    """Returns how many runs of a workload were invalid and which rules they broke, in a clause."""
    name, invalid = runs[0].request.workload, [run for run in runs if not run.is_valid]
    if not invalid:
        return f"{name}: only {len(runs)} runs, a baseline takes {LEAST_VALID}"
    broken = Counter(rule for run in invalid for rule in dict.fromkeys(_invalidating(run)))
    titles = ", ".join(get_title(rule) for rule, _ in broken.most_common(REASONS))
    reasons = f" ({titles})" if titles else ""
    return (
        f"{name}: {len(invalid)} of {len(runs)} runs were invalid{reasons}, a baseline takes {LEAST_VALID} valid runs"
    )


def advise_runs(lacking: Sequence[Sequence[RunSummary]]) -> str:
    """Returns the advice for workloads with too few valid runs: more runs than were made, as many as may suffice."""
    count = max(map(_runs_needed, lacking))
    has_invalid = any(not run.is_valid for runs in lacking for run in runs)
    where = " on a quieter host, or correct what the rules name (`loadstone explain latest`)" if has_invalid else ""
    return f"Repeat with `--runs {count}`{where}."


def _runs_needed(runs: Sequence[RunSummary]) -> int:
    """Runs of which enough may be valid, at the share of valid runs so far; at least one more than were made."""
    valid = sum(run.is_valid for run in runs)
    doubled = 2 * len(runs) if valid < len(runs) else 0
    return max(LEAST_VALID + 1, doubled, math.ceil(LEAST_VALID * len(runs) / valid) if valid else 0)


def _invalidating(run: RunSummary) -> list[CheckId]:
    return [check.id for check in run.list_broken() if check.weight is Weight.INVALID]
