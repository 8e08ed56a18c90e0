"""`compare`: A against B, in alternation, with a permutation test: at one load, over a curve, or at the peaks. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from loadstone.judge.statistics import LEVEL, Difference, difference, holm, summary
from loadstone.study.kinds.repeat import verdicts
from loadstone.study.kinds.search import Search
from loadstone.study.question import key_of, planned
from loadstone.study.summary import FIGURES, Better, Figure, Made, Wanted

Json = dict[str, Any]
Settings = Mapping[str, str]

A, B = "a", "b"
SEEDS_APART = 1000
"""Between two searches: more than either makes runs."""
LEAST_PAIRS = 6
"""Fewest pairs with which the test can find anything: 2 of 2^6 sign patterns are 3 %."""


def pairs_for(loads: int) -> int:
    """Fewest pairs with which anything can be found at each of so many loads, corrected for asking several times."""
    return max(LEAST_PAIRS, math.ceil(math.log2(2 * loads / (1 - LEVEL))))


@dataclass(frozen=True)
class Compare:
    """Two settings at one or several loads, run as A B B A A B ..., so that drift falls on both alike."""

    workload: str
    settings: Settings
    a: Settings
    b: Settings
    loads: tuple[Settings, ...]
    pairs: int = LEAST_PAIRS
    figure: str = "response_mean"
    """The one the question is about; all others are reported beside it."""
    kind: str = "compare"

    def wanted(self) -> list[Wanted]:
        """All its runs, in order: every pair goes through all loads before the next pair begins."""
        runs: list[Wanted] = []
        for pair in range(self.pairs):
            for load in self.loads:
                for side in (A, B) if pair % 2 == 0 else (B, A):
                    runs.append(self._run(len(runs), side, load))
        return runs

    def _run(self, made: int, side: str, load: Settings) -> Wanted:
        settings = {**self.settings, **load, **(self.a if side == A else self.b)}
        words = "-".join([side, *load.values()])
        # Every run has a seed of its own: what is found holds beyond one seed's draw of users.
        return Wanted(key_of(made + 1, self.workload, words), self.workload, settings, made, side=side)

    def next(self, made: Sequence[Made]) -> Wanted | None:
        """The next run that is missing."""
        return planned(self.wanted(), made)

    def left(self, made: Sequence[Made]) -> int:
        """Runs that are missing."""
        return len(self.wanted()) - len(made)

    def answer(self, made: Sequence[Made]) -> Json:
        """The difference at each load, and in words."""
        rows = [self._at(load, made) for load in self.loads]
        self._correct(rows)
        return {
            "settings": dict(self.settings),
            "a": dict(self.a),
            "b": dict(self.b),
            "figure": self.figure,
            "pairs": self.pairs,
            "loads": rows,
            "is_answered": not self.left(made),
            "is_worse": any(_is_worse(row["figures"].get(self.figure), FIGURES[self.figure]) for row in rows),
            "headline": [
                *(["A and B are set alike: what is found here is chance."] if self.a == self.b else []),
                *(line for row in rows for line in _headline(row, self.figure, len(rows) > 1)),
            ],
        }

    def _at(self, load: Settings, made: Sequence[Made]) -> Json:
        keys = [one for one in self.wanted() if all(one.settings.get(name) == value for name, value in load.items())]
        held = {one.wanted.key: one for one in made}
        here = [held[one.key] for one in keys if one.key in held]
        sides = {side: [one for one in here if one.wanted.side == side] for side in (A, B)}
        return {
            "load": dict(load),
            "verdicts": {side: verdicts(runs) for side, runs in sides.items()},
            "figures": {name: row for name in FIGURES if (row := _figure(name, sides)) is not None},
        }

    def _correct(self, rows: list[Json]) -> None:
        """Over the loads of a curve the question is asked several times, and the p-values say so."""
        asked = [row["figures"][self.figure] for row in rows if self.figure in row["figures"]]
        asked = [one for one in asked if one["difference"] is not None]
        for one, p in zip(asked, holm([one["difference"]["p"] for one in asked]), strict=True):
            one["difference"] |= {"p_corrected": p, "is_found": p <= 1 - LEVEL}


def _figure(name: str, sides: Mapping[str, Sequence[Made]]) -> Json | None:
    values = {side: [one.figures[name] for one in made if name in one.figures] for side, made in sides.items()}
    if any(not held or len(held) < len(sides[side]) for side, held in values.items()):
        return None
    found = difference(list(zip(values[A], values[B], strict=False)))
    return {
        **{side: {"values": held, **asdict(summary(held))} for side, held in values.items()},
        "difference": None if found is None else describe(found),
    }


def _is_worse(row: Json | None, figure: Figure) -> bool:
    """Whether B was found worse, corrected for all loads that were asked about."""
    found = row and row["difference"]
    if not found or not found["is_found"]:
        return False
    ratio: float = found["ratio"]
    return {Better.LOWER: ratio > 1, Better.HIGHER: ratio < 1, Better.NEITHER: False}[figure.better]


def describe(found: Difference) -> Json:
    """A difference as it is kept."""
    return {**asdict(found), "is_found": found.is_found, "excluded_pct": found.excluded_pct}


def _headline(row: Json, name: str, is_curve: bool) -> list[str]:
    load = ", ".join(f"{key}={value}" for key, value in row["load"].items())
    where = f"At {load}: " if load else ""
    if name not in row["figures"]:
        return [f"{where}the runs made so far do not all have `{name}`."]
    found = row["figures"][name]["difference"]
    line = where + in_words(name, found)
    if is_curve and found is not None:
        line += f" Corrected for all loads of the curve: p = {found['p_corrected']:.3f}."
    return [line]


def in_words(name: str, found: Json | None) -> str:
    """What a difference amounts to, without claiming more than the test found."""
    figure = FIGURES[name]
    if found is None:
        return f"{figure.title} cannot be compared by its ratio, since a value is 0."
    change, pairs = 100 * (found["ratio"] - 1), found["pairs"]
    if found["low"] is None:
        return (
            f"{figure.title} of B is {change:+.1f} % against A over {pairs} pairs, which says nothing yet: "
            f"{LEAST_PAIRS} pairs are the fewest that can tell a difference from chance."
        )
    interval = f"{100 * (found['low'] - 1):+.1f} to {100 * (found['high'] - 1):+.1f} %"
    if found["is_found"]:
        worse = {Better.LOWER: change > 0, Better.HIGHER: change < 0, Better.NEITHER: None}[figure.better]
        word = {True: " (worse)", False: " (better)", None: ""}[worse]
        return f"{figure.title} of B is {change:+.1f} % against A{word}, interval {interval}, p = {found['p']:.3f}."
    return (
        f"No difference in {figure.title} was found (p = {found['p']:.2f}; B is {change:+.1f} %, interval {interval}). "
        f"A difference larger than {found['excluded_pct']:.1f} % can be excluded; a smaller one cannot."
    )


@dataclass(frozen=True)
class ComparePeaks:
    """The peaks of two settings, searched in turns: A B B A."""

    workload: str
    a: Settings
    b: Settings
    search: Callable[[Settings, str, int], Search]
    """Makes a search from settings, the beginning of its runs' keys and the first seed."""
    pairs: int = 1
    kind: str = "compare"

    def searches(self) -> list[tuple[str, Search]]:
        """Every search with its side, in order."""
        sides = [side for pair in range(self.pairs) for side in ((A, B) if pair % 2 == 0 else (B, A))]
        return [
            (side, self.search(self.a if side == A else self.b, f"{side}{number}", number * SEEDS_APART))
            for number, side in enumerate(sides, start=1)
        ]

    def wanted(self) -> list[Wanted]:
        """The first run of every search."""
        return [wanted for _, search in self.searches() for wanted in search.wanted()]

    def next(self, made: Sequence[Made]) -> Wanted | None:
        """The next run of the first search that is not done."""
        asked = (search.next(search.own(made)) for _, search in self.searches())
        return next((wanted for wanted in asked if wanted is not None), None)

    def left(self, made: Sequence[Made]) -> int:
        """About how many runs are left in all searches."""
        return sum(search.left(search.own(made)) for _, search in self.searches())

    def answer(self, made: Sequence[Made]) -> Json:
        """Both sides' peaks and their ratio."""
        answers = [(side, search.answer(search.own(made))) for side, search in self.searches()]
        peaks = {side: [one["peak"] for of, one in answers if of == side and one["is_answered"]] for side in (A, B)}
        whole = all(one["is_answered"] and one["peak"] for _, one in answers)
        pairs = list(zip(peaks[A], peaks[B], strict=False)) if whole else []
        found = difference(pairs)
        return {
            "a": dict(self.a),
            "b": dict(self.b),
            "pairs": self.pairs,
            "peaks": peaks,
            "searches": [{"side": side, **one} for side, one in answers],
            "difference": None if found is None else describe(found),
            "is_worse": whole and _is_lower(answers, found),
            "is_answered": self.next(made) is None,
            "headline": _peaks_in_words(answers, found),
        }


