"""Sizes, statuses and words of answers on two sides: work that one side does not do must not look like speed. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from loadstone.model.figures import Blame, IterationFigures, OperationFigures
from loadstone.model.numbers import format_number

LEAST_CHANGE = 0.05
"""Smallest change of an answer's mean size that is named, as a share."""
MOST_WORDS = 64
"""Hashes of words that a record has room for."""
LEAST_LIKENESS = 0.8
"""Likeness of an operation's words in two runs of one side, from which on words tell anything: the share of the words
of both that both have (Jaccard's index).
"""
MOST_LIKENESS = 0.5
"""Likeness of its words on both sides up to which they are named as another text."""
MOST_ERRORS = 0.01
"""Share of errors up to which an operation's mean size is that of its answers."""


@dataclass(frozen=True)
class AnswerMeans:
    """The answers of one operation in one run."""

    body_bytes: float
    """Mean of all bodies of an operation, decoded."""
    status: int
    """The most frequent one; 0 where that is not known."""
    words: frozenset[int] = frozenset()
    """Hashes of words that all answers have in common; empty where that is not known."""

    def compute_likeness(self, another: "AnswerMeans") -> float | None:
        """Share of the words of both that both have; None where the words of one are not known. Where a record has no
        room for all hashes, it has the smallest: only up to the last of them are they complete.
        """
        if not self.words or not another.words:
            return None
        end = min((max(sets) for sets in (self.words, another.words) if len(sets) >= MOST_WORDS), default=None)
        ours, others = (
            terms if end is None else {term for term in terms if term <= end} for terms in (self.words, another.words)
        )
        return len(ours & others) / len(ours | others)


def answer_means(iterations: Sequence[IterationFigures]) -> dict[str, AnswerMeans]:
    """The answers of each operation over all iterations; operations without requests or with errors are left out."""
    each: dict[str, list[OperationFigures]] = {}
    for operation in (operation for figures in iterations for operation in figures.operations):
        each.setdefault(operation.name, []).append(operation)
    return {name: means for name, same in each.items() if (means := _means(same)) is not None}


def _means(same: Sequence[OperationFigures]) -> AnswerMeans | None:
    requests, body_bytes = (sum(getattr(operation, name) for operation in same) for name in ("requests", "body_bytes"))
    errors = sum(operation.count_errors(blame) for operation in same for blame in Blame)
    if not requests or errors > MOST_ERRORS * requests:
        return None
    counts: dict[int, int] = {}
    for status, count in (pair for operation in same for pair in operation.statuses.items()):
        counts[status] = counts.get(status, 0) + count
    terms = frozenset.intersection(*(operation.words for operation in same))
    return AnswerMeans(body_bytes / requests, max(counts, key=lambda status: counts[status], default=0), terms)


@dataclass(frozen=True)
class AnswerChange:
    """An operation whose answers differ between both sides; means over the runs."""

    operation: str
    before_bytes: float
    now_bytes: float
    before_status: int
    now_status: int
    likeness: float | None = None
    """Largest likeness of both sides' words where they are another text; None where they are not."""

    @property
    def is_less(self) -> bool:
        """Whether B's answers are smaller, another text or of another status: what is faster then is no better."""
        is_smaller = self.now_bytes < self.before_bytes * (1 - LEAST_CHANGE)
        return is_smaller or self.now_status != self.before_status or self.likeness is not None

    @property
    def is_other(self) -> bool:
        """Whether B's answers are of less than half the size, another text or of another status, as error pages are."""
        is_half = self.now_bytes < self.before_bytes * (1 - LEAST_BETWEEN)
        return is_half or self.now_status != self.before_status or self.likeness is not None

    def describe(self, a: str, b: str) -> str:
        """The change, with figures of both sides."""
        change = f" ({100 * (self.now_bytes / self.before_bytes - 1):+.0f} %)" if self.before_bytes else ""
        a, b = (name if name.startswith("at ") else f"of {name}" for name in (a, b))
        text = f"{self.operation}: {format_number(self.now_bytes)} bytes {b}, {format_number(self.before_bytes)} {a}"
        text += change
        if self.likeness is not None:
            text += f", another text: {format_number(100 * self.likeness)} % of the words are the same"
        differs = self.now_status != self.before_status
        return text + (f", status {self.now_status} and {self.before_status}" if differs else "")


OperationMeans = Mapping[str, AnswerMeans]


def list_changed_answers(
    a: Sequence[OperationMeans], b: Sequence[OperationMeans], least: float = LEAST_CHANGE
) -> list[AnswerChange]:
    """Operations whose answers differ in all runs of both sides: in size by a share of `least`, in their status or in
    their words.
    """
    if not a or not b:
        return []
    names = [name for name in a[0] if all(name in run for run in (*a, *b))]
    changes = (_change(name, [run[name] for run in a], [run[name] for run in b], least) for name in names)
    return [change for change in changes if change is not None]


def _change(name: str, a: Sequence[AnswerMeans], b: Sequence[AnswerMeans], least: float) -> AnswerChange | None:
    sizes = [[means.body_bytes for means in side] for side in (a, b)]
    before, now = (sum(side) / len(side) for side in sizes)
    statuses = [{means.status for means in side if means.status} for side in (a, b)]
    has_other_status = bool(statuses[0] and statuses[1]) and not statuses[0] & statuses[1]
    is_apart = min(sizes[0]) > max(sizes[1]) or min(sizes[1]) > max(sizes[0])
    has_other_size = is_apart and abs(now - before) > least * before
    likeness = _likeness_of_others(a, b)
    if not (has_other_size or has_other_status or likeness is not None):
        return None
    return AnswerChange(name, before, now, a[0].status, b[0].status, likeness)


def _likeness_of_others(a: Sequence[AnswerMeans], b: Sequence[AnswerMeans]) -> float | None:
    """The largest likeness between both sides where all runs of each side are alike and no run of one is like one of
    the other; None otherwise, and where there is but one run of a side.
    """
    within = [first.compute_likeness(second) for side in (a, b) for first, second in combinations(side, 2)]
    across = [first.compute_likeness(second) for first, second in product(a, b)]
    known = [[share for share in shares if share is not None] for shares in (within, across)]
    if len(a) < 2 or len(b) < 2 or [len(shares) for shares in known] != [len(within), len(across)]:
        return None
    is_other = min(known[0]) >= LEAST_LIKENESS and max(known[1]) <= MOST_LIKENESS
    return max(known[1]) if is_other else None


def describe_changes(changes: Sequence[AnswerChange], a: str = "A", b: str = "B") -> list[str]:
    """The sentence that names all changes; empty without any."""
    if not changes:
        return []
    return [
        f"The answers of {a} and {b} differ, so their speeds are of different work: "
        f"{'; '.join(change.describe(a, b) for change in changes)}."
    ]


LEAST_BETWEEN = 0.5
"""Smallest change between loads or settings that is named, where each may have a single run."""


def describe_between(groups: Mapping[str, Sequence[OperationMeans]]) -> list[str]:
    """The sentence that names the groups of runs, as those at one load, whose answers differ from the first group's."""
    (first, usual), *others = list(groups.items()) or [("", [])]
    changes = {name: list_changed_answers(usual, runs, LEAST_BETWEEN) for name, runs in others}
    texts = [
        change.describe(f"at {first}", f"at {name}") for name, differences in changes.items() for change in differences
    ]
    return [f"The answers differ, so what is compared is different work: {'; '.join(texts)}."] if texts else []
