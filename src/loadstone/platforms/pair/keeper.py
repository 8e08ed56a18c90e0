"""What the keeper of a pair does when asked over its socket."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultKind
from loadstone.platforms.pair.control import remember
from loadstone.platforms.pair.fitness import examine_host, explain_refusal
from loadstone.platforms.pair.record import PairRecord
from loadstone.platforms.pair.status import StatusWatch, list_events

Json = dict[str, Any]
READING = ("status", "events")
"""Commands that only look, which renew no lease: a monitor asks for ever."""


@dataclass
class Keeper:
    """Of one pair."""

    watch: StatusWatch
    record: PairRecord
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the pair is to end."""
    used_s: float = field(default_factory=time.monotonic)
    """When it was last told to do something."""

    async def obey(self, do: str, details: Json) -> Any:
        """Does what is asked, by its word. Raises PlatformError."""
        if do not in READING:
            self.used_s = time.monotonic()
        commands = {
            "protect": self.protect,
            "unprotect": self.unprotect,
            "move": self.move,
            "move-primary": self.move_primary,
            "end": self.end,
        }
        if do in commands:
            return await commands[do]()
        match do:
            case "status":
                return self.watch.read()
            case "events":
                return list_events(self.watch.machine)
            case "fail":
                return await self.watch.machine.fail(FaultKind(details["fault"]))
            case _:
                raise PlatformError(f"`{do}` is not a command of a pair.")

    async def protect(self) -> Json:
        """Makes a secondary, and whenever there is none from now on; for how long the machine stood still."""
        machine = self.watch.machine
        if machine.is_protected:
            return {"paused_s": None}
        is_here = self.record.fleet is None  # else the secondary is on another host
        if is_here and (why := explain_refusal(examine_host(machine.layout.spec.memory, 1))):
            raise PlatformError(f"A secondary is not possible here: {why}")
        self._remember(may_be_kept=True)
        return {"paused_s": await machine.protect()}

    async def unprotect(self) -> Json:
        """Ends the secondary, and makes none from now on."""
        self._remember(may_be_kept=False)
        await self.watch.machine.unprotect()
        return {}

    async def move(self) -> Json:
        """Another secondary in place of this one."""
        await self.unprotect()
        return await self.protect()

    async def move_primary(self) -> Json:
        """The secondary in place of the primary, and another secondary."""
        self._remember(may_be_kept=True)
        return {"paused_s": await self.watch.machine.move_primary()}

    async def end(self) -> Json:
        """Ends the pair, shortly after the answer."""
        self.over.set()
        return {}

    def _remember(self, may_be_kept: bool) -> None:
        self.watch.machine.may_be_kept = may_be_kept
        self.record = self.record.model_copy(update={"may_be_kept": may_be_kept})
        remember(self.record)
