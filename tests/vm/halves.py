"""A pair over three hosts that are this machine: real agents, a real witness, and the stand-in for each machine.

`python -m tests.vm.halves NAMESPACE STEM FOLDER LEASE_MIN` is what supervises all three hosts, until it is killed. The
hosts have addresses, runtime folders and journals of their own; taps and their namespace are those of the test.
"""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any
from unittest.mock import patch

from loadstone.fleet.cluster import CLUSTER_AUTHORITY, CLUSTER_CERTIFICATE, CLUSTER_KEY
from loadstone.fleet.pairs.half import HostedHalf
from loadstone.platforms.fabric import Member, NetworkInterface, TapOptions, WideNetwork
from loadstone.platforms.journal import open_journal
from loadstone.platforms.maker import MachineMaker
from loadstone.platforms.pair import local_side
from loadstone.platforms.pair.command import PairLayout, SideFiles
from loadstone.platforms.pair.local_side import PairSide
from loadstone.platforms.pair.mode import Mode
from loadstone.services import reference
from tests.vm.agents import STAND_IN
from tests.waiting import PATIENT_MS

PAIR = "db"
MAC = "52:54:00:00:02:01"
ADDRESSES = {"s1": "127.0.0.2", "s2": "127.0.0.3", "w1": "127.0.0.4"}
LOG_ADDRESSES = {address: address.replace("127.0.0", "127.0.1") for address in ADDRESSES.values()}
"""Of the network for logs, by the public address."""
CALLER = "127.0.0.1"
"""Address that connections on loopback come from."""
SIDES = {"s1": "a", "s2": "b"}
"""Side of each host at first, which is also the end of the name of its tap."""
WIDE = WideNetwork(
    "wide",
    IPv4Network("10.207.192.0/24"),
    7,
    tuple(Member(number, address, number < 3) for number, address in enumerate(ADDRESSES.values(), 1)),
)


@dataclass
class PaperFabric:
    """Hands out the tap of a test in place of making one."""

    nic: NetworkInterface

    async def join(self, network: WideNetwork, member: Member) -> None:
        assert member in network.members

    async def create_tap(self, network: str, options: TapOptions) -> NetworkInterface:
        return replace(self.nic, network=network)


def stand_in_argv(layout: PairLayout, mode: Mode, files: SideFiles, console: Path, state: int | None) -> list[str]:
    return [sys.executable, "-IS", str(STAND_IN), mode.value, str(files.memory), str(files.outlet), layout.nic.mac]


async def open_no_monitor(*_: object) -> None:
    """The stand-in has none."""


@contextmanager
def machines_stood_in() -> Iterator[None]:
    """Starts the stand-in in place of QEMU while the block runs."""
    with (
        patch.object(local_side, "build_qemu_command", stand_in_argv),
        patch.object(local_side, "open_monitor", open_no_monitor),
        patch("loadstone.fleet.pairs.half.forward", open_no_monitor),
    ):
        yield


@contextmanager
def host_folder(folder: Path, host: str) -> Iterator[Path]:
    """The runtime folder of a host is this process's while the block runs."""
    place = folder / host
    place.mkdir(mode=0o700, exist_ok=True)
    with patch.dict(os.environ, {"LOADSTONE_RUNTIME_DIR": str(place)}):
        yield place


async def open_half(stack: AsyncExitStack, namespace: str, stem: str, folder: Path, host: str) -> HostedHalf:
    """The part of the pair on a host, with a journal of its own."""
    with host_folder(folder, host):
        journal = await stack.enter_async_context(open_journal())
    logs = folder / f"{host}-logs"
    logs.mkdir(exist_ok=True)
    nic = NetworkInterface("wide", f"{stem}{SIDES.get(host, 'w')}", namespace, "10.207.192.9", MAC, "10.207.192.1")
    fabric: Any = PaperFabric(nic)
    return HostedHalf(PAIR, MachineMaker(logs, journal, fabric, stack), ADDRESSES[host])


def side_of(half: HostedHalf, name: str) -> PairSide:
    """A side of a part of the pair, which it may have to make."""
    return half._side(name).side


async def make_pair(halves: dict[str, HostedHalf], lease_min: int) -> None:
    """Makes a protected pair on both hosts, and its witness on the third."""
    files = await asyncio.to_thread(reference.create_certificate, [CALLER, *LOG_ADDRESSES.values()])
    for half in halves.values():
        texts = (files[CLUSTER_CERTIFICATE], files[CLUSTER_KEY], files[CLUSTER_AUTHORITY])
        await half.install_credentials(*texts, log_address=LOG_ADDRESSES[half.address])
        await half.join(WIDE)
    witness = await halves["w1"].start_witness(60 * lease_min)
    declared = {"platform": "pair", "lease": lease_min, "silence_ms": PATIENT_MS}
    for host in SIDES:
        await halves[host].make(declared, "wide", witness)
    a, b = side_of(halves["s1"], "a"), side_of(halves["s2"], "b")
    await a.start_agent(None)
    seen = len(a.events)
    await a.order("protect")
    address = str((await a.wait_event("listening", after=seen))["address"])
    await a.start_machine(Mode.RECORD, has_state=False)
    await b.start_agent(address)
    await b.start_machine(Mode.REPLAY, has_state=False)
    await a.wait_event("protected")


async def supervise(namespace: str, stem: str, folder: Path, lease_min: int) -> None:
    """Has the pair until this process is killed."""
    async with AsyncExitStack() as stack:
        halves = {host: await open_half(stack, namespace, stem, folder, host) for host in ADDRESSES}
        with machines_stood_in():
            await make_pair(halves, lease_min)
            print("protected", flush=True)
            await asyncio.Event().wait()


if __name__ == "__main__":
    namespace, stem, folder, lease = sys.argv[1:]
    asyncio.run(supervise(namespace, stem, Path(folder), int(lease)))
