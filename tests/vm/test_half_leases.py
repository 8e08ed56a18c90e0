"""Pairs over hosts whose supervisors are killed, with real agents, a real witness and a stand-in for each machine."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic_core import to_jsonable_python

from loadstone.fleet.contract import FleetError
from loadstone.fleet.messages import carry_out
from loadstone.fleet.pairs.half import HostedHalf
from loadstone.fleet.pairs.kept import list_kept_pairs
from loadstone.fleet.pairs.remote_side import HalfHost
from loadstone.fleet.pairs.requests import AdoptedHalf, AdoptHalf
from loadstone.fleet.pairs.takeover import adopt_halves, leave_unless_adopted, restore_halves
from loadstone.fleet.requests import ListPairs
from tests.places import PROJECT
from tests.processes import is_running, read_command
from tests.vm.agents import Half, Network, Pair, Relay
from tests.vm.halves import (
    ADDRESSES,
    LOG_ADDRESSES,
    PAIR,
    SIDES,
    WIDE,
    host_folder,
    machines_stood_in,
    open_half,
    side_of,
)
from tests.waiting import PATIENT_MS, until

MEANWHILE_MIN = 10
Supervised = tuple[Pair, asyncio.subprocess.Process]


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    network = Network()
    yield network
    network.close()


@asynccontextmanager
async def supervised(network: Network, folder: Path, lease_min: int) -> AsyncIterator[Supervised]:
    """A protected pair, as its frames show it, and the process that supervises all its hosts."""
    stem = await asyncio.to_thread(network.add_pair)  # its library has an event loop of its own
    argv = [sys.executable, "-m", "tests.vm.halves", network.name, stem, str(folder), str(lease_min)]
    process = await asyncio.create_subprocess_exec(*argv, cwd=PROJECT, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        with network.watched():
            assert await process.stdout.readline() == b"protected\n"
            pair = Pair(network, stem, folder, Half("a", folder), Half("b", folder), Relay(("", 0)))
            assert await pair.runs_on()
            yield pair, process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        for left in processes_below(folder):
            left.kill()


def processes_below(folder: Path) -> list[psutil.Process]:
    """Processes with a file of this folder in their command."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if is_running(process)
        and any(str(folder / host) in word for word in process.info["cmdline"] or () for host in ADDRESSES)
    ]


async def adopt(half: HostedHalf, folder: Path, host: str) -> AdoptedHalf:
    """Takes over what lives on a host."""
    with host_folder(folder, host):
        assert list_kept_pairs() == [PAIR]
        return await half.adopt()


@dataclass
class PaperHost:
    """A host whose supervisor passes messages on to its part of the pair."""

    name: str
    half: HostedHalf
    lost: str = ""

    async def ask(self, request: Any, timeout_s: float | None = None) -> Any:
        assert request.pair == PAIR
        return to_jsonable_python(await carry_out(request.request, self.half))


@dataclass
class AdoptingHost(PaperHost):
    """A host that lists what it has of pairs and takes it over, one at a time."""

    folder: Path = field(kw_only=True)
    turn: asyncio.Lock = field(kw_only=True)
    fails: bool = False
    """Whether it takes nothing over."""

    async def ask(self, request: Any, timeout_s: float | None = None) -> Any:
        async with self.turn:
            with host_folder(self.folder, self.name):
                if isinstance(request, ListPairs):
                    return list_kept_pairs()
                if self.fails and isinstance(request.request, AdoptHalf):
                    raise FleetError(f"{self.name} stands still.")
                return await super().ask(request)


