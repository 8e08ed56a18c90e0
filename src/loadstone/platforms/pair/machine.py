"""A fault-tolerant pair as a machine: booted once, loaded on two sides, of which one records and the other replays."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from loadstone.host.tasks import TIDY_S, end_tasks
from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultKind
from loadstone.model.records.manifest import HELD_CURVE
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import MachineContext, MachineStatus
from loadstone.platforms.kind import own_settings
from loadstone.platforms.pair.build import VERSION
from loadstone.platforms.pair.command import AGENT_PORT, Mode, PairLayout, SideFiles
from loadstone.platforms.pair.disk import PairDisk, PairSettings
from loadstone.platforms.pair.fitness import may_lock_memory
from loadstone.platforms.pair.measured import read_figures
from loadstone.platforms.pair.protection import protect_new, protect_running, start_alone
from loadstone.platforms.pair.saved import copy_saved, keep_saved, pair_key
from loadstone.platforms.pair.side import PairSide, Side
from loadstone.platforms.vm.agent import Agent
from loadstone.platforms.vm.command import Layout
from loadstone.platforms.vm.guest import Guest
from loadstone.platforms.vm.image import disk_mib, raw_disk
from loadstone.platforms.vm.kernel import run_tool
from loadstone.platforms.vm.machine import last_words
from loadstone.platforms.vm.saved_state import remove_state

Json = dict[str, Any]

PAIR_BOOT_TIMEOUT_S = 120.0
"""Longest time to boot; instructions are counted, and other load may be on the host."""
BOOTED = "boot"
"""Name of the machine whose state both sides begin with."""
KEPT_S = 0.5
"""Between two looks whether the machine serves alone."""
MOST_DOUBLINGS = 7
"""Each failure in a row doubles the wait before the next attempt to protect the machine, at most so often: a minute."""
REMEMBERED_FAILURES = 10
"""The latest reasons, for the status."""
PAIR_POLL_INTERVAL_S = 0.02
READY = "loadstone: ready"
"""What the machine's agent writes to the console when it can be reached."""


