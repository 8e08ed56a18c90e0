"""Tiles for tests: so many full ones, on machines of one declaration."""

from typing import Any

from loadstone.model.machine import MachineSpec, Placement
from loadstone.model.selector import RoleSettings
from loadstone.model.system import Reference
from loadstone.model.tile import Tile
from loadstone.model.tiles import EMBEDDED_SERVICES, Tiles
from loadstone.run.tiles.spec import list_tile_loads
from loadstone.testbed.tiles import PlacedTiles


def place_tiles(
    tile: Tile,
    count: int,
    machine: MachineSpec,
    services: Reference = EMBEDDED_SERVICES,
    roles: RoleSettings | None = None,
    **choices: Any,
) -> PlacedTiles:
    """Returns so many full tiles, whose machines are declared alike but for `roles`."""
    tiles = Tiles(tile, list_tile_loads(count, None), services, **choices)
    return PlacedTiles(tiles, Placement(machine, roles=roles or {}))
