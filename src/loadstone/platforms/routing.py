"""How one machine reaches another."""

from collections.abc import Mapping

from loadstone.model.machine import ALL_PUBLIC_NETWORKS
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import Machine
from loadstone.platforms.fabric import NetworkInterface

LOOPBACK = "127.0.0.1"


async def find_route_over(
    nics: Mapping[str, NetworkInterface], peer: Machine, port: int, host: str | None
) -> Endpoint | None:
    """Returns the endpoint at which a machine with these interfaces reaches a port of a peer, None if there is no
    route. A private network comes before the public network; `host` is how a machine without interfaces names the host.
    """
    theirs: Mapping[str, str] = peer.facts.get("networks", {})
    shared = sorted((name for name in nics if name in theirs), key=lambda name: name in ALL_PUBLIC_NETWORKS)
    if shared:
        return Endpoint(theirs[shared[0]], port)
    there = await peer.find_endpoint(port)
    if there.host != LOOPBACK:
        return there if nics else None
    return Endpoint(host, there.port) if host else None
