"""The consolidation score: exact arithmetic with its rounding stages. Pure.

Solved from 26 published tiles (docs/consolidation.md, Score): rates enter as they are reported, with two decimals; a
tile's score is 100 times the mean of its rates by their maxima; scores are summed unrounded. A tile's quality is the
mean of its four two-decimal shares; the overall one is the mean of those, unrounded.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from loadstone.model.records.verdict import RateMaxima

CENT = Decimal("0.01")
MACHINES_PER_TILE = 6
"""Machines of a tile; a fractional one counts all of them."""
CONSOLIDATION_SCORE_NAME = "Loadstone consolidation score"


@dataclass(frozen=True)
class Maxima:
    """Rates that a tile of a profile comes to where every answer takes no time, per second."""

    app: Decimal
    web: Decimal
    mail: Decimal

    @property
    def record(self) -> RateMaxima:
        """As they are kept."""
        return RateMaxima(float(self.app), float(self.web), float(self.mail))

    @classmethod
    def from_scores(cls, app: float, web: float, mail: float) -> "Maxima":
        """Returns maxima from numbers, rounded to two decimals."""
        return cls(*(round_score(Decimal(repr(value))) for value in (app, web, mail)))


CLASSIC = Maxima(Decimal("34.90"), Decimal("54.14"), Decimal("89.88"))
"""Fitted to 26 published tiles and two published overall scores, all exact (docs/consolidation.md, Score)."""


@dataclass(frozen=True)
class TileFigures:
    """What one tile did: rates per second and shares of good operations, 0 to 1, as reported."""

    app: Decimal
    web: Decimal
    mail: Decimal
    qos_app: Decimal
    qos_web: Decimal
    qos_mail: Decimal
    qos_idle: Decimal

    @classmethod
    def from_figures(cls, rates: Mapping[str, float], shares: Mapping[str, float]) -> "TileFigures":
        """Returns figures from measured rates and shares, rounded as they are reported."""
        figures = {**rates, **{f"qos_{name}": share for name, share in shares.items()}}
        return cls(**{name: round_score(Decimal(repr(float(value)))) for name, value in figures.items()})

    @property
    def qualities(self) -> tuple[Decimal, ...]:
        """The four shares as reported."""
        return tuple(round_score(share) for share in (self.qos_app, self.qos_web, self.qos_mail, self.qos_idle))


@dataclass(frozen=True)
class TileScore:
    """A tile's figures, unrounded."""

    score: Decimal
    qos: Decimal

    @property
    def shown(self) -> Decimal:
        """With two decimals, as published."""
        return round_score(self.score)

    @property
    def shown_qos(self) -> Decimal:
        """With two decimals, as published."""
        return round_score(self.qos)


@dataclass(frozen=True)
class Consolidation:
    """The score over all tiles."""

    tiles: tuple[TileScore, ...]

    @property
    def score(self) -> Decimal:
        """Sum of the unrounded tiles, with two decimals."""
        return round_score(sum((tile.score for tile in self.tiles), Decimal(0)))

    @property
    def qos_pct(self) -> Decimal:
        """Mean of the tiles' unrounded qualities as a percentage with two decimals."""
        return round_score(100 * sum((tile.qos for tile in self.tiles), Decimal(0)) / len(self.tiles))

    @property
    def least_qos_pct(self) -> Decimal:
        """The worst tile's quality: a mean hides it."""
        return round_score(100 * min(tile.qos for tile in self.tiles))

    @property
    def headline(self) -> str:
        """The score at the number of machines: published ones say so of virtual machines."""
        return f"{format_plain(self.score)} @ {MACHINES_PER_TILE * len(self.tiles)} machines"


def score_tiles(tiles: Sequence[TileFigures], maxima: Maxima = CLASSIC) -> Consolidation:
    """Scores tiles, at least one, against the maxima of their profile."""
    return Consolidation(tuple(_scored(tile, maxima) for tile in tiles))


def estimate_scatter(tiles: Sequence[TileFigures], maxima: Maxima, seconds: float) -> float:
    """Standard error of the score by chance alone: users act by themselves, so n operations scatter by their root."""
    if seconds <= 0:
        return 0.0
    pairs = [(getattr(tile, name), getattr(maxima, name)) for tile in tiles for name in ("app", "web", "mail")]
    return 100 / 3 * math.sqrt(sum(float(rate) / seconds / float(most) ** 2 for rate, most in pairs))


def _scored(tile: TileFigures, maxima: Maxima) -> TileScore:
    pairs = ((tile.app, maxima.app), (tile.web, maxima.web), (tile.mail, maxima.mail))
    parts = [round_score(rate) / most for rate, most in pairs]
    return TileScore(100 * sum(parts, Decimal(0)) / len(parts), sum(tile.qualities, Decimal(0)) / len(tile.qualities))


def round_score(value: Decimal) -> Decimal:
    """Two decimals, half up."""
    return value.quantize(CENT, ROUND_HALF_UP)


def format_plain(value: Decimal) -> str:
    """Without decimals that say nothing: 1169, 1369.23."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
