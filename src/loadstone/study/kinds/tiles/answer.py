"""What a search of tiles answers: the peak in tiles, why it is one, and all that was tried. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.model.records.verdict import Verdict
from loadstone.study.question import Answer
from loadstone.study.summary import RunSummary
from loadstone.study.tenths import FULL, get_tenths


@dataclass(frozen=True)
class TileTrial:
    """A load and what came of it."""

    tenths: int
    verdict: Verdict
    score: float
    qos_pct: float
    reasons: tuple[str, ...] = ()
    folder: str = ""

    @classmethod
    def from_run(cls, run: RunSummary) -> "TileTrial":
        """Returns the trial of a run of a search."""
        metrics = run.metrics
        tenths = get_tenths(run.request)
        return cls(tenths, run.verdict, metrics["score"], metrics["tiles_quality"], run.reasons, run.folder)


@dataclass(frozen=True, kw_only=True)
class TilesAnswer(Answer):
    """The peak in tiles, why it is one, and all that was tried."""

    peak: float | None
    score: float | None
    tried: tuple[TileTrial, ...]

    @property
    def is_negative(self) -> bool:
        """Whether not one tenth of a tile holds."""
        return self.peak is None


def explain_not_held(trials: Sequence[TileTrial], tenths: int) -> str:
    """Why a load did not hold, by its last run."""
    last = [trial for trial in trials if trial.tenths == tenths][-1]
    if last.verdict is Verdict.PASS:
        return f"the score stops rising: {last.score:g}"
    reason = last.reasons[0] if last.reasons else "no reason was kept"
    return f"a limit breaks: {reason}" if last.verdict is Verdict.FAIL else f"no run is fit to be judged: {reason}"


def describe_tenths(tenths: int) -> str:
    """A load in words."""
    full, part = divmod(tenths, FULL)
    if not part:
        return f"{full} tile{'s' * (full != 1)}"
    return f"{full}.{part} tiles" if full else f"0.{part} of a tile"
