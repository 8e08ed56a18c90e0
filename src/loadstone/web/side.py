"""Two runs side by side: their figures with differences, and their pictures."""

from dataclasses import dataclass
from pathlib import Path

from loadstone.report.build import gather
from loadstone.report.pictures import Picture
from loadstone.store.read import Result, read_result
from loadstone.study.summary import FIGURES, figures_of


@dataclass(frozen=True)
class Line:
    """A figure of both runs."""

    title: str
    unit: str
    a: float | None
    b: float | None

    @property
    def change_pct(self) -> float | None:
        """B against A."""
        return 100 * (self.b / self.a - 1) if self.a and self.b is not None else None


@dataclass(frozen=True)
class Pair:
    """A workload that both runs have."""

    workload: str
    loads: tuple[str, str]
    verdicts: tuple[str, str]
    lines: tuple[Line, ...]
    pictures: tuple[tuple[Picture, Picture], ...]
    """Those that both have, side by side."""


def pairs(a: Path, b: Path) -> list[Pair]:
    """The first iterations of every workload that both results have."""
    first, second = read_result(a), read_result(b)
    shared = [one.terms.workload for one in first.workloads if one.terms.workload in _names(second)]
    return [_pair(name, first, second) for name in shared]


def _names(result: Result) -> set[str]:
    return {one.terms.workload for one in result.workloads}


def _pair(name: str, a: Result, b: Result) -> Pair:
    sections = [next(one for one in gather(of, pictures=True) if one.terms.workload == name) for of in (a, b)]
    workloads = [next(one for one in of.workloads if one.terms.workload == name) for of in (a, b)]
    figures = [figures_of(one.iterations[0]) if one.iterations else {} for one in workloads]
    lines = tuple(
        Line(figure.title, figure.unit, figures[0].get(key), figures[1].get(key))
        for key, figure in FIGURES.items()
        if key in figures[0] or key in figures[1]
    )
    shown = [{picture.title: picture for one in of.iterations[:1] for picture in one.load} for of in sections]
    pictures = tuple((shown[0][title], shown[1][title]) for title in shown[0] if title in shown[1])
    loads = (sections[0].terms.load_in_words, sections[1].terms.load_in_words)
    return Pair(name, loads, (sections[0].verdict["verdict"], sections[1].verdict["verdict"]), lines, pictures)