@dataclass
class PairMachine(Guest):
    """A pair that is up."""

    sides: list[Side] = field(kw_only=True)
    """All that there were, in the order in which they came."""
    make_secondary: Callable[[str, Side], Side] = field(kw_only=True)
    """A side of this name that may follow that one, not started yet."""
    lose_store: Callable[[], Awaitable[None]] = field(kw_only=True)
    """Takes away what decides who goes on."""
    sides_made: int = 2
    """Sides that there ever were: none has the name of another."""
    may_be_kept: bool = True
    """Whether a new side is made when one is gone."""
    _changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One side is made or ended at a time."""
    failures: list[str] = field(default_factory=list)
    """Why that failed, the latest last."""
    failures_in_a_row: int = 0

    @property
    def serving(self) -> Side:
        """The side that serves: the last that went live, else the first."""
        live = [side for side in self.sides if any(event["event"] == "live" for event in side.events)]
        return live[-1] if live else self.sides[0]

    @property
    def follower(self) -> Side | None:
        """The side that follows the one that serves, or is about to."""
        serving = self.serving
        return next((side for side in reversed(self.sides) if side is not serving and side.is_up), None)

    @property
    def pid(self) -> int:
        """QEMU's process on the side that serves, where that is on this host."""
        return self.serving.pid

    @property
    def companions(self) -> dict[str, int]:
        """The machine that replays, and both agents."""
        all_of = {(kind, side): pid for side in self.sides for kind, pid in side.processes.items()}
        return {f"{kind} {side.files.name}": pid for (kind, side), pid in all_of.items() if pid != self.pid}

    @property
    def is_protected(self) -> bool:
        """Whether another side follows the one that serves, as far as both agents are there to tell."""
        serving, follower = self.serving, self.follower
        return (
            self._phase == "protected"
            and follower is not None
            and serving.is_up
            and not (serving.is_mute or follower.is_mute)
        )

    @property
    def is_failing_over(self) -> bool:
        """Whether the side that was active is gone, and the other is not active yet."""
        return self.follower is not None and (self.serving.is_mute or not self.serving.is_up)

    @property
    def is_alone(self) -> bool:
        """Whether the side that serves is followed by none. A side that has ended is not: another may be about to go
        live.
        """
        return self.serving.is_up and self._phase in ("alone", "live")

    @property
    def _phase(self) -> str:
        """What the side that serves last said of itself; empty before it has said anything."""
        events = [event["event"] for event in self.serving.events]
        return next((event for event in reversed(events) if event in ("protected", "alone", "live", "over")), "")

    async def protect(self) -> float:
        """Makes a side that follows the one that serves; for how many seconds that stopped: none where one follows it
        already. Raises PlatformError, also where none serves.
        """
        async with self._changing:
            if self.is_protected:
                return 0.0
            if not self.is_alone:
                raise PlatformError(f"No side of the pair {self.name} is active now, so no side can be followed.")
            paused_s = await self._protect()
            self.failures_in_a_row = 0
            return paused_s

    async def _protect(self) -> float:
        primary = self.serving
        for side in self.sides:
            if side is not primary:
                await side.end()  # one that is frozen still has the tap
        secondary = self.make_secondary(f"side-{self.sides_made}", primary)
        self.sides_made += 1
        self.sides.append(secondary)
        try:
            return await protect_running(primary, secondary)
        except BaseException:
            self.sides.remove(secondary)
            await secondary.end()
            raise

    async def unprotect(self) -> None:
        """Ends the side that follows, where one does. Raises PlatformError."""
        async with self._changing:
            if not self.is_protected:
                return
            primary, follower = self.serving, self.follower
            seen = len(primary.events)
            await primary.order("unprotect")
            await primary.event("alone", after=seen)
            if follower is not None:
                await follower.end()

    @property
    def recovery(self) -> Mapping[str, float]:
        """When a side last went live, and when another last followed it."""
        last: dict[str, float] = {}
        for side in self.sides:
            for event in side.events:
                if event["event"] in ("live", "protected"):
                    last[event["event"]] = max(event["heard_unix_s"], last.get(event["event"], 0.0))
        return last

    async def fail(self, fault: FaultKind) -> None:
        """Does it to one side, or to both agents. Raises PlatformError where no side follows yet."""
        primary, secondary = self.serving, self.follower
        if secondary is None or not self.is_protected:
            raise PlatformError(
                f"The pair {self.name} is not protected: `{fault}` would end it, or have no effect. "
                f"Wait until `loadstone pair status {self.name}` says `protected`."
            )
        match fault:
            case FaultKind.CUT_CHANNEL:
                await secondary.order("cut")
            case FaultKind.FILL_BUFFER:
                await secondary.order("stall", after=0)
            case FaultKind.KILL_AGENTS:
                await _kill_agents(primary, secondary)
            case FaultKind.LOSE_STORE:
                await self.lose_store()
                await primary.signal(signal.SIGKILL, "machine")
            case FaultKind.KILL_PRIMARY:
                await primary.signal(signal.SIGKILL, "machine")
            case FaultKind.KILL_SECONDARY:
                await secondary.signal(signal.SIGKILL, "machine")
            case FaultKind.FREEZE_PRIMARY:
                await primary.signal(signal.SIGSTOP, "machine", "agent")
            case FaultKind.FREEZE_SECONDARY:
                await secondary.signal(signal.SIGSTOP, "machine", "agent")

    @asynccontextmanager
    async def keep_running(self) -> AsyncIterator[None]:
        """Protects the machine anew whenever it serves alone, while the block runs."""
        keeping = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            await end_tasks([keeping], TIDY_S)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(KEPT_S * 2 ** min(self.failures_in_a_row, MOST_DOUBLINGS))
            if not self.is_alone or not self.may_be_kept:
                continue
            try:
                await self.protect()
            except (PlatformError, OSError, ValueError) as error:
                self.failures = [*self.failures, str(error)][-REMEMBERED_FAILURES:]
                self.failures_in_a_row += 1

    async def forward(self, port: int) -> Endpoint:
        """It has an address of its own."""
        raise PlatformError(f"{self.name} has its own network; use port {port} there.")

    async def outside(self) -> Json | None:
        """What the machine that serves costs the host; what its agent measured goes to its facts."""
        if self.serving.layout.is_protected:
            self.facts |= disclosed(self.serving.metrics)
        return await self.serving.outside()

    @property
    def reports_status(self) -> bool:
        """Whether it keeps a log."""
        return self.serving.layout.is_protected

    async def read_status(self) -> MachineStatus | None:
        """Log, lag and held outputs, as the agent of the side that serves measured them last."""
        return read_figures(self.serving.metrics) if self.serving.metrics else None

    def end(self) -> str:
        """How it ended: when neither side serves any more."""
        return "" if any(side.is_up for side in self.sides) else f"both machines of the pair {self.name} are gone"