def _peaks_in_words(answers: Sequence[tuple[str, Json]], found: Difference | None) -> list[str]:
    lines = [f"{side.upper()}: {line}" for side, one in answers for line in one["headline"][:1]]
    if found is None:
        return lines
    change = 100 * (found.ratio - 1)
    if found.low is not None and found.high is not None:
        interval = f"interval {100 * (found.low - 1):+.1f} to {100 * (found.high - 1):+.1f} %, p = {found.p:.3f}"
        return [f"The peak of B is {change:+.1f} % against A ({interval}).", *lines]
    low, high = _widest(answers)
    apart = f"the searches' own intervals allow {100 * (low - 1):+.1f} to {100 * (high - 1):+.1f} %"
    return [f"The peak of B is {change:+.1f} % against A; {apart}.", *lines]


def _is_lower(answers: Sequence[tuple[str, Json]], found: Difference | None) -> bool:
    """Whether B's peak is lower: by the test where there are pairs enough, else when no interval allows otherwise."""
    if found is None:
        return False
    return found.is_found and found.ratio < 1 if found.low is not None else _widest(answers)[1] < 1


def _widest(answers: Sequence[tuple[str, Json]]) -> tuple[float, float]:
    """The smallest and the largest ratio of B's peak to A's that the intervals of all searches allow."""
    spans = {side: [one["interval"] for of, one in answers if of == side] for side in (A, B)}
    low = min(one[0] for one in spans[B]) / max(one[1] for one in spans[A])
    high = max(one[1] for one in spans[B]) / min(one[0] for one in spans[A])
    return low, high
