"""What one host has of a pair over hosts: its line to the pair's network, a side, or the witness."""

import asyncio
import contextlib
import time
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import Signals
from typing import Any

from loadstone.fleet.cluster import CLUSTER_AUTHORITY, CLUSTER_CERTIFICATE, CLUSTER_KEY
from loadstone.fleet.contract import FleetError, Json
from loadstone.fleet.messages import carry_out
from loadstone.fleet.pairs.carrying import fetch_file, offer_file
from loadstone.fleet.pairs.kept import HALF_RECORD, HalfRecord, find_half, locate_half
from loadstone.fleet.pairs.requests import AdoptedHalf, AdoptedSide, HalfFacts, PairCredentials, SideEvents, SideRequest
from loadstone.fleet.pairs.witness import HostedWitness
from loadstone.fleet.routes import forward
from loadstone.platforms.fabric import NetworkInterface, TapOptions, WideNetwork
from loadstone.platforms.journal import ResourceJournal, adopt_journal, undo
from loadstone.platforms.kind import get_own_settings
from loadstone.platforms.maker import MachineMaker, require_platform
from loadstone.platforms.pair.boot import BOOTED, boot
from loadstone.platforms.pair.build import is_known_build, remember_build
from loadstone.platforms.pair.command import PairLayout, RemotePeer, SideFiles
from loadstone.platforms.pair.disk import PairDisk, PairSettings
from loadstone.platforms.pair.fitness import may_lock_memory, read_clocks_mhz, read_link_speed, read_processor_models
from loadstone.platforms.pair.local_side import PairSide
from loadstone.platforms.pair.record import ProcessRecord, read_sides
from loadstone.platforms.registry import read_machine
from loadstone.platforms.vm.host_identity import build_of_qemu
from loadstone.platforms.vm.image import compute_disk_mib, get_image

HEARD_S = 0.5
"""Longest time between two answers of what a side has said."""


