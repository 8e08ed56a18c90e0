"""From a stored run of tiles to the figures its score is made of."""

from dataclasses import dataclass, field

from loadstone.judge.consolidation import Maxima, Tile
from loadstone.model.errors import UsageError
from loadstone.store.read import Result


@dataclass(frozen=True)
class HeldTile:
    """A tile of a stored run."""

    number: int
    pct_load: float
    tile: Tile
    groups: dict[str, str] = field(default_factory=dict)


def tiles_of(result: Result) -> list[HeldTile]:
    """The tiles of a run; raises UsageError when it has none."""
    raise UsageError(f"{result.path} is no run of tiles.")


def maxima_of(result: Result) -> Maxima:
    """The maxima of the profile that a run was made with; raises UsageError when it has none."""
    raise UsageError(f"{result.path} is no run of tiles.")
