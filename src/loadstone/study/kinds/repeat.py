"""`repeat`: the same run n times. How far may its figures be trusted, do they drift, does one stand out? Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loadstone.judge.statistics import LEVEL, drift, outliers, summary
from loadstone.study.question import key_of, planned
from loadstone.study.summary import FIGURES, Made, Wanted

Json = dict[str, Any]


@dataclass(frozen=True)
class Repeat:
    """n runs of one setting."""

    workload: str
    settings: Mapping[str, str]
    runs: int
    kind: str = "repeat"

    def wanted(self) -> list[Wanted]:
        """All its runs."""
        return [
            Wanted(key_of(number, self.workload, ""), self.workload, self.settings, number - 1)
            for number in range(1, self.runs + 1)
        ]

    def next(self, made: Sequence[Made]) -> Wanted | None:
        """The next run that is missing."""
        return planned(self.wanted(), made)

    def left(self, made: Sequence[Made]) -> int:
        """Runs that are missing."""
        return self.runs - len(made)

    def answer(self, made: Sequence[Made]) -> Json:
        """Each figure over the series."""
        figures = series(made)
        return {
            "settings": dict(self.settings),
            "runs": len(made),
            "is_answered": len(made) >= self.runs,
            "verdicts": verdicts(made),
            "figures": figures,
            "headline": _headline(made, figures),
        }


def verdicts(made: Sequence[Made]) -> dict[str, int]:
    """How many runs came out in each way."""
    return {verdict: sum(one.verdict == verdict for one in made) for verdict in ("pass", "fail", "invalid")}


def series(made: Sequence[Made]) -> dict[str, Json]:
    """Every figure that all runs have: its values in order, summary, drift and outliers."""
    found: dict[str, Json] = {}
    for name in FIGURES:
        values = [one.figures[name] for one in made if name in one.figures]
        if not made or len(values) < len(made):
            continue
        summed = summary(values)
        found[name] = {
            "values": values,
            **asdict(summed),
            "spread_pct": summed.spread_pct,
            "drift_p": drift(values),
            "outliers": [{"run": made[at].folder, "value": values[at]} for at in outliers(values)],
        }
    return found


def _headline(made: Sequence[Made], figures: dict[str, Json]) -> list[str]:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts(made).items() if count)
    lines = [f"{len(made)} runs: {counts}." if made else "No run was made yet."]
    drifting = [name for name, one in figures.items() if one["drift_p"] is not None and one["drift_p"] <= 1 - LEVEL]
    if drifting:
        titles = ", ".join(FIGURES[name].title for name in drifting)
        lines.append(f"Drift over the series (p at most {1 - LEVEL:.2f}, each tested by itself): {titles}.")
    named = sum(len(one["outliers"]) for one in figures.values())
    if named:
        lines.append(f"{named} outlying value{'s' * (named != 1)}, named in the report and kept in every figure.")
    return lines