@asynccontextmanager
async def pair_machine(context: MachineContext, guest: Layout, layout: PairLayout) -> AsyncIterator[PairMachine]:
    """Boots a machine, and goes on with it on two sides of this host. Raises PlatformError."""
    folder = context.journal.folder / f"{context.name}-pair"
    store = SideFiles(folder, "a").store
    store.mkdir(parents=True)

    def side(name: str, tap: str) -> PairSide:
        return PairSide(layout, side_files(layout, folder, name), tap, journal=context.journal, logs=context.logs)

    def secondary(name: str, primary: Side) -> PairSide:
        return side(name, layout.nic.interface if primary.tap == layout.nic.twin else layout.nic.twin)

    async def lose_store() -> None:
        await asyncio.to_thread(store.rename, store.with_suffix(".lost"))

    async def booted() -> list[Side]:
        sides = [side("a", layout.nic.interface), side("b", layout.nic.twin)][: 2 if layout.is_protected else 1]
        await boot(sides[0])
        await _hand_out(SideFiles(folder, BOOTED), sides)
        return [*sides]

    async with goes_on(context, guest, booted, secondary, lose_store) as machine:
        yield machine


async def _kill_agents(*sides: Side) -> None:
    """Both stand still first: else the second may hear of the end of the first, and go on."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        await asyncio.gather(*(side.signal(number, "agent") for side in sides))


@asynccontextmanager
async def goes_on(
    context: MachineContext,
    guest: Layout,
    booted: Callable[[], Awaitable[list[Side]]],
    secondary: Callable[[str, Side], Side],
    lose_store: Callable[[], Awaitable[None]],
) -> AsyncIterator[PairMachine]:
    """A machine that was booted, on the sides that have its state: two, or one that is not protected. Raises
    PlatformError.
    """
    started, conversation = time.monotonic(), Agent()
    sides: list[Side] = []
    try:
        sides += await booted()
        try:
            await (protect_new(*sides) if len(sides) > 1 else start_alone(*sides))
        except PlatformError:
            await asyncio.to_thread(remove_state, pair_key(sides[0].layout))  # the next pair boots
            raise
        machine = PairMachine(
            context, guest, conversation, sides=sides, make_secondary=secondary, lose_store=lose_store
        )
        conversation.hear = machine.hear
        layout = sides[0].layout
        hello = await conversation.connect(layout.nic.address, AGENT_PORT)
        await machine.renew()  # over the network, which is in the log: both sides take it alike
        if layout.disk.mib:
            await machine.mount_disk()
        machine.describe(hello, time.monotonic() - started, await conversation.clock())
        machine.facts["started"] = sides[0].started
        machine.facts["qemu"] = VERSION
        machine.facts["memory_locked"] = layout.is_locked
        machine.facts["disk"] = layout.disk.disclosed
        if not layout.is_protected:
            machine.facts["protection"] = "none: the machine runs alone, and keeps no log"
        yield machine
    finally:
        await conversation.close()
        for side in sides:
            await side.end()


def side_files(layout: PairLayout, folder: Path, name: str) -> SideFiles:
    """Where a side has what."""
    files = SideFiles(folder, name)
    return replace(files, shared_disk=files.store / "disk") if layout.disk.is_shared else files


async def boot(first: PairSide) -> None:
    """Makes the state that both sides begin with, where the first side will be: a copy of the saved state of this kind
    of pair, or that of a machine that boots; and the disk of that machine. Raises PlatformError.
    """
    layout, disk = first.layout, SideFiles(first.files.folder, BOOTED).disk
    if layout.disk.mib:
        await asyncio.to_thread(raw_disk, layout.image, layout.disk.mib, disk)
    key = await asyncio.to_thread(pair_key, layout) if layout.is_restorable else ""
    first.started = await asyncio.to_thread(copy_saved, key, first.files.state) if key else "booted"
    if first.started.startswith("booted"):
        await _boot(first)
        if key:
            await asyncio.to_thread(keep_saved, key, first.files.state, first.journal)


async def _boot(first: PairSide) -> None:
    """Boots without a log: no storm of a boot's events."""
    files = SideFiles(first.files.folder, BOOTED)
    booted = PairSide(first.layout, files, first.tap, journal=first.journal, logs=first.logs)
    try:
        await booted.start_machine(Mode.NONE, has_state=False)
        await _until_ready(booted)
        await booted.execute("stop")
        await booted.save()
    finally:
        await booted.end(keeps_disk=True)


