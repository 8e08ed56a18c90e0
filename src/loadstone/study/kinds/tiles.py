"""How many tiles does a host hold? Full tiles are doubled until a limit breaks or the score stops rising, then closed
in on, then a fraction of one more is. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

FULL = 10
"""Loads are counted in tenths of a tile."""
TRIES = 2
"""How often a load is tried whose run was not fit to be judged."""


@dataclass(frozen=True)
class Tried:
    """A load and what came of it."""

    tenths: int
    verdict: str
    """pass, fail or invalid."""
    score: float
    qos_pct: float
    reasons: tuple[str, ...] = ()
    folder: str = ""


@dataclass(frozen=True)
class TilesPeak:
    """The search, up to so many tiles."""

    most_tiles: int

    def next(self, tried: Sequence[Tried]) -> int | None:
        """The next load in tenths of a tile; None when the peak is known."""
        again = self._again(tried)
        if again is not None:
            return again
        low, high = self._bracket(tried)
        if high is None:
            return None if low >= self.most_tiles * FULL else min(max(FULL, 2 * low), self.most_tiles * FULL)
        if high - low > FULL:
            return FULL * ((low // FULL + high // FULL) // 2)
        return (low + high) // 2 if high - low > 1 else None

    def peak(self, tried: Sequence[Tried]) -> Tried | None:
        """The largest load that held; None when none did."""
        low, _ = self._bracket(tried)
        return next((one for one in self._held(tried) if one.tenths == low), None)

    def answer(self, tried: Sequence[Tried]) -> Json:
        """The peak, why it is one, and all that was tried."""
        peak = self.peak(tried)
        _, high = self._bracket(tried)
        done = self.next(tried) is None
        return {
            "is_answered": done and peak is not None,
            "peak": None if peak is None else peak.tenths / FULL,
            "score": None if peak is None else peak.score,
            "headline": list(self._headline(tried, peak, high, done)),
        }

    def _headline(self, tried: Sequence[Tried], peak: Tried | None, high: int | None, done: bool) -> list[str]:
        if not tried:
            return ["no run yet"]
        first = "not one tenth of a tile holds" if peak is None else f"{words(peak.tenths)} hold, score {peak.score:g}"
        if high is None:
            most = f"{self.most_tiles} tiles are the most that were to be tried; more may hold (--most-tiles)"
            return [first, most if done else "no limit found yet"]
        return [first, f"at {words(high)} {self._why(tried, high)}"]

    def _why(self, tried: Sequence[Tried], tenths: int) -> str:
        last = [one for one in tried if one.tenths == tenths][-1]
        if last.verdict == "pass":
            return f"the score stops rising: {last.score:g}"
        reason = last.reasons[0] if last.reasons else "no reason was kept"
        return f"a limit breaks: {reason}" if last.verdict == "fail" else f"no run is fit to be judged: {reason}"

    def _again(self, tried: Sequence[Tried]) -> int | None:
        """A load whose last run was not fit to be judged and may be tried once more."""
        if not tried or tried[-1].verdict != "invalid":
            return None
        tenths = tried[-1].tenths
        return tenths if sum(one.tenths == tenths for one in tried) < TRIES else None

    def _held(self, tried: Sequence[Tried]) -> list[Tried]:
        """Loads that passed with a higher score than every smaller one, in order."""
        held: list[Tried] = []
        for one in sorted((one for one in tried if one.verdict == "pass"), key=lambda one: one.tenths):
            if not held or one.score > held[-1].score:
                held.append(one)
        return held

    def _bracket(self, tried: Sequence[Tried]) -> tuple[int, int | None]:
        """The largest load that held below the smallest that did not, and that one."""
        held = {one.tenths for one in self._held(tried)}
        broken = sorted({one.tenths for one in tried} - held)
        high = broken[0] if broken else None
        return max((one for one in held if high is None or one < high), default=0), high


def words(tenths: int) -> str:
    """A load in words."""
    full, part = divmod(tenths, FULL)
    if not part:
        return f"{full} tile{'s' * (full != 1)}"
    return f"{full}.{part} tiles" if full else f"0.{part} of a tile"