@dataclass
class HostedHalf:
    """One host's part of one pair. Its methods carry out the messages of `requests`."""

    name: str
    maker: MachineMaker
    address: str
    """At which other hosts reach this one."""
    journal: ResourceJournal = field(init=False)
    """Of what this part is made of: the maker's, or that of a supervisor that is gone."""
    log_address: str = ""
    carry_address: str = ""
    """Where its agents, and files that it offers, are reached; empty for `address`."""
    remote: RemotePeer = field(init=False)
    record: HalfRecord | None = None
    """As it is stored for the next coordinator; None before the network is there."""
    layout: PairLayout | None = None
    sides: dict[str, "HostedSide"] = field(default_factory=dict)
    witness: HostedWitness | None = None
    _offers: dict[int, AsyncExitStack] = field(default_factory=dict)
    _adopted: ExitStack = field(default_factory=ExitStack)
    _is_left: bool = False

    def __post_init__(self) -> None:
        self.journal = self.maker.journal
        self._know_credentials()

    def _know_credentials(self) -> None:
        credentials = {"certificate": CLUSTER_CERTIFICATE, "key": CLUSTER_KEY, "authority": CLUSTER_AUTHORITY}
        log_host = self.log_address or self.address
        self.remote = RemotePeer(log_host, "", **{kind: self.folder / file for kind, file in credentials.items()})

    @property
    def folder(self) -> Path:
        """Its files here."""
        return locate_half(self.journal.folder, self.name)

    @property
    def lease_s(self) -> int:
        """Seconds that it lives on without a coordinator."""
        return 0 if self.record is None else self.record.lease_s

    async def install_credentials(
        self, certificate: str, key: str, authority: str, log_address: str = "", carry_address: str = ""
    ) -> None:
        """Keeps the certificate and the key that prove this host to be the pair's, and the authority to trust; uses
        these addresses for the log and for copies.
        """
        self.log_address, self.carry_address = log_address, carry_address
        self._know_credentials()
        self.folder.mkdir(mode=0o700)
        for name, text in ((CLUSTER_CERTIFICATE, certificate), (CLUSTER_KEY, key), (CLUSTER_AUTHORITY, authority)):
            file = self.folder / name
            file.touch(mode=0o600)
            file.write_text(text)

    async def read_credentials(self) -> PairCredentials:
        """Returns its certificate and key, for a host that has lost its part of the pair. Raises FleetError."""
        try:
            return PairCredentials(
                *((self.folder / name).read_text() for name in (CLUSTER_CERTIFICATE, CLUSTER_KEY, CLUSTER_AUTHORITY))
            )
        except OSError as error:
            raise FleetError(f"The credentials of the pair {self.name} cannot be read: {error}.") from None

    async def join(self, network: WideNetwork) -> None:
        """Joins the pair's network, which is on all hosts. Raises FleetError where this host is not a member."""
        this_member = next((member for member in network.members if member.underlay == self.address), None)
        if this_member is None:
            raise FleetError(f"{self.address} is not a member of the network {network.name}.")
        await self.maker.fabric.join(network, this_member)
        await forward(self.maker.journal)
        addresses = {"log_address": self.log_address, "carry_address": self.carry_address}
        self._store(HalfRecord(network=network, **addresses))

    def _store(self, record: HalfRecord) -> None:
        """Stores what the next coordinator must know, where this host has more than the network."""
        self.record = record
        if self.folder.is_dir():
            record.write(self.folder / HALF_RECORD)

    def _require_record(self) -> HalfRecord:
        if self.record is None:
            raise FleetError(f"{self.address} is not in the network of the pair {self.name} yet.")
        return self.record

    async def start_witness(self, lease_s: int) -> str:
        """Starts it; HOST:PORT where it answers. Raises FleetError."""
        record = self._require_record()
        self.witness = HostedWitness(self.folder)
        log = self.maker.logs / f"{self.name}-witness.log"
        address = await self.witness.start(self.remote, lease_s, log, self.journal)
        assert self.witness.process is not None
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            process = ProcessRecord.read(self.witness.process.pid)
            changes = {"lease_s": lease_s, "witness": address, "witness_process": process}
            self._store(record.model_copy(update=changes))
        return address

    async def kill_witness(self) -> None:
        """Kills it, where it runs."""
        if self.witness is not None:
            await self.witness.kill()

    async def make(self, machine: Json, network: str, witness: str) -> HalfFacts:
        """Makes all that sides here need; what they are made of, which must be the same on both hosts. Raises
        PlatformError.
        """
        spec = read_machine(machine)
        await require_platform(spec)
        record = self._require_record()
        nic = await self.maker.fabric.create_tap(network, TapOptions(spec.mbit_per_s))
        facts = await self._describe(machine, nic, witness)
        lease_s = get_own_settings(spec, PairSettings).lease_s
        changes = {"lease_s": lease_s, "witness": witness, "machine": machine, "nic": nic}
        self._store(record.model_copy(update=changes))
        return facts

    async def _describe(self, machine: Json, nic: NetworkInterface, witness: str) -> HalfFacts:
        """What sides here are made of, from now on."""
        spec = read_machine(machine)
        built = await asyncio.to_thread(get_image, spec.image)
        self.remote = replace(self.remote, witness=witness)
        disk = PairDisk(await asyncio.to_thread(compute_disk_mib, built, spec.disk))
        settings = get_own_settings(spec, PairSettings)
        self.layout = PairLayout(
            self.name,
            spec.memory,
            built,
            nic,
            may_lock_memory(),
            disk,
            self.remote,
            settings.cold,
            lease_s=settings.lease_s,
            silence_ms=settings.silence_ms,
            round_trip_ms=settings.round_trip_ms,
            link_mbits=settings.link_mbits,
        )
        return HalfFacts(
            folder=str(self.folder),
            tap=nic.interface,
            image=built.digest,
            kernel=built.kernel_version,
            address=nic.address,
            mac=nic.mac,
            gateway=nic.host,
            is_locked=self.layout.is_locked,
            disk_mib=disk.mib,
            build=await asyncio.to_thread(build_of_qemu),
            is_known=await asyncio.to_thread(is_known_build),
            processor=next(iter(read_processor_models()), ""),
            clock_mhz=max(read_clocks_mhz(), default=0.0),
            link_mbit_per_s=read_link_speed(self.remote.address),
        )

    async def adopt(self) -> AdoptedHalf:
        """Takes over what lives here of a pair whose coordinator is gone. Raises PlatformError."""
        folder, record = await asyncio.to_thread(find_half, self.name)
        try:
            self.journal = self._adopted.enter_context(adopt_journal(folder))
        except OSError:
            raise FleetError(f"The part of the pair {self.name} on {self.address} has just ended.") from None
        self._adopted.callback(self._undo, folder)
        self.log_address, self.carry_address = record.log_address, record.carry_address
        self._know_credentials()
        self.record = record
        if record.witness_process is not None:
            self.witness = HostedWitness(self.folder)
            await self.witness.adopt(record.witness_process)
        facts = None
        if record.machine is not None and record.nic is not None:
            facts = await self._describe(record.machine, record.nic, record.witness)
        return AdoptedHalf(record.network, record.machine, facts, record.witness, await self._adopt_sides())

    def _undo(self, folder: Path) -> None:
        if not self._is_left:
            undo(folder)

    async def leave(self) -> None:
        """Ends nothing of what was adopted here when this part ends, since the pair could not be taken over."""
        self._is_left = True
        for hosted in self.sides.values():
            await hosted.side.leave()
        if self.witness is not None:
            await self.witness.leave()

    async def _adopt_sides(self) -> list[AdoptedSide]:
        """Sides whose agent runs; what is left of others is removed."""
        adopted = []
        for record in await asyncio.to_thread(read_sides, self.folder):
            side = self._side(record.name).side
            if await side.adopt(record):
                adopted.append(AdoptedSide(record.name, record.started))
            else:
                await side.end()
                del self.sides[record.name]
        return adopted

    async def boot(self, side: str) -> str:
        """Boots the machine here, and keeps its state and its disk for that side; how it started. Raises
        PlatformError.
        """
        first = self._side(side).side
        await boot(first)
        booted = first.files.with_side(BOOTED).disk
        if booted.is_file():
            booted.rename(first.files.disk)
        return first.started

    async def remember(self) -> None:
        """Notes that this build of QEMU has passed the gate."""
        await asyncio.to_thread(remember_build)

    async def offer(self, file: str) -> int:
        """Serves a file to the pair's other hosts; the port. Raises FleetError."""
        path = self.find_file(file)
        stack = AsyncExitStack()
        offering = replace(self.remote, address=self.carry_address or self.address)
        port = await stack.enter_async_context(offer_file(path, offering))
        self._offers[port] = stack
        return port

    async def withdraw(self, port: int) -> None:
        """Stops serving the file of that port, where there is one."""
        await self._offers.pop(port, AsyncExitStack()).aclose()

    async def fetch(self, file: str, host: str, port: int) -> None:
        """Copies a file that another host serves. Raises FleetError."""
        await fetch_file(self.find_file(file), host, port, self.remote)

    async def ask_side(self, side: str, request: SideRequest) -> Any:
        """Has a side carry out a message. Raises PlatformError."""
        hosted = self._side(side)
        return await carry_out(request, hosted, hosted.side)

    def find_file(self, name: str) -> Path:
        """A file of the pair by its name here. Raises FleetError for one that is elsewhere."""
        if Path(name).name != name:
            raise FleetError(f"{name} is not a file of the pair {self.name}.")
        return self.folder / name

    def _side(self, name: str) -> "HostedSide":
        if self.layout is None:
            raise FleetError(f"The pair {self.name} has no sides on {self.address}: they were not created.")
        if name not in self.sides:
            files, tap = SideFiles(self.find_file(name).parent, name), self.layout.nic.interface
            side = PairSide(self.layout, files, tap, journal=self.journal, logs=self.maker.logs)
            self.sides[name] = HostedSide(self, side)
        return self.sides[name]

    async def end(self) -> None:
        """Ends all of it here; files and links go with the journal. What was left lives on as its lease says."""
        for stack in self._offers.values():
            await stack.aclose()
        if not self._is_left:
            for hosted in self.sides.values():
                await hosted.side.end()
            if self.witness is not None:
                await self.witness.end()
        await asyncio.to_thread(self._adopted.close)  # the network library waits


@dataclass(frozen=True)
class HostedSide:
    """A side on this host. It carries out the messages that the side itself does not carry out as they are."""

    half: HostedHalf
    side: PairSide

    async def execute(self, command: str, arguments: Json) -> Any:
        """Has QEMU execute a command. Raises PlatformError."""
        return await self.side.execute(command, **arguments)

    async def order(self, do: str, details: Json) -> None:
        """Sends its agent an order."""
        await self.side.order(do, **details)

    async def signal(self, number: Signals, receivers: tuple[str, ...]) -> None:
        """Sends a signal to its machine, its agent, or both."""
        await self.side.signal(number, *receivers)

    async def forget(self, file: str) -> None:
        """Removes a file. Raises FleetError for one that is not of the pair."""
        await self.side.forget(self.half.find_file(file))

    async def receive(self, after: int) -> SideEvents:
        """Returns the side's state and what its agent reports beyond so many events, as soon as there is any."""
        side = self.side
        await side.wait_for(lambda: len(side.events) > after or side.is_mute, HEARD_S)
        events = [dict(event) for event in side.events[after:]]
        return SideEvents(events, dict(side.metrics), side.is_up, side.is_mute, time.time())
