"""What a comparison of peaks answers: the peaks of both sides and their ratio. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadstone.judge.statistics import Difference
from loadstone.model.numbers import format_chance
from loadstone.study.difference import FoundDifference
from loadstone.study.kinds.compare.sides import SideSearch, describe_never_passing
from loadstone.study.question import Answer
from loadstone.study.settings import StoredSettings
from loadstone.study.summary import ComparedSide


@dataclass(frozen=True, kw_only=True)
class PeaksAnswer(Answer):
    """Both sides' peaks and their ratio."""

    a: StoredSettings
    b: StoredSettings
    pairs: int
    peaks: Mapping[str, tuple[float, ...]]
    searches: tuple[SideSearch, ...]
    difference: FoundDifference | None
    is_worse: bool

    @property
    def is_negative(self) -> bool:
        """Whether B is worse."""
        return self.is_worse

    @property
    def is_unreached(self) -> bool:
        """Whether the driver was the limit of a side at every load."""
        return any(search.answer.is_unreached for search in self.searches)


def list_side_peaks(searches: Sequence[SideSearch], side: ComparedSide) -> tuple[float, ...]:
    """The peaks that one side's searches found."""
    answers = (search.answer for search in searches if search.side is side)
    return tuple(answer.peak for answer in answers if answer.is_answered and answer.peak is not None)


def summarize_searches(searches: Sequence[SideSearch], difference: Difference | None) -> list[str]:
    """The ratio of both peaks, or why there is none, then each search's first sentence."""
    lines = [f"{search.side.upper()}: {line}" for search in searches for line in search.answer.headline[:1]]
    if difference is None:
        return [
            *describe_never_passing(searches, {side: side.upper() for side in (ComparedSide.A, ComparedSide.B)}),
            *lines,
        ]
    change = 100 * (difference.ratio - 1)
    if difference.low is not None and difference.high is not None:
        low, high = 100 * (difference.low - 1), 100 * (difference.high - 1)
        interval = f"interval {low:+.1f} to {high:+.1f} %, {format_chance(difference.p)}"
        return [f"The peak of B is {change:+.1f} % against A ({interval}).", *lines]
    widest = _widest(searches)
    bounds = "too few runs near the peaks to estimate their scatter"
    if widest is not None:
        low, high = widest
        bounds = f"the searches' own intervals allow {100 * (low - 1):+.1f} to {100 * (high - 1):+.1f} %"
    return [f"The peak of B is {change:+.1f} % against A; {bounds}.", *lines]


def is_peak_lower(searches: Sequence[SideSearch], difference: Difference | None) -> bool:
    """Whether B's peak is lower: by the test where there are pairs enough, else when no interval allows otherwise."""
    if difference is None:
        return False
    if difference.low is not None:
        return difference.is_found and difference.ratio < 1
    widest = _widest(searches)
    return widest is not None and widest[1] < 1


def _widest(searches: Sequence[SideSearch]) -> tuple[float, float] | None:
    """The smallest and the largest ratio of B's peak to A's that the intervals of all searches allow; None where a side
    has none.
    """
    spans = {
        side: [search.answer.interval for search in searches if search.side is side]
        for side in (ComparedSide.A, ComparedSide.B)
    }
    a, b = ([span for span in spans[side] if span is not None] for side in (ComparedSide.A, ComparedSide.B))
    if not a or not b:
        return None
    low = min(span[0] for span in b) / max(span[1] for span in a)
    high = max(span[1] for span in b) / min(span[0] for span in a)
    return low, high
