"""Ways from one host to machines on another: routes to that host's block of addresses."""

import asyncio
import contextlib
from ipaddress import IPv4Network
from pathlib import Path

from loadstone.fleet.contract import FleetError
from loadstone.host import netlink
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.subnets import BLOCK

HOST_PREFIX = 18
"""Addresses of one host's machines: 64 networks of 254, so that 31 hosts have a block each."""
FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")


def compute_block(number: int) -> IPv4Network:
    """The addresses of a host's machines, hosts counted from 0; raises FleetError when there are none left."""
    blocks = list(BLOCK.subnets(new_prefix=HOST_PREFIX))[:-1]
    if number >= len(blocks):
        raise FleetError(f"A fleet has {len(blocks)} hosts at most.")
    return blocks[number]


def compute_wide_block() -> IPv4Network:
    """The addresses of networks over several hosts: the last block, which is no host's."""
    return list(BLOCK.subnets(new_prefix=HOST_PREFIX))[-1]


async def add_route(journal: ResourceJournal, block: IPv4Network, gateway: str) -> None:
    """Leads packets for these addresses by a host, until the journal is undone. Raises FleetError."""
    journal.note("route", block=str(block), by=gateway)
    try:
        await asyncio.to_thread(_lead, block, gateway)
    except (netlink.NetlinkError, OSError) as error:
        remedy = "Machines with their own access links on other hosts require root on all hosts."
        raise FleetError(f"No route to {block} through {gateway}: {error}. {remedy}") from None


def _lead(block: IPv4Network, gateway: str) -> None:
    with netlink.IPRoute() as routes:
        routes.route("replace", dst=str(block), gateway=gateway)


async def forward(journal: ResourceJournal) -> None:
    """Has this host pass on what is for its machines; as it was before once the journal is undone."""
    with contextlib.suppress(OSError):
        if FORWARDING.read_text().strip() == "0":
            journal.note("forwarding")
            FORWARDING.write_text("1")
            return
    if FORWARDING.read_text().strip() != "1":
        raise FleetError(
            "This host does not forward packets to its machines. Run `sysctl net.ipv4.ip_forward=1` as root."
        )