@pytest.mark.slow("agents on three hosts, which are killed and taken over")
def test_a_pair_whose_supervisors_are_killed_survives_a_fault_and_is_taken_over(
    network: Network, tmp_path: Path
) -> None:
    async def play() -> None:
        async with supervised(network, tmp_path, MEANWHILE_MIN) as (pair, supervisor), AsyncExitStack() as stack:
            supervisor.kill()
            await supervisor.wait()
            assert await pair.runs_on()
            (primary,) = [left for left in processes_below(tmp_path) if "record" in read_command(left)]
            primary.send_signal(signal.SIGKILL)
            await until(lambda: pair.segments == "ab")
            assert await pair.runs_on()
            assert pair.missing == []

            halves = {host: await open_half(stack, network.name, pair.stem, tmp_path, host) for host in ADDRESSES}
            with machines_stood_in():
                answers = {host: await adopt(halves[host], tmp_path, host) for host in ("s2", "w1")}
            with host_folder(tmp_path, "s1"):
                assert list_kept_pairs() == [], "its side is gone, and nothing holds what it left"
            assert [side.name for side in answers["s2"].sides] == ["b"]
            assert {answer.network for answer in answers.values()} == {WIDE}
            assert answers["s2"].machine == {"platform": "pair", "lease": MEANWHILE_MIN, "silence_ms": PATIENT_MS}
            survivor = side_of(halves["s2"], "b")
            names = [event["event"] for event in survivor.events]
            assert names[0] == "ready"
            assert names.index("unkept") < names.index("live")

            hosts = {
                host: HalfHost(PaperHost(host, half), PAIR, half.address, LOG_ADDRESSES[half.address])
                for host, half in halves.items()
            }
            with machines_stood_in():
                assert list(await restore_halves(hosts, answers)) == ["s1"]
            await survivor.order("protect")
            address = str((await survivor.wait_event("listening"))["address"])
            assert address.startswith(LOG_ADDRESSES[ADDRESSES["s2"]])
            third = side_of(halves["s1"], "side-2")
            await third.start_agent(address)
            await survivor.wait_event("joined")
            assert await pair.runs_on()
            for half in halves.values():
                await half.end()
            assert processes_below(tmp_path) == []
            for host in answers:
                with host_folder(tmp_path, host), pytest.raises(FleetError, match=f"No part of the pair {PAIR}"):
                    await halves[host].adopt()

    asyncio.run(play())


@pytest.mark.slow("agents on three hosts, which are killed and taken over")
def test_a_takeover_that_fails_on_one_host_leaves_the_pair_to_the_next(network: Network, tmp_path: Path) -> None:
    async def play() -> None:
        async with supervised(network, tmp_path, MEANWHILE_MIN) as (pair, supervisor), AsyncExitStack() as stack:
            supervisor.kill()
            await supervisor.wait()
            for fails in (True, False):
                halves = {host: await open_half(stack, network.name, pair.stem, tmp_path, host) for host in ADDRESSES}
                turn = asyncio.Lock()
                hosts = {
                    host: HalfHost(
                        AdoptingHost(host, half, folder=tmp_path, turn=turn, fails=fails and host == "s2"),
                        PAIR,
                        half.address,
                    )
                    for host, half in halves.items()
                }
                failing = pytest.raises(FleetError, match="stands still") if fails else nullcontext()
                with machines_stood_in(), failing:
                    async with leave_unless_adopted(hosts) as living:
                        assert set(living) == set(ADDRESSES)
                        adopted = await adopt_halves(PAIR, living)
                        assert [side.name for host in SIDES for side in adopted[host].sides] == ["a", "b"]
                for half in halves.values():
                    await half.end()
                if fails:
                    assert await pair.runs_on()
            assert processes_below(tmp_path) == []

    asyncio.run(play())


@pytest.mark.slow("agents on three hosts, which are killed and taken over")
def test_a_pair_without_a_lease_ends_with_its_supervisors(network: Network, tmp_path: Path) -> None:
    async def play() -> None:
        async with supervised(network, tmp_path, 0) as (_, supervisor):
            supervisor.kill()
            await supervisor.wait()
            await until(lambda: processes_below(tmp_path) == [])
            for host in ADDRESSES:
                with host_folder(tmp_path, host):
                    assert list_kept_pairs() == []

    asyncio.run(play())
