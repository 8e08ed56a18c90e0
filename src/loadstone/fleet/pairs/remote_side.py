"""One side of a pair on another host, as whoever keeps the pair sees it: whatever it is asked, that host is."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals
from typing import Any

from loadstone.fleet.contract import FleetError, HostLostError, Json
from loadstone.fleet.remote import TELLING_S, Supervised
from loadstone.host.tasks import end_tasks
from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.command import Mode
from loadstone.platforms.pair.side import READY_S, Side

CARRIED_S = 900.0
"""Longest time for a file to be carried between hosts."""
HEAR_S = 2.5
"""Longest wait for what a side has said; its host answers sooner, also where it has said nothing."""
LOOK_S = 0.7
"""Of counters, so that samples keep their second."""


@dataclass
class HalfHost:
    """A host that has a half of a pair."""

    host: Supervised
    pair: str
    address: str
    """At which others reach it."""

    async def ask(self, what: str, timeout_s: float = TELLING_S, /, **words: Any) -> Any:
        """Has it do something for this pair. Raises LoadstoneError."""
        return await self.host.ask("pair", timeout_s, name=self.pair, what=what, words=words)


@dataclass(eq=False)
class RemoteSide(Side):
    """A machine and its agent on another host."""

    home: HalfHost = field(kw_only=True)
    told: Json = field(default_factory=dict)
    """How it is, as its host said last."""
    _hearing: asyncio.Task[None] | None = None

    @property
    def place(self) -> str:
        """Its host."""
        return self.home.host.name

    @property
    def is_up(self) -> bool:
        """As its host said last, while that is there."""
        return bool(self.told.get("is_up")) and not self.home.host.lost

    @property
    def is_mute(self) -> bool:
        """Its agent is gone, or its host."""
        return self._hearing is not None and self._hearing.done()

    async def start_agent(self, follow: str | None) -> None:
        """Has it started; from then on what it says is heard."""
        await self.ask("start_agent", TELLING_S, follow=follow)
        self._hearing = asyncio.create_task(self._hear())

    async def start_machine(self, mode: Mode, has_state: bool) -> None:
        """Has it started."""
        await self.ask("start_machine", 2 * READY_S, mode=mode.value, has_state=has_state)
        self.told["is_up"] = True

    async def job(self, command: str, within_s: float) -> str:
        """Has it done."""
        return str(await self.ask("job", within_s + TELLING_S, command=command, within_s=within_s))

    async def execute(self, command: str, **arguments: Any) -> Any:
        """Has it done."""
        return await self.ask("execute", TELLING_S, command=command, arguments=arguments)

    async def order(self, do: str, **what: Any) -> None:
        """Has its agent told; one whose host is gone needs none."""
        with contextlib.suppress(HostLostError):
            await self.ask("order", TELLING_S, do=do, what=what)

    async def signal(self, number: Signals, *whom: str) -> None:
        """Has it sent."""
        await self.ask("signal", TELLING_S, number=int(number), whom=list(whom))

    async def outside(self) -> Json | None:
        """As its host counts."""
        try:
            counted: Json | None = await self.ask("outside", LOOK_S)
        except FleetError:
            return None
        return counted

    async def prepare(self, snapshot: Path) -> None:
        """Has it made."""
        await self.ask("prepare", TELLING_S, file=snapshot.name)

    async def fetch(self, source: Side, files: Mapping[Path, Path], keeps: bool = False) -> None:
        """Each in turn, from host to host; they stay there where that is wanted."""
        assert isinstance(source, RemoteSide)
        for there, here in files.items():
            port = await source.home.ask("offer", file=there.name)
            try:
                await self.home.ask("fetch", CARRIED_S, file=here.name, host=source.home.address, port=port)
            finally:
                await source.home.ask("withdraw", port=port)
            if not keeps:
                await source.forget(there)

    async def forget(self, file: Path) -> None:
        """Has it removed."""
        await self.ask("forget", TELLING_S, file=file.name)

    async def said(self) -> str:
        """As its host has it."""
        with contextlib.suppress(PlatformError):
            return str(await self.ask("said", TELLING_S))
        return self.home.host.lost

    async def end(self) -> None:
        """Has both ended; on a host that is lost they have been, or are when it is back."""
        with contextlib.suppress(PlatformError):
            await self.ask("end", TELLING_S)
        self.told["is_up"] = False
        if self._hearing is not None:
            await end_tasks([self._hearing])

    async def ask(self, what: str, timeout_s: float, /, **words: Any) -> Any:
        """Has its host do something with it. Raises PlatformError."""
        return await self.home.ask("side", timeout_s, side=self.files.name, what=what, words=words)

    async def _hear(self) -> None:
        """Takes what it says, by this host's clock, until it says nothing any more."""
        while not self.told.get("is_mute"):
            try:
                told = await self.ask("hear", HEAR_S, after=len(self.events))
            except FleetError:
                break
            ahead_s = told["unix_s"] - time.time()
            for event in told["events"]:
                event["heard_unix_s"] -= ahead_s
            if told["metrics"]:
                told["metrics"]["heard_unix_s"] -= ahead_s
            async with self._heard:
                self.told, self.metrics = told, told["metrics"]
                self.events += told["events"]
                self._heard.notify_all()
        self.told["is_up"] = False
        async with self._heard:
            self._heard.notify_all()
