"""What one host has of a pair over hosts: its line to the pair's network, a side, or the witness."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network
from pathlib import Path
from signal import Signals
from typing import Any

from loadstone.fleet.cluster import AUTHORITY, CERTIFICATE, KEY
from loadstone.fleet.contract import FleetError, Json, done_by
from loadstone.fleet.pairs.carrying import fetched, offered
from loadstone.fleet.routes import forward
from loadstone.host import launch
from loadstone.host.programs import pair
from loadstone.platforms.fabric import Member, WideNetwork
from loadstone.platforms.kind import own_settings
from loadstone.platforms.maker import MachineMaker, able
from loadstone.platforms.pair.build import is_known_build, remember_build
from loadstone.platforms.pair.command import Apart, Mode, PairLayout, SideFiles, papers_words
from loadstone.platforms.pair.disk import PairDisk, PairSettings
from loadstone.platforms.pair.fitness import may_lock_memory
from loadstone.platforms.pair.machine import BOOTED, boot
from loadstone.platforms.pair.side import PairSide
from loadstone.platforms.registry import read_machine
from loadstone.platforms.vm.host_identity import build_of_qemu
from loadstone.platforms.vm.image import image

READY_S = 10.0
HEARD_S = 0.5
"""Longest time between two answers of what a side has said."""
STOPPED_S = 2.0


@dataclass
class HostedHalf:
    """One host's part of one pair."""

    name: str
    maker: MachineMaker
    address: str
    """At which other hosts reach this one."""
    apart: Apart = field(init=False)
    layout: PairLayout | None = None
    sides: dict[str, PairSide] = field(default_factory=dict)
    witness: asyncio.subprocess.Process | None = None
    _offers: dict[int, AsyncExitStack] = field(default_factory=dict)

    def __post_init__(self) -> None:
        papers = {"certificate": CERTIFICATE, "key": KEY, "authority": AUTHORITY}
        self.apart = Apart(self.address, "", **{what: self.folder / file for what, file in papers.items()})

    @property
    def folder(self) -> Path:
        """Its files here."""
        return self.maker.journal.folder / f"{self.name}-half"

    async def told(self, what: str, words: Json) -> Any:
        """What comes of it, in plain data. Raises PlatformError, FleetError for an unknown word."""
        known: Mapping[str, Callable[..., Awaitable[Any]]] = {
            "papers": self._papers,
            "join": self._join,
            "witness": self._witness,
            "lose_witness": self._lose_witness,
            "half": self._half,
            "boot": self._boot,
            "offer": self._offer,
            "withdraw": self._withdraw,
            "fetch": self._fetch,
            "remember": self._remember,
            "side": self._side,
        }
        return await done_by(known, "Halves of pairs", what, words)

    async def _papers(self, files: dict[str, str]) -> None:
        """What this host proves to the pair's others that it is of the pair, and knows them by."""
        self.folder.mkdir(mode=0o700)
        for name in (CERTIFICATE, KEY, AUTHORITY):
            file = self.folder / name
            file.touch(mode=0o600)
            file.write_text(files[name])

    async def _join(self, network: Json) -> None:
        members = tuple(Member(**one) for one in network["members"])
        own = next(member for member in members if member.underlay == self.address)
        wide = WideNetwork(network["name"], IPv4Network(network["subnet"]), network["number"], members)
        await self.maker.fabric.join(wide, own)
        await forward(self.maker.journal)

    async def _witness(self) -> str:
        """Starts it; HOST:PORT where it answers."""
        generations = self.folder / "generations"
        generations.mkdir()
        papers = papers_words(self.apart.certificate, self.apart.key, self.apart.authority)
        words = [pair(), "witness", "--folder", str(generations), "--listen", f"{self.address}:0", *papers]
        with (self.maker.logs / f"{self.name}-witness.log").open("wb") as log:
            process = await launch.start(
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self.witness = process
        self.maker.journal.note_process(process.pid, f"witness of the pair {self.name}")
        assert process.stdout is not None
        try:
            said = await asyncio.wait_for(process.stdout.readline(), READY_S)
            return str(json.loads(said)["address"])
        except (TimeoutError, ValueError, KeyError):
            why = (self.maker.logs / f"{self.name}-witness.log").read_text(errors="replace").strip()
            raise FleetError(f"The witness of {self.name} did not start: {why[-300:]}") from None

    async def _lose_witness(self) -> None:
        if self.witness is not None and self.witness.returncode is None:
            self.witness.kill()
            await self.witness.wait()

    async def _half(self, machine: Json, network: str, witness: str) -> Json:
        """Makes all that sides here need; what they are made of, which must be alike on both hosts."""
        spec = read_machine(machine)
        await able(spec)
        built = await asyncio.to_thread(image, spec.image)
        nic = await self.maker.fabric.tap(network, spec.mbit_per_s)
        self.apart = replace(self.apart, witness=witness)
        disk, cold = PairDisk(spec.disk), own_settings(spec, PairSettings).cold
        self.layout = PairLayout(self.name, spec.memory, built, nic, may_lock_memory(), disk, self.apart, cold)
        return {
            "folder": str(self.folder),
            "tap": nic.interface,
            "image": built.digest,
            "kernel": built.kernel_version,
            "address": nic.address,
            "mac": nic.mac,
            "gateway": nic.host,
            "is_locked": self.layout.is_locked,
            "build": await asyncio.to_thread(build_of_qemu),
            "is_known": await asyncio.to_thread(is_known_build),
        }

    async def _boot(self, side: str) -> str:
        """Boots the machine here, and keeps its state and its disk for that side; how it started."""
        first = self._side_of(side)
        await boot(first)
        booted = first.files.of(BOOTED).disk
        if booted.is_file():
            booted.rename(first.files.disk)
        return first.started

    async def _remember(self) -> None:
        await asyncio.to_thread(remember_build)

    async def _offer(self, file: str) -> int:
        """Hands out a file of the pair's; the port where it does."""
        path = self._own(file)
        stack = AsyncExitStack()
        port = await stack.enter_async_context(offered(path, self.apart))
        self._offers[port] = stack
        return port

    async def _withdraw(self, port: int) -> None:
        await self._offers.pop(port).aclose()

    async def _fetch(self, file: str, host: str, port: int) -> None:
        await fetched(self._own(file), host, port, self.apart)

    def _own(self, file: str) -> Path:
        """A file by its name here. Raises FleetError for one that is elsewhere."""
        if Path(file).name != file:
            raise FleetError(f"{file} is no file of the pair {self.name}.")
        return self.folder / file

    def _side_of(self, name: str) -> PairSide:
        assert self.layout is not None
        if name not in self.sides:
            files, tap = SideFiles(self.folder, name), self.layout.nic.interface
            journal, logs = self.maker.journal, self.maker.logs
            self.sides[name] = PairSide(self.layout, files, tap, journal=journal, logs=logs)
        return self.sides[name]

    async def _side(self, side: str, what: str, words: Json) -> Any:
        """Has a side do something."""
        one = self._side_of(side)
        known: Mapping[str, Callable[..., Awaitable[Any]]] = {
            "start_agent": one.start_agent,
            "start_machine": lambda mode, has_state: one.start_machine(Mode(mode), has_state),
            "job": one.job,
            "execute": lambda command, arguments: one.execute(command, **arguments),
            "order": lambda do, what: one.order(do, **what),
            "signal": lambda number, whom: one.signal(Signals(number), *whom),
            "outside": one.outside,
            "prepare": lambda file: one.prepare(self._own(file)),
            "forget": lambda file: one.forget(self._own(file)),
            "said": one.said,
            "end": one.end,
            "hear": lambda after: _heard(one, after),
        }
        return await done_by(known, "Sides of pairs", what, words)

    async def end(self) -> None:
        """Ends all of it here; files and links go with the journal."""
        for side in self.sides.values():
            await side.end()
        for stack in self._offers.values():
            await stack.aclose()
        if self.witness is not None and self.witness.returncode is None:
            assert self.witness.stdin is not None
            self.witness.stdin.close()
            try:
                await asyncio.wait_for(self.witness.wait(), STOPPED_S)
            except TimeoutError:
                await self._lose_witness()


async def _heard(side: PairSide, after: int) -> Json:
    """What a side has said beyond so many events, as soon as there is anything; and how it is."""
    await side.wait_for(lambda: len(side.events) > after or side.is_mute, HEARD_S)
    return {
        "events": [dict(event) for event in side.events[after:]],
        "metrics": dict(side.metrics),
        "is_up": side.is_up,
        "is_mute": side.is_mute,
        "unix_s": time.time(),
    }
