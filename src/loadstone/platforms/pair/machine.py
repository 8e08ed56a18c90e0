"""A fault-tolerant pair as a machine: booted once, loaded on two sides, of which one records and the other replays."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from loadstone.host.tasks import TIDY_S, end_tasks
from loadstone.model.errors import NotProtectedError, PlatformError, ServiceError
from loadstone.model.fault import FaultKind
from loadstone.model.records.manifest import HELD_CURVE
from loadstone.model.records.pair_status import READS_IN_LOG
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import MachineContext, MachineStatus
from loadstone.platforms.pair.addressing import connect_by_address
from loadstone.platforms.pair.build import QEMU_VERSION
from loadstone.platforms.pair.measured import read_figures
from loadstone.platforms.pair.protection import protect_new, protect_running, start_alone
from loadstone.platforms.pair.saved import pair_key
from loadstone.platforms.pair.side import Side
from loadstone.platforms.vm.agent import Agent
from loadstone.platforms.vm.command import Layout
from loadstone.platforms.vm.guest import Guest
from loadstone.platforms.vm.saved_state import remove_state

Json = dict[str, Any]

KEPT_S = 0.5
"""Between two looks whether the machine serves alone."""
MOST_DOUBLINGS = 7
"""Each failure in a row doubles the wait before the next attempt to protect the machine, at most so often: a minute."""
MOST_PAIR_RESTARTS = 3
"""Of a pair: one that ends again and again has another problem."""
CLOCK_INTERVAL_S = 10.0
"""Between two looks at the guest's clock, which counts instructions and lags on a busy host."""
MOST_CORRECTED_S = 1.0
"""Lag of the guest's clock that is corrected, by a request that both sides receive alike; a larger one is reported."""
LEAST_CORRECTED_S = 0.005
FIRST_SECONDARY = "first_secondary"
"""Among the facts: why the side that was to follow from the start had to be replaced."""
REMEMBERED_FAILURES = 10
"""The latest reasons, for the status."""