async def _hand_out(booted: SideFiles, sides: Sequence[Side]) -> None:
    """Gives each side of this host the disk as it was when the state was kept."""
    if booted.disk.is_file():
        for side in sides[:1] if sides[0].files.shared_disk else sides:
            argv = ["cp", "--reflink=auto", "--sparse=always", str(booted.disk), str(side.files.disk)]
            await asyncio.to_thread(run_tool, argv, booted.folder, "It is part of coreutils.")
        booted.disk.unlink()


async def _until_ready(side: PairSide) -> None:
    until = time.monotonic() + PAIR_BOOT_TIMEOUT_S
    while time.monotonic() < until and side.pid:
        if side.console.is_file() and READY in side.console.read_text(errors="replace"):
            return
        await asyncio.sleep(PAIR_POLL_INTERVAL_S)
    why = "did not come up" if side.pid else "ended instead of coming up"
    raise PlatformError(f"The machine {side.layout.name} {why}: {last_words(side.console, side.console)}")


def disclosed(metrics: Json) -> Json:
    """What the agent of the side that serves measured so far, for the report."""
    if not metrics:
        return {}
    named = sorted(metrics["held_ms"].items(), key=lambda entry: entry[1])
    held = ", ".join(f"{name} {value:.2f}" for name, value in named)
    writes = f" and {metrics['writes']} writes" if metrics.get("writes") else ""
    return {
        "outputs_held_ms": f"{held}, of {metrics['frames']} frames{writes}",
        HELD_CURVE: metrics["held_curve"],
        "lag_ms": f"{metrics['lag_ms']:.1f}",
        "log_bytes": f"{metrics['log_bytes']}, {metrics['wire_bytes']} on the wire",
    }


def layout_of(context: MachineContext, guest: Layout) -> PairLayout:
    """What both sides are made from. Raises PlatformError for what a pair cannot have."""
    if len(context.nics) != 1:
        raise PlatformError(f"{context.name} has {len(context.nics)} networks, but a pair has one.")
    (nic,) = context.nics.values()
    settings = own_settings(guest.spec, PairSettings)
    disk = PairDisk(disk_mib(guest.image, guest.spec.disk), settings.disks, settings.reads)
    return PairLayout(
        context.name,
        guest.spec.memory,
        guest.image,
        nic,
        may_lock_memory(),
        disk,
        is_cold=settings.cold,
        is_protected=settings.protected,
    )
