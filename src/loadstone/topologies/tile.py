"""The applications of a tile, and which machine of the tile has each of their roles."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from loadstone.topologies import dealership, idle, mail, web
from loadstone.topologies.topology import Topology, TopologyRole

WEB = replace(
    web.TOPOLOGY,
    peers=(
        TopologyRole(name="store", service="store", choice="store"),
        TopologyRole(name="infra", service="infra", answers_as=("backend", "store")),
    ),
    balancer=None,
)
"""Web sites whose back end and file store are one server."""


@dataclass(frozen=True)
class TileApplication:
    """One application of a tile."""

    topology: Topology
    machines: Mapping[str, str]
    """Machine of the tile, by role of the topology."""


APPLICATIONS = (
    TileApplication(WEB, {"web": "web", "store": "infra", "infra": "infra"}),
    TileApplication(dealership.TOPOLOGY, {"app": "app", "database": "db"}),
    TileApplication(mail.TOPOLOGY, {"mail": "mail"}),
    TileApplication(idle.TOPOLOGY, {"idle": "idle"}),
)
"""In the order in which they start."""