@dataclass
class PairMachine(Guest):
    """A pair that is up."""

    sides: list[Side] = field(kw_only=True)
    """All that there were, in the order in which they came."""
    make_secondary: Callable[[str, Side], Side] = field(kw_only=True)
    """A side of this name that may follow that one, not started yet."""
    lose_store: Callable[[], Awaitable[None]] = field(kw_only=True)
    """Takes away what decides who goes on."""
    boot_again: Callable[[Side, int], Awaitable[list[Side]]] | None = None
    """Two new sides, of which the first has this number, with the state of the machine booted from the disk of that
    side, which is gone; None where it is not restarted.
    """
    clock_ahead_s: float | None = None
    """How far the guest's clock was ahead of the host's when it was read last, before a correction."""
    clock_corrected_s: float = 0.0
    """By how much the guest's clock was set forward, all corrections together."""
    guest_lag_s: float | None = None
    """Lag of the guest's clock when it was read last, without its corrections."""
    restarts: int = 0
    came_back_unix_s: float = 0.0
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
        serving, phase = self.serving, self._phase
        was_never_followed = not phase and self.follower is None and serving.layout.is_protected
        return serving.is_up and (phase in ("alone", "live") or was_never_followed)

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
            await primary.wait_event("alone", after=seen)
            if follower is not None:
                await follower.end()

    async def move_primary(self) -> float:
        """Has the secondary take over and makes another one; for how many seconds the machine stood still for that one.
        Raises PlatformError where it is not protected.
        """
        async with self._changing:
            primary, follower = self.serving, self.follower
            if follower is None or not self.is_protected:
                raise PlatformError(
                    f"The pair {self.name} is not protected, so no side can take over from its primary."
                )
            await primary.signal(signal.SIGKILL, "machine")  # its agent tells the other at once
            await follower.wait_event("live")
        return await self.protect()

    @property
    def comes_back(self) -> bool:
        """Whether it is restarted from its disk when both sides are gone."""
        return self.boot_again is not None and self.restarts < MOST_PAIR_RESTARTS

    async def restart(self) -> None:
        """Restarts the machine from the disk of the side that served last, with its files and services. Raises
        PlatformError and ServiceError.
        """
        assert self.boot_again is not None
        async with self._changing:
            await self.agent.close()
            gone = list(self.sides)
            serving, number = self.serving, self.sides_made
            self.sides_made += 2
            self.sides[:] = await self.boot_again(serving, number)
            for side in gone:
                await side.end()
            unfollowed = await protect_new(self.sides)
            self.agent = Agent(self.on_event)
            await connect_by_address(self.agent, self.serving)
            await self.renew()
            if self.serving.layout.disk.mib:
                await self.mount_disks()
            for name, text in self.written.items():
                await self.write(name, text)
            for service in self.services.values():
                await service.begin_anew(self.agent)
            self.came_back_unix_s = time.time()
            self.failures += filter(None, [unfollowed])

    @property
    def recovery(self) -> Mapping[str, float]:
        """When a side last went live or came back, and when another last followed it."""
        last: dict[str, float] = {"live": self.came_back_unix_s} if self.came_back_unix_s else {}
        for side in self.sides:
            for event in side.events:
                if event["event"] in ("live", "protected"):
                    last[event["event"]] = max(event["heard_unix_s"], last.get(event["event"], 0.0))
        return last

    async def fail(self, fault: FaultKind) -> None:
        """Does it to one side, or to both agents. Raises NotProtectedError where no side follows yet."""
        primary, secondary = self.serving, self.follower
        if secondary is None or not self.is_protected:
            raise NotProtectedError(
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
        """Protects the machine anew whenever it serves alone, and reads its clock, while the block runs."""
        tasks = [asyncio.create_task(work) for work in (self._keep(), self._watch_clock())]
        try:
            yield
        finally:
            await end_tasks(tasks, TIDY_S)

    async def _watch_clock(self) -> None:
        while True:
            await asyncio.sleep(CLOCK_INTERVAL_S)
            with suppress(PlatformError):
                await self.read_clock()

    async def read_clock(self) -> None:
        """Reads how far the guest's clock is off, and corrects a small lag. Raises PlatformError."""
        clock = await self.agent.compare_clock()
        self.facts["clock"], self.clock_ahead_s = clock, clock["ahead_s"]
        lag_s = -clock["ahead_s"]
        self.guest_lag_s = self.clock_corrected_s + lag_s
        if max(LEAST_CORRECTED_S, 2 * clock["within_s"]) < lag_s < MOST_CORRECTED_S:
            await self.agent.ask("shift_clock", by_ns=round(lag_s * 1e9))
            self.clock_corrected_s += lag_s

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(KEPT_S * 2 ** min(self.failures_in_a_row, MOST_DOUBLINGS))
            try:
                if self.is_gone and self.comes_back:
                    self.restarts += 1
                    await self.restart()
                elif self.is_alone and self.may_be_kept:
                    await self.protect()
            except (PlatformError, ServiceError, OSError, ValueError) as error:
                self.failures = [*self.failures, str(error)][-REMEMBERED_FAILURES:]
                self.failures_in_a_row += 1

    async def end_sides(self) -> None:
        """Ends both machines and their agents."""
        for side in self.sides:
            await side.end()

    async def forward(self, port: int) -> Endpoint:
        """Returns the port's endpoint at the pair's address."""
        raise PlatformError(f"{self.name} has its own network; use port {port} there.")

    async def read_outside(self) -> Json | None:
        """Returns the cost of the active machine on the host. What its agent measured is part of its facts."""
        if self.serving.layout.is_protected:
            self.facts |= disclose_metrics(self.serving.metrics)
        return await self.serving.read_outside()

    @property
    def reports_status(self) -> bool:
        """Whether it keeps a log."""
        return self.serving.layout.is_protected

    async def read_status(self) -> MachineStatus | None:
        """Log, lag and held outputs, as the agent of the side that serves measured them last."""
        return read_figures(self.serving.metrics, self.guest_lag_s) if self.serving.metrics else None

    def end(self) -> str:
        """How it ended: when neither side serves any more, and none comes back."""
        is_over = self.is_gone and not self.comes_back and not self._changing.locked()
        return f"both machines of the pair {self.name} are gone" if is_over else ""

    @property
    def is_gone(self) -> bool:
        """Whether neither machine runs."""
        return not any(side.is_up for side in self.sides)


async def _kill_agents(*sides: Side) -> None:
    """Both stand still first: else the second may hear of the end of the first, and go on."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        await asyncio.gather(*(side.signal(number, "agent") for side in sides))


@asynccontextmanager
async def run_until_stopped(
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
        unfollowed = ""
        try:
            if len(sides) > 1:
                unfollowed = await protect_new(sides)
            else:
                await start_alone(*sides)
        except PlatformError:
            await asyncio.to_thread(remove_state, pair_key(sides[0].layout))  # the next pair boots
            raise
        machine = PairMachine(
            context, guest, conversation, sides=sides, make_secondary=secondary, lose_store=lose_store
        )
        conversation.hear = machine.on_event
        layout = sides[0].layout
        hello = await connect_by_address(conversation, sides[0])
        await machine.renew()  # over the network, which is in the log: both sides take it alike
        if layout.disk.mib:
            await machine.mount_disks()
        machine.describe(hello, time.monotonic() - started, await conversation.compare_clock())
        machine.facts["started"] = sides[0].started
        machine.facts["qemu"] = QEMU_VERSION
        machine.facts["memory_locked"] = layout.is_locked
        machine.facts["disk"] = layout.disk.disclosed
        machine.facts[READS_IN_LOG] = layout.disk.has_logged_reads
        if not layout.is_protected:
            machine.facts["protection"] = "none: the machine runs alone, and keeps no log"
        if unfollowed:
            machine.failures.append(unfollowed)
            await machine.protect()
            machine.facts[FIRST_SECONDARY] = f"did not follow, and was replaced: {unfollowed}"
        yield machine
    finally:
        await conversation.close()
        for side in sides:
            await side.end()


def disclose_metrics(metrics: Json) -> Json:
    """Returns the measurements of the active side's agent so far, for the report."""
    if not metrics or not metrics["frames"] + metrics.get("writes", 0):
        return {}  # a side that has just taken over has held nothing: the figures of the one before stay
    named = sorted(metrics["held_ms"].items(), key=lambda entry: entry[1])
    held = ", ".join(f"{name} {value:.2f}" for name, value in named)
    writes = f" and {metrics['writes']} writes" if metrics.get("writes") else ""
    return {
        "outputs_held_ms": f"{held}, of {metrics['frames']} frames{writes}",
        HELD_CURVE: metrics["held_curve"],
        "lag_ms": f"{metrics['lag_ms']:.1f}",
        "log_bytes": f"{metrics['log_bytes']}, {metrics['wire_bytes']} on the wire",
    }
