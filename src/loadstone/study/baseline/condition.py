"""A limit of a check, as users write it: a change such as `p95 > +10%`, or a share such as `errors > 0.1%`. Pure."""

import re
from dataclasses import dataclass

from loadstone.model.errors import UsageError
from loadstone.model.reading import suggest
from loadstone.study.metrics import FIGURE_NAMES, METRIC_ALIASES, SHARES

CONDITION_PATTERN = re.compile(r"\s*([a-z0-9_]+)\s*([<>])\s*([+-]?)\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*%\s*")
EXAMPLE = "p95 > +10%"
SHARE_EXAMPLE = "errors > 0.1%"
MOST_CHANGE_PCT = 1000.0


@dataclass(frozen=True)
class Condition:
    """A limit that fails a check: a change in percent of the baseline, or a share of the new series."""

    metric: str
    is_rise: bool
    """Whether more is too much."""
    pct: float
    """A change with its sign, or a share, in percent."""
    text: str
    """As it was asked."""
    is_share: bool = False
    """Whether the limit holds for the new series alone."""

    @property
    def limit(self) -> float:
        """The limit of a change as a ratio."""
        return 1 + self.pct / 100


def read_condition(text: str) -> Condition:
    """Reads `p95 > +10%`, `throughput < -5%` or `errors > 0.1%`. Raises UsageError."""
    matched = CONDITION_PATTERN.fullmatch(text)
    if matched is None:
        raise UsageError(
            f"`{text}` is not a valid condition. Use a figure, `<` or `>`, and a percentage: `{EXAMPLE}` for a "
            f"change, `{SHARE_EXAMPLE}` for a share. Figures: {', '.join(FIGURE_NAMES)}."
        )
    name, comparison, sign, digits = matched.groups()
    metric = METRIC_ALIASES.get(name)
    if metric is None:
        remedy = f"{suggest(name, set(FIGURE_NAMES))} For example: `{EXAMPLE}`."
        raise UsageError(f"`{name}` in `{text}` is not a known figure. {remedy}")
    pct = float(f"{sign}{digits}")
    if not sign:
        _refuse_no_share(text, metric, f"{name} {comparison} {'+' if comparison == '>' else '-'}{digits}%", pct)
    elif not -100 < pct <= MOST_CHANGE_PCT:
        raise UsageError(
            f"`{text}` is beyond the possible changes. Use more than -100% and at most +{MOST_CHANGE_PCT:g}%, "
            f"such as `{EXAMPLE}`."
        )
    return Condition(metric, comparison == ">", pct, " ".join(text.split()), is_share=not sign)


def _refuse_no_share(text: str, metric: str, signed: str, pct: float) -> None:
    """Raises UsageError for a limit without a sign on a figure that is no share, or beyond 100 percent."""
    if metric not in SHARES:
        raise UsageError(
            f"`{text}` has no sign. A change against the baseline needs one, such as `{signed}`. Only shares "
            f"({', '.join(SHARES)}) take a limit without a sign, such as `{SHARE_EXAMPLE}`."
        )
    if pct > 100:
        raise UsageError(f"`{text}` is not a valid limit. A share is at most 100%, as in `{SHARE_EXAMPLE}`.")
