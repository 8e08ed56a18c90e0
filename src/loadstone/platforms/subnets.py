"""Private networks that the host does not use."""

import ipaddress
import socket
from collections.abc import Iterator

import psutil

from loadstone.host import netlink
from loadstone.model.errors import PlatformError

BLOCK = ipaddress.IPv4Network("10.200.0.0/13")
"""Private addresses from which each testbed takes networks that the host does not use."""
PREFIX = 24


def find_free_subnet(block: ipaddress.IPv4Network, ours: Iterator[ipaddress.IPv4Network]) -> ipaddress.IPv4Network:
    """A network that no address of this host is in, no route leads to, and no routing rule is for: a testbed that was
    killed may leave rules without links.
    """
    taken = [*ours, *_list_routed()]
    for addresses in psutil.net_if_addrs().values():
        for address in addresses:
            if address.family.name == "AF_INET" and address.netmask:
                taken.append(ipaddress.IPv4Network(f"{address.address}/{address.netmask}", strict=False))
    for subnet in block.subnets(new_prefix=PREFIX):
        if not any(subnet.overlaps(held) for held in taken):
            return subnet
    raise PlatformError(f"All private networks of {block} are in use on this machine. Stop the testbeds that use them.")


def _list_routed() -> list[ipaddress.IPv4Network]:
    """Where this host's routes lead, and the sources that its routing rules are for; the default of each left out."""
    with netlink.IPRoute() as routes:
        leads = [(route.get_attr("RTA_DST"), route["dst_len"]) for route in routes.get_routes(family=socket.AF_INET)]
        sources = [(rule.get_attr("FRA_SRC"), rule["src_len"]) for rule in routes.get_rules(family=socket.AF_INET)]
    return [
        ipaddress.IPv4Network(f"{address}/{length}", strict=False) for address, length in leads + sources if address
    ]
