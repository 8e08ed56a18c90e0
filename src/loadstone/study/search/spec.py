"""Parameters of a search: the settings it is about, its load, where it begins, and how narrow it becomes. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.model.load import MOST_SESSIONS
from loadstone.study.parameters import RunSettings
from loadstone.study.summary import RunSummary

SEEDS_APART = 1000
"""Seeds between two searches of a study: more than either makes runs."""


@dataclass(frozen=True)
class SearchSpec:
    """Parameters of a search for the peak of one setting."""

    workload: str
    settings: RunSettings
    load: str
    """`sessions` or `rate`."""
    start: float
    width: float
    """Relative width of the bracket at which to stop narrowing."""
    verify: int = 3
    most: float = MOST_SESSIONS
    below_cpu_pct: float | None = None
    """Largest CPU use of the system under test, in percent; None where only rules limit the load."""
    prefix: str = ""
    """Begins the keys of its runs, where a study makes several searches."""
    seed: int = 0
    """Of its first run."""

    def select(self, runs: Sequence[RunSummary]) -> list[RunSummary]:
        """The runs of this search among those of a study."""
        return [run for run in runs if run.request.search == self.prefix]

    def make_value(self, load: float) -> float:
        """A load as a setting: a whole number of sessions, or a rate."""
        rounded = float(f"{load:.{self.digits}g}")
        return round(rounded) if self.load == "sessions" else float(f"{rounded:g}")

    def format_load(self, load: float) -> str:
        """A load in texts."""
        value = self.make_value(load)
        return str(value) if self.load == "sessions" else f"{value:g}"

    @property
    def unit(self) -> str:
        """Unit of the load, for people."""
        return "sessions" if self.load == "sessions" else "arrivals/s"

    @property
    def digits(self) -> int:
        """Digits of the loads that are tried: a tenth of the bracket's width is not told apart."""
        return max(3, math.ceil(-math.log10(self.width)) + 2)

    def round_load(self, load: float) -> float:
        """A load that can be set."""
        return max(1.0, self.make_value(load)) if self.load == "sessions" else self.make_value(load)
