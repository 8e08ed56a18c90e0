"""Tiles as a system: copies of one tile, each with its load. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from loadstone.model.program_settings import write_settings_of_programs
from loadstone.model.reference import Reference
from loadstone.model.service import EMBEDDED, Tuning
from loadstone.model.tile import Tile, TileLoad

EMBEDDED_SERVICES = Reference(threads=1)
"""The reference server in every role; each has as many threads as its machine has virtual CPUs."""
HOST_GROUP = "host"
"""The grouping that says which host of the fleet each tile is on."""


@dataclass(frozen=True)
class Tiles:
    """Copies of a tile. The placement of their run has the platform and the settings of their machines."""

    tile: Tile
    loads: tuple[TileLoad, ...]
    """The load of each copy."""
    services: Reference = EMBEDDED_SERVICES
    """Services of all tiles. The store has the downloads of the web role: over HTTP, or in a shared folder."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of groups that tiles are in, by grouping, one a tile."""
    has_heartbeats: bool = False
    """Whether every machine answers heartbeats, not only the idle one."""

    @property
    def count(self) -> int:
        """The number of tiles."""
        return len(self.loads)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts of the fleet that tiles are on, in turn; empty where the fleet chooses them."""
        return self.groups.get(HOST_GROUP, ())

    @property
    def software(self) -> dict[str, str]:
        """Services that a tile may choose, by what they are, and what the user set of their programs."""
        services = self.services
        named = {choice: services.get_service(choice) for choice in ("database", "imap", "store")}
        others = {choice: services.get_service(choice) for choice in ("service", "backend_service", "app", "tuning")}
        named |= {choice: name for choice, name in others.items() if name not in (EMBEDDED, Tuning.DEFAULT)}
        return named | ({"set": write_settings_of_programs(services.settings)} if services.settings else {})

    def group_of(self, number: int) -> dict[str, str]:
        """The groups that a tile is in, by grouping."""
        return {name: members[(number - 1) % len(members)] for name, members in self.groups.items()}

    def __str__(self) -> str:
        fraction = "" if self.loads[-1].pct == 100 else f", the last at {self.loads[-1].pct} %"
        return f"{self.count} {self.tile.name} tile{'s' * (self.count != 1)}{fraction}"
