"""One side of a pair on another host, as the part that keeps the pair sees it: what it is asked goes to that host."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals
from typing import Any

from loadstone.fleet.contract import FleetError, HostLostError, Json
from loadstone.fleet.messages import Answer
from loadstone.fleet.pairs.requests import (
    AskSide,
    CountSide,
    EndSide,
    ExecuteCommand,
    FetchFile,
    ForgetFile,
    ForHalf,
    ForSide,
    OfferFile,
    OrderAgent,
    ReadAgentLog,
    ReceiveEvents,
    SendSignal,
    StartAgent,
    StartSideMachine,
    WithdrawFile,
)
from loadstone.fleet.remote import Supervised
from loadstone.fleet.requests import AskHalf
from loadstone.fleet.reserved import BEAT_S
from loadstone.host.tasks import end_tasks
from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.mode import Mode
from loadstone.platforms.pair.side import SIDE_READY_TIMEOUT_S, Side


@dataclass
class HalfHost:
    """A host that has a half of a pair."""

    host: Supervised
    pair: str
    address: str
    """At which others reach it."""
    log_address: str = ""
    carry_address: str = ""
    """At which its agents, and files that it offers, are reached; empty for the same."""

    async def ask(self, request: ForHalf[Answer], timeout_s: float | None = None) -> Answer:
        """Sends it a message about this pair; the answer. Raises LoadstoneError."""
        return request.read_answer(await self.host.ask(AskHalf(self.pair, request), timeout_s or request.timeout_s))


@dataclass(eq=False)
class RemoteSide(Side):
    """A machine and its agent on another host."""

    home: HalfHost = field(kw_only=True)
    _is_running: bool = False
    """Whether its machine is there, as its host reported last."""
    _hearing: asyncio.Task[None] | None = None

    @property
    def place(self) -> str:
        """Its host."""
        return self.home.host.name

    @property
    def is_up(self) -> bool:
        """As its host reported last, while that is there."""
        return self._is_running and not self.home.host.lost

    @property
    def is_mute(self) -> bool:
        """Its agent is gone, or its host."""
        return self._hearing is not None and self._hearing.done()

    async def start_agent(self, follow: str | None) -> None:
        """Has it started; from then on what it reports is received."""
        await self.ask(StartAgent(follow))
        self._hearing = asyncio.create_task(self._hear())

    async def adopt(self, started: str) -> None:
        """Hears it from now on, a side that its host has adopted. Raises PlatformError where it reports nothing."""
        self.started, self._is_running = started, True
        self._hearing = asyncio.create_task(self._hear())
        await self.wait_for(lambda: bool(self.events) or self.is_mute, SIDE_READY_TIMEOUT_S)
        if not self.events:
            raise PlatformError(f"The side {self.files.name} on {self.place} reports nothing.")

    async def start_machine(self, mode: Mode, has_state: bool) -> None:
        """Has it started."""
        await self.ask(StartSideMachine(mode, has_state))
        self._is_running = True

    async def execute(self, command: str, **arguments: Any) -> Any:
        """Has it done."""
        return await self.ask(ExecuteCommand(command, arguments))

    async def order(self, do: str, **details: Any) -> None:
        """Has its agent told; one whose host is gone needs none."""
        with contextlib.suppress(HostLostError):
            await self.ask(OrderAgent(do, details))

    async def signal(self, number: Signals, *whom: str) -> None:
        """Has it sent."""
        await self.ask(SendSignal(number, whom))

    async def read_outside(self) -> Json | None:
        """Returns the counters of the side's host, None if it has none."""
        try:
            return await self.ask(CountSide())
        except FleetError:
            return None

    async def fetch(self, source: Side, files: Mapping[Path, Path], keeps: bool = False) -> None:
        """Each in turn, from host to host; they stay there where that is wanted."""
        assert isinstance(source, RemoteSide)
        for there, here in files.items():
            port = await source.home.ask(OfferFile(there.name))
            try:
                await self.home.ask(FetchFile(here.name, source.home.carry_address or source.home.address, port))
            finally:
                await source.home.ask(WithdrawFile(port))
            if not keeps:
                await source.forget(there)

    async def forget(self, file: Path) -> None:
        """Has it removed."""
        await self.ask(ForgetFile(file.name))

    async def describe_log_end(self) -> str:
        """Returns the end of the agent's log, read by its host."""
        with contextlib.suppress(PlatformError):
            return await self.ask(ReadAgentLog())
        return self.home.host.lost

    async def end(self) -> None:
        """Has both ended; on a host that is lost they have been, or are when it is back."""
        with contextlib.suppress(PlatformError):
            await self.ask(EndSide())
        self._is_running = False
        if self._hearing is not None:
            await end_tasks([self._hearing])

    async def ask(self, request: ForSide[Answer], timeout_s: float | None = None) -> Answer:
        """Sends it a message; the answer. Raises PlatformError."""
        message = AskSide(self.files.name, request)
        return request.read_answer(await self.home.ask(message, timeout_s or request.timeout_s))

    async def _hear(self) -> None:
        """Takes what it says, by this host's clock, until it says nothing any more."""
        is_mute, report = False, self.metrics
        while not is_mute:
            asked_s = time.monotonic()
            try:
                seen = await self.ask(ReceiveEvents(len(self.events)))
            except FleetError:
                if not self.home.host.lost and time.monotonic() - asked_s > ReceiveEvents.timeout_s - BEAT_S:
                    continue  # this process or its host stood still; a host that stays silent is lost
                break
            ahead_s = seen.unix_s - time.time()
            is_new, report = seen.metrics != report, dict(seen.metrics)
            for event in (*seen.events, *filter(None, [seen.metrics])):
                event["heard_unix_s"] -= ahead_s
            async with self._heard:
                self._is_running, is_mute = seen.is_up, seen.is_mute
                if is_new:
                    self.metrics = seen.metrics
                self.events += seen.events
                self._heard.notify_all()
        self._is_running = False
        async with self._heard:
            self._heard.notify_all()
