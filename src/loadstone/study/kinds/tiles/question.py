"""`tiles`: doubles full tiles until a load does not hold, then closes in, at last in tenths. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from loadstone.model.errors import UsageError
from loadstone.model.records.verdict import Verdict
from loadstone.study.kind import StudyContext
from loadstone.study.kinds.tiles.answer import TilesAnswer, TileTrial, describe_tenths, explain_not_held
from loadstone.study.kinds.tiles.section import TilesSection
from loadstone.study.summary import Purpose, RunRequest, RunSummary
from loadstone.study.tenths import FULL, TENTHS

TILES_TRIES = 2
"""How often a load is tried whose run was not fit to be judged."""


@dataclass(frozen=True)
class TilesPeak:
    """The search, up to so many tiles."""

    workload: str
    """Name of the tile."""
    most_tiles: int

    def plan_runs(self) -> list[RunRequest]:
        """Returns the first run. The others follow from its result."""
        return [request for request in [self.plan_next([])] if request is not None]

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run; None when the peak is known."""
        trials = [TileTrial.from_run(run) for run in runs]
        tenths = self.plan_next_tenths(trials)
        if tenths is None:
            return None
        key = f"{len(trials) + 1:03d}-{tenths / FULL:g}"
        return RunRequest(key, self.workload, {TENTHS: tenths}, tenths, Purpose.PROBE)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """Returns at least one run while the peak is not known."""
        return int(self.plan_next(runs) is not None)

    def answer(self, runs: Sequence[RunSummary]) -> TilesAnswer:
        """The peak, why it is one, and all that was tried."""
        trials = [TileTrial.from_run(run) for run in runs]
        peak = self.find_peak(trials)
        _, high = _bracket(trials)
        is_done = self.plan_next_tenths(trials) is None
        return TilesAnswer(
            workload=self.workload,
            is_answered=is_done and peak is not None,
            peak=None if peak is None else peak.tenths / FULL,
            score=None if peak is None else peak.score,
            tried=tuple(trials),
            headline=tuple(self._headline(trials, peak, high, is_done)),
        )

    def plan_next_tenths(self, trials: Sequence[TileTrial]) -> int | None:
        """The next load in tenths of a tile; None when the peak is known."""
        again = _again(trials)
        if again is not None:
            return again
        low, high = _bracket(trials)
        if high is None:
            return None if low >= self.most_tiles * FULL else min(max(FULL, 2 * low), self.most_tiles * FULL)
        if high - low > FULL:
            return FULL * ((low // FULL + high // FULL) // 2)
        return (low + high) // 2 if high - low > 1 else None

    def find_peak(self, trials: Sequence[TileTrial]) -> TileTrial | None:
        """The largest load that held; None when none did."""
        low, _ = _bracket(trials)
        return next((trial for trial in _held(trials) if trial.tenths == low), None)

    def _headline(
        self, trials: Sequence[TileTrial], peak: TileTrial | None, high: int | None, is_done: bool
    ) -> list[str]:
        if not trials:
            return ["no run yet"]
        first = (
            "not one tenth of a tile holds"
            if peak is None
            else f"{describe_tenths(peak.tenths)} hold, score {peak.score:g}"
        )
        if high is None:
            most = f"{self.most_tiles} tiles are the most that were to be tried; more may hold (--most-tiles)"
            return [first, most if is_done else "no limit found yet"]
        return [first, f"at {describe_tenths(high)} {explain_not_held(trials, high)}"]


def _again(trials: Sequence[TileTrial]) -> int | None:
    """A load whose last run was not fit to be judged and may be tried once more."""
    if not trials or trials[-1].verdict is not Verdict.INVALID:
        return None
    tenths = trials[-1].tenths
    return tenths if sum(trial.tenths == tenths for trial in trials) < TILES_TRIES else None


def _held(trials: Sequence[TileTrial]) -> list[TileTrial]:
    """Loads that passed with a higher score than every smaller one, in order."""
    holding: list[TileTrial] = []
    passed = [trial for trial in trials if trial.verdict is Verdict.PASS]
    for trial in sorted(passed, key=lambda trial: trial.tenths):
        if not holding or trial.score > holding[-1].score:
            holding.append(trial)
    return holding


def _bracket(trials: Sequence[TileTrial]) -> tuple[int, int | None]:
    """The largest load that held below the smallest that did not, and that one."""
    held = {trial.tenths for trial in _held(trials)}
    broken = sorted({trial.tenths for trial in trials} - held)
    high = broken[0] if broken else None
    return max((tenths for tenths in held if high is None or tenths < high), default=0), high


def make(section: TilesSection, context: StudyContext) -> NoReturn:
    """Tiles are no workload of a study file. Raises UsageError."""
    raise UsageError("Tiles are searched by `loadstone tiles search`.")
