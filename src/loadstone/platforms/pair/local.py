"""Pairs of this host: created, or taken over from a keeper that is gone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from loadstone.model.errors import PlatformError
from loadstone.model.machine import PUBLIC
from loadstone.platforms.contract import MachineContext
from loadstone.platforms.journal import adopt_journal, undo
from loadstone.platforms.kind import get_own_settings
from loadstone.platforms.pair.adoption import adopt_machine
from loadstone.platforms.pair.boot import BOOTED, boot, hand_out
from loadstone.platforms.pair.command import PairLayout, SideFiles
from loadstone.platforms.pair.control import explain_absence
from loadstone.platforms.pair.disk import PairDisk, PairSettings
from loadstone.platforms.pair.fitness import may_lock_memory
from loadstone.platforms.pair.local_side import PairSide
from loadstone.platforms.pair.machine import PairMachine, run_until_stopped
from loadstone.platforms.pair.record import PairRecord, SideRecord, locate_sides, read_number, read_sides
from loadstone.platforms.pair.side import Side
from loadstone.platforms.registry import describe_machine, read_machine
from loadstone.platforms.vm.command import Layout, Sockets
from loadstone.platforms.vm.image import compute_disk_mib, get_image
from loadstone.platforms.vm.settings import Accelerator


@dataclass(frozen=True)
class LocalSides:
    """Makes the sides of one pair."""

    context: MachineContext
    layout: PairLayout

    @property
    def folder(self) -> Path:
        """Their files."""
        return locate_sides(self.context.journal.folder, self.context.name)

    @property
    def store(self) -> Path:
        """What decides which side continues."""
        return SideFiles(self.folder, "a").store

    def make_side(self, name: str, tap: str) -> PairSide:
        """A side, not started yet."""
        files = build_side_files(self.layout, self.folder, name)
        return PairSide(self.layout, files, tap, journal=self.context.journal, logs=self.context.logs)

    def make_secondary(self, name: str, primary: Side) -> PairSide:
        """A side that may follow that one, at the other tap."""
        nic = self.layout.nic
        return self.make_side(name, nic.interface if primary.tap == nic.twin else nic.twin)

    async def lose_store(self) -> None:
        """Takes the store away."""
        await asyncio.to_thread(self.store.rename, self.store.with_suffix(".lost"))

    async def boot_both(self) -> list[Side]:
        """Both sides with the state to begin with; one, where the pair is not protected. Raises PlatformError."""
        nic = self.layout.nic
        sides = [self.make_side("a", nic.interface), self.make_side("b", nic.twin)][
            : 2 if self.layout.is_protected else 1
        ]
        await boot(sides[0])
        await hand_out(SideFiles(self.folder, BOOTED), sides)
        return [*sides]

    async def boot_again(self, served: Side, number: int) -> list[Side]:
        """Both sides of a machine that boots from the disk of one that is gone. Raises PlatformError."""
        nic = self.layout.nic
        sides = [self.make_side(f"side-{number}", nic.interface), self.make_side(f"side-{number + 1}", nic.twin)]
        booted = SideFiles(self.folder, BOOTED)
        if served.files.disk.is_file():  # else an earlier attempt has taken it
            await asyncio.to_thread(served.files.disk.rename, booted.disk)
        await served.end()  # what is left of it has the tap
        await boot(sides[0], is_cold=True)
        await hand_out(booted, sides)
        return [*sides]

    async def adopt(self, record: SideRecord) -> Side | None:
        """A side that runs already; None where its agent has ended. Raises PlatformError."""
        side = self.make_side(record.name, record.tap)
        if await side.adopt(record):
            return side
        await side.end()
        return None


@asynccontextmanager
async def pair_machine(context: MachineContext, guest: Layout, layout: PairLayout) -> AsyncIterator[PairMachine]:
    """Boots a machine, and goes on with it on two sides of this host. Raises PlatformError."""
    local = LocalSides(context, layout)
    local.store.mkdir(parents=True)
    async with run_until_stopped(context, guest, local.boot_both, local.make_secondary, local.lose_store) as machine:
        if layout.is_protected and get_own_settings(context.spec, PairSettings).restart:
            machine.boot_again = local.boot_again
        yield machine


@asynccontextmanager
async def adopt_pair(record: PairRecord) -> AsyncIterator[PairMachine]:
    """Takes over a pair whose keeper is gone, and ends it when the block ends. Raises PlatformError where it has ended
    meanwhile; where the takeover fails otherwise, the pair continues.
    """
    with ExitStack() as stack:
        try:
            journal = stack.enter_context(adopt_journal(record.folder))
        except OSError:
            raise explain_absence(record.name) from None
        spec, nics = read_machine(record.machine), {PUBLIC: record.nic}
        context = MachineContext(record.name, spec, record.logs, journal, nics, describe_machine(spec))
        guest = await describe_guest(context)
        machine = await _adopted(LocalSides(context, build_pair_layout(context, guest)), guest)
        machine.may_be_kept = record.may_be_kept
        try:
            yield machine
        finally:
            try:
                await machine.agent.close()
                await machine.end_sides()
            finally:
                await asyncio.to_thread(undo, record.folder)


async def _adopted(local: LocalSides, guest: Layout) -> PairMachine:
    records = await asyncio.to_thread(read_sides, local.folder)
    sides = [side for record in records if (side := await local.adopt(record)) is not None]
    if not any(side.is_up for side in sides):
        raise explain_absence(local.context.name)
    sides_made = max(read_number(record.name) + 1 for record in records)
    return await adopt_machine(local.context, guest, sides, local.make_secondary, local.lose_store, sides_made)


async def describe_guest(context: MachineContext) -> Layout:
    """Returns what users are told of the machine. Raises PlatformError where there is no image for it."""
    built = await asyncio.to_thread(get_image, context.spec.image)
    console = context.logs / f"{context.name}-a-console.log"
    nowhere = Sockets(context.journal.folder, context.journal.folder, console)
    return Layout(context.name, context.spec, Accelerator.TCG, built, nowhere, tuple(context.nics.values()))


def build_side_files(layout: PairLayout, folder: Path, name: str) -> SideFiles:
    """Returns the paths of a side's files."""
    files = SideFiles(folder, name)
    return replace(files, shared_disk=files.store / "disk") if layout.disk.is_shared else files


def build_pair_layout(context: MachineContext, guest: Layout) -> PairLayout:
    """Returns the layout that both sides are made from. Raises PlatformError for settings that a pair
    does not support.
    """
    if len(context.nics) != 1:
        raise PlatformError(f"{context.name} has {len(context.nics)} networks, but a pair has one.")
    (nic,) = context.nics.values()
    settings = get_own_settings(guest.spec, PairSettings)
    disk = PairDisk(compute_disk_mib(guest.image, guest.spec.disk), settings.disks, settings.reads)
    return PairLayout(
        context.name,
        guest.spec.memory,
        guest.image,
        nic,
        may_lock_memory(),
        disk,
        is_cold=settings.cold,
        is_protected=settings.protected,
        lease_s=settings.lease_s,
        silence_ms=settings.silence_ms,
        round_trip_ms=settings.round_trip_ms,
        link_mbits=settings.link_mbits,
    )
