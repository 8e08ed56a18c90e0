"""A change that is too much, as users write it: `p95 > +10%`. Pure."""

import re
from dataclasses import dataclass

from loadstone.model.errors import UsageError
from loadstone.study.metrics import METRIC_ALIASES
from loadstone.study.until import NAMED

WANTED = re.compile(r"\s*([a-z0-9_]+)\s*([<>])\s*([+-])\s*([0-9.]+)\s*%\s*")
EXAMPLE = "p95 > +10%"
MOST_PCT = 1000.0


@dataclass(frozen=True)
class Condition:
    """A change that is too much: of a figure, beyond so many percent of the kept one."""

    metric: str
    is_rise: bool
    """Whether more is too much."""
    pct: float
    """With its sign."""
    text: str
    """As it was asked."""

    @property
    def limit(self) -> float:
        """The same as a ratio."""
        return 1 + self.pct / 100


def read_condition(text: str) -> Condition:
    """Reads `p95 > +10%` or `throughput < -5%`. Raises UsageError."""
    matched = WANTED.fullmatch(text)
    metric = METRIC_ALIASES.get(matched[1]) if matched else None
    try:
        pct = float(f"{matched[3]}{matched[4]}") if matched else 0.0
    except ValueError:
        metric, pct = None, 0.0
    if metric is None or matched is None or not -100 < pct <= MOST_PCT:
        named = ", ".join([*METRIC_ALIASES][:NAMED])
        raise UsageError(f"`{text}` is not a valid condition. Use `{EXAMPLE}`. Figures: {named} ...")
    return Condition(metric, matched[2] == ">", pct, " ".join(text.split()))
