"""Networks of a testbed: who can reach what listens at their addresses."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path

import pytest
from pyroute2 import IPRoute, NetNS, netns

from loadstone.model.machine import PRIVATE, PUBLIC, SERVER, MachineSpec
from loadstone.model.target import Endpoint
from loadstone.platforms import journal
from loadstone.platforms.fabric import BLOCK
from loadstone.platforms.subnets import find_free_subnet
from loadstone.testbed.context import open_testbed
from tests.waiting import WAIT_S

pytestmark = [pytest.mark.integration, pytest.mark.own_network]

OURS, NEIGHBOURS = "198.51.100.1", "198.51.100.2"
"""Addresses of this host and of a neighbour on a link between them (RFC 5737)."""
ASKING = """
import socket, sys
try:
    print(socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3])).recv(5).decode())
except OSError:
    print("silence")
"""


@contextmanager
def a_neighbour_that_routes() -> Iterator[str]:
    """Name of a namespace that leads packets for testbeds to this host, as a router beside it may."""
    name = f"neighbour-{os.getpid()}"
    netns.create(name)
    try:
        with IPRoute() as here, NetNS(name) as there:
            here.link("add", ifname="to-neighbour", kind="veth", peer={"ifname": "to-host", "net_ns_fd": name})
            for routes, link, address in ((here, "to-neighbour", OURS), (there, "to-host", NEIGHBOURS)):
                index = routes.link_lookup(ifname=link)[0]
                routes.addr("add", index=index, address=address, prefixlen=24)
                routes.link("set", index=index, state="up")
            there.route("add", dst=str(BLOCK), gateway=OURS)
        yield name
    finally:
        netns.remove(name)


@contextmanager
def greeter(address: str) -> Iterator[int]:
    """Port of a process of this host that greets whoever connects to an address."""
    serving = f"import socket; s = socket.create_server(('{address}', 0)); print(s.getsockname()[1], flush=True)"
    greeting = "\nwhile True: s.accept()[0].sendall(b'hello')"
    with subprocess.Popen([sys.executable, "-c", serving + greeting], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def heard(address: str, port: int, namespace: str = "", within_s: float = WAIT_S) -> str:
    inside = ["ip", "netns", "exec", namespace] if namespace else []
    words = [*inside, sys.executable, "-c", ASKING, address, str(port), str(within_s)]
    return subprocess.run(words, capture_output=True, text=True, timeout=2 * WAIT_S, check=True).stdout.strip()


def rules_from(subnet: str) -> int:
    """How many routing rules are for what comes from a network."""
    with IPRoute() as routes:
        sources = [rule.get_attr("FRA_SRC") for rule in routes.get_rules(family=socket.AF_INET)]
    return sources.count(subnet)


async def ask_from_beside(logs: Path, neighbour: str) -> None:
    async with open_testbed(logs) as base:
        await base.start_machine("web", MachineSpec(platform="container"), (PUBLIC,))
        [host] = base.hosts
        with greeter(host) as port, greeter(OURS) as own:
            assert heard(OURS, own, neighbour) == "hello"
            assert heard(host, port) == "hello"
            assert heard(host, port, neighbour, within_s=2) == "silence"


def test_a_neighbour_that_routes_gets_no_answer_from_a_testbeds_networks(tmp_path: Path) -> None:
    with a_neighbour_that_routes() as neighbour:
        asyncio.run(ask_from_beside(tmp_path, neighbour))


def test_rules_of_a_killed_testbed_are_taken_away() -> None:
    subnet = "10.207.255.0"  # the last of the addresses of testbeds, which none takes before all others
    with IPRoute() as routes:
        routes.rule("add", priority=5101, src=f"{subnet}/24", action="blackhole")
    entry = {"kind": "rules", "subnet": f"{subnet}/24"}
    assert journal.UNDO["rules"](entry) == f"routing rules from {subnet}/24"
    assert rules_from(subnet) == 0
    assert journal.UNDO["rules"](entry) == ""


def test_a_network_that_rules_were_left_for_is_not_chosen() -> None:
    block = IPv4Network("198.18.0.0/22")  # which nobody else takes networks of (RFC 2544)
    free = find_free_subnet(block, iter(()))
    rule = {"priority": 5101, "src": str(free), "action": "blackhole"}
    with IPRoute() as routes:
        routes.rule("add", **rule)
        try:
            assert find_free_subnet(block, iter(())) != free
        finally:
            routes.rule("del", **rule)
    assert find_free_subnet(block, iter(())) == free


def test_a_machine_answers_on_each_of_its_public_networks_and_a_peer_asks_over_the_private_one(tmp_path: Path) -> None:
    async def play() -> None:
        async with open_testbed(tmp_path) as base:
            spec = MachineSpec(platform="container", public_networks=3)
            machine = await base.start_machine("web", spec, (PUBLIC, PRIVATE))
            peer = await base.start_machine("db", spec, (PRIVATE,))
            await machine.start("idle", [SERVER, "idle", "--listen", "0.0.0.0:9000"])
            await peer.start("idle", [SERVER, "idle", "--listen", "0.0.0.0:9000"])
            networks = machine.facts["networks"]
            assert list(networks) == [PUBLIC, "public-2", "public-3", PRIVATE]
            assert list(peer.facts["networks"]) == [PRIVATE]
            assert [machine.address, *machine.further_addresses] == list(networks.values())[:3]
            for address in networks.values():
                with socket.create_connection((address, 9000), timeout=10):
                    pass
            assert await machine.find_route(peer, 9000) == Endpoint(peer.facts["networks"][PRIVATE], 9000)
            outside = await machine.read_outside()
            assert outside is not None and all(line["bytes_recv"] > 0 for line in outside["network"].values())

    asyncio.run(play())
