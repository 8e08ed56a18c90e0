"""What `peaks` answers: the peak at every point, and how peaks compare. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadstone.model.numbers import format_ends, format_rounded
from loadstone.study.grid import PLATFORMS
from loadstone.study.question import Answer
from loadstone.study.search.answer import SearchAnswer
from loadstone.study.settings import StoredSettings, write_settings, write_value

WIDEST = 4.0
"""Ends of a ratio's interval that are further from each other leave open which is the larger, and by how much."""


@dataclass(frozen=True)
class PeakPoint:
    """A point with its search."""

    at: StoredSettings
    search: SearchAnswer
    cpu_below: float | None = None
    """CPU of the system under test, in cores, at `SHARE` of the peak."""

    @property
    def name(self) -> str:
        """Its settings in words."""
        return write_settings(self.at)

    @property
    def label(self) -> str:
        """The same in a picture, where there is little room: their values."""
        return ", ".join(map(write_value, self.at.values()))


@dataclass(frozen=True)
class PeakRatio:
    """The peak of a point by that of another."""

    over: str
    under: str
    ratio: float
    low: float | None
    high: float | None

    @classmethod
    def compare(cls, over: PeakPoint, under: PeakPoint) -> "PeakRatio | None":
        """None where one of them has no peak."""
        above, below = over.search, under.search
        if not above.peak or not below.peak:
            return None
        low = high = None
        if above.interval and below.interval:
            low, high = above.interval[0] / below.interval[1], above.interval[1] / below.interval[0]
        return cls(over.name, under.name, above.peak / below.peak, low, high)

    @property
    def says_nothing(self) -> bool:
        """Whether its interval holds half as well as twice as much, or more."""
        return self.low is not None and self.high is not None and self.high > WIDEST * self.low


@dataclass(frozen=True, kw_only=True)
class PeaksOverAnswer(Answer):
    """Every point's peak, and how peaks compare."""

    over: tuple[str, ...]
    load: str
    points: tuple[PeakPoint, ...]
    platforms: tuple[PeakRatio, ...] = ()
    """Each other platform by the first one, all else alike."""
    others: tuple[PeakRatio, ...] = ()
    """Each other point by the first one of the same platform."""

    @property
    def is_negative(self) -> bool:
        """Whether somewhere no load passes."""
        return any(point.search.is_negative for point in self.points)


def compute_ratios_by_platform(points: Sequence[PeakPoint]) -> Iterator[PeakRatio]:
    """Each other platform by the one that is named first, all else alike."""
    for name in PLATFORMS:
        first = next((point.at[name] for point in points if name in point.at), None)
        for point in points:
            if first is None or point.at.get(name, first) == first:
                continue
            reference = next((candidate for candidate in points if candidate.at == {**point.at, name: first}), None)
            ratio = PeakRatio.compare(point, reference) if reference is not None else None
            if ratio is not None:
                yield ratio


def compute_ratios_by_first(points: Sequence[PeakPoint]) -> Iterator[PeakRatio]:
    """Each other point by the first of the same platform."""
    firsts: dict[tuple[str | None, ...], PeakPoint] = {}
    for point in points:
        first = firsts.setdefault(list_platforms(point), point)
        ratio = PeakRatio.compare(point, first) if point is not first else None
        if ratio is not None:
            yield ratio


def summarize_peaks(
    points: Sequence[PeakPoint], platforms: Sequence[PeakRatio], others: Sequence[PeakRatio]
) -> Iterator[str]:
    """Each point's peak with its interval, then each ratio."""
    for point in points:
        if point.search.peak is None:
            yield f"{point.name}: {point.search.headline[0] if point.search.headline else 'no peak yet.'}"
            continue
        span = point.search.interval
        within = " (interval {} to {})".format(*format_ends(span)) if span else ""
        limit = f"; full: {point.search.bottleneck}" if point.search.bottleneck else ""
        yield f"{point.name}: {format_rounded(point.search.peak)} {point.search.load}{within}{limit}."
    for ratio in (*platforms, *others):
        if ratio.says_nothing:
            yield f"{ratio.over} against {ratio.under}: the searches are not conclusive, {_in_words(ratio)}."
        else:
            yield f"{ratio.over} sustains {_in_words(ratio)} of the load of {ratio.under}."


def _in_words(ratio: PeakRatio) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{100 * ratio.ratio:.0f} % (no interval)"
    return f"{100 * ratio.ratio:.0f} % ({100 * ratio.low:.0f} to {100 * ratio.high:.0f} %)"


def list_platforms(point: PeakPoint) -> tuple[str | None, ...]:
    """Returns the platforms of a point, as far as they were varied."""
    return tuple(str(point.at[name]) if name in point.at else None for name in PLATFORMS)
