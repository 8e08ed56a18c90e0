"""The applications of a tile, and which machine of the tile has each of their roles."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from loadstone.topologies import dealership, idle, mail, web
from loadstone.topologies.topology import Topology, TopologyRole

TILE_STORE = TopologyRole(name="store", service="store", choice="store")
TILE_INFRA = TopologyRole(name="infra", service="infra", answers_as=("backend", "store"))
TILE_WEB = replace(web.TOPOLOGY, peers=(TILE_STORE, TILE_INFRA), balancer=None)
"""Web sites whose back end and file store are one server."""
TILE_BACKEND = TopologyRole(name="infra", service="backend", choice="backend_service")
WEB_WITH_FOLDER = replace(web.TOPOLOGY, peers=(TILE_STORE, TILE_BACKEND), balancer=None)
"""Web sites whose downloads are in a folder of the machine that has their back end."""
TILE_DEALERSHIP = replace(dealership.TOPOLOGY, front=replace(dealership.TOPOLOGY.front, choice="app"))
"""The dealership, whose service has a choice of its own next to that of the web sites."""


@dataclass(frozen=True)
class TileApplication:
    """One application of a tile."""

    topology: Topology
    machines: Mapping[str, str]
    """Machine of the tile, by role of the topology."""


def list_applications(shares_folder: bool) -> tuple[TileApplication, ...]:
    """Returns the applications of a tile in the order in which they start."""
    sites = WEB_WITH_FOLDER if shares_folder else TILE_WEB
    return (
        TileApplication(sites, {"web": "web", "store": "infra", "infra": "infra"}),
        TileApplication(TILE_DEALERSHIP, {"app": "app", "database": "db"}),
        TileApplication(mail.TOPOLOGY, {"mail": "mail"}),
        TileApplication(idle.TOPOLOGY, {"idle": "idle"}),
    )
