"""The load of a run of tiles, in tenths of a tile: as a setting of its request, and as tiles. Pure."""

from loadstone.model.tile import TileLoad
from loadstone.study.summary import RunRequest

FULL = 10
"""Tenths of a full tile."""
TENTHS = "tenths"
"""The setting that says how many tenths are run."""


def get_tenths(request: RunRequest) -> int:
    """The load of a requested run, in tenths of a tile."""
    return int(str(request.settings[TENTHS]))


def list_tile_loads(tenths: int) -> tuple[TileLoad, ...]:
    """Full tiles, numbered from 1, and a fraction of one more where tenths are left over."""
    full, part = divmod(tenths, FULL)
    pcts = [100] * full + ([100 * part // FULL] if part else [])
    return tuple(TileLoad(number, pct) for number, pct in enumerate(pcts, start=1))
