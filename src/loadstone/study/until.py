"""How sure a figure is to be before a study ends: `p99 +-5%`. Pure."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.model.errors import UsageError

NAMED = 6
"""How many figures a refusal names."""
LOOKS_APART = 1.5
"""By how much more is measured before it is looked again whether a figure is sure: a study that looks after each run
stops where chance makes the interval narrow."""
UNTIL_PATTERN = re.compile(r"\s*([a-z0-9_]+)\s*(?:\+-|\+/-|±)\s*([0-9.]+)\s*%\s*")


@dataclass(frozen=True)
class Until:
    """How sure a figure is to be: its interval within so many percent of it, to both sides."""

    metric: str
    pct: float


def read_until(text: str, names: Mapping[str, str]) -> Until:
    """Reads `p99 +-5%`; `names` are the figures by what they may be called. Raises UsageError."""
    matched = UNTIL_PATTERN.fullmatch(text)
    metric = names.get(matched[1]) if matched else None
    try:
        pct = float(matched[2]) if matched else 0.0
    except ValueError:
        pct = 0.0
    if metric is None or not 0 < pct < 100:
        named = ", ".join(list(names)[:NAMED]) + (" ..." if len(names) > NAMED else "")
        raise UsageError(f"`{text}` is not a valid precision. Use `{next(iter(names))} +-5%`. Figures: {named}")
    return Until(metric, pct)


def estimate_runs_needed(count: int, half_pct: float, pct: float) -> int:
    """About how many runs make an interval so narrow: its width falls with the root of their number."""
    return math.ceil(count * (half_pct / pct) ** 2)


def list_looks(first: int, most: int) -> list[int]:
    """After how many runs, or rounds of runs, it is looked whether a figure is sure: each count once, `most` last."""
    counts = [min(most, first)]
    while counts[-1] < most:
        counts.append(min(most, math.ceil(LOOKS_APART * counts[-1])))
    return counts
