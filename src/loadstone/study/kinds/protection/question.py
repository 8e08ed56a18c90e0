"""`protection`: one workload without and with protection, in pairs of runs whose order is drawn. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadstone.study.difference import LEAST_PAIRS
from loadstone.study.kind import StudyContext
from loadstone.study.kinds.protection.answer import ProtectionAnswer, answer_of
from loadstone.study.kinds.protection.section import ProtectionSection
from loadstone.study.parameters import RunSettings
from loadstone.study.question import find_first_missing, format_key, list_missing
from loadstone.study.sides import order_sides
from loadstone.study.summary import ComparedSide, RunRequest, RunSummary

PROTECTED_SETTING = {ComparedSide.A: False, ComparedSide.B: True}
"""The setting of each side: A is the machine alone."""
PAIRS_FACTOR = 2
"""Pairs that are made at most, by those that are asked for: invalid ones are made again."""
RunPair = tuple[RunSummary, RunSummary]


@dataclass(frozen=True)
class Protection:
    """One workload in so many pairs of runs."""

    workload: str
    pairs: int

    def plan_runs(self) -> list[RunRequest]:
        """All its runs where every pair is valid, in order."""
        return list(self._requests(self.pairs))

    def _requests(self, pairs: int) -> Iterator[RunRequest]:
        """Every run has a seed of its own, so that what is found holds beyond one draw of users."""
        place = 0
        for pair in range(pairs):
            for side in order_sides(pair):
                settings: RunSettings = {"platform": "pair", "machine.protected": PROTECTED_SETTING[side]}
                label = "protected" if side is ComparedSide.B else "alone"
                yield RunRequest(format_key(place + 1, self.workload, label), self.workload, settings, place, side=side)
                place += 1

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        return find_first_missing(self._wanted(runs), runs)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing."""
        return len(list_missing(self._wanted(runs), runs))

    def _wanted(self, runs: Sequence[RunSummary]) -> list[RunRequest]:
        """A further pair takes the place of each with an invalid run, up to twice as many pairs."""
        played = self._played(runs)
        left_out = sum(not is_valid(pair) for pair in played)
        return list(self._requests(min(PAIRS_FACTOR * self.pairs, self.pairs + left_out)))

    def _played(self, runs: Sequence[RunSummary]) -> list[RunPair]:
        """The pairs whose runs are both made."""
        by_key = {run.request.key: run for run in runs}
        requests = self._requests(PAIRS_FACTOR * self.pairs)
        played = [by_key[request.key] for request in requests if request.key in by_key]
        sides = ([run for run in played if run.request.side is side] for side in (ComparedSide.A, ComparedSide.B))
        return list(zip(*sides, strict=False))

    def answer(self, runs: Sequence[RunSummary]) -> ProtectionAnswer:
        """Returns what protection cost in valid pairs of runs."""
        pairs = self._played(runs)
        valid = [pair for pair in pairs if is_valid(pair)]
        is_whole = not self.estimate_left(runs) and len(valid) >= min(self.pairs, LEAST_PAIRS)
        return answer_of(self.workload, valid, left_out=len(pairs) - len(valid), is_whole=is_whole)


def is_valid(pair: RunPair) -> bool:
    """Returns whether both runs of a pair are fit to be compared."""
    return all(run.is_valid for run in pair)


def make(section: ProtectionSection, context: StudyContext) -> Protection:
    """The question about one workload."""
    return Protection(context.workload.name, section.pair_count)
