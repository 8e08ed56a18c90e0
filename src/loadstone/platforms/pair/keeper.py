"""What whoever keeps a pair does when asked over its socket."""

from dataclasses import dataclass
from typing import Any

from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultKind
from loadstone.platforms.pair.fitness import findings, refusal
from loadstone.platforms.pair.status import StatusWatch, events_of

Json = dict[str, Any]


@dataclass
class Keeper:
    """Of one pair."""

    watch: StatusWatch

    async def obey(self, do: str, details: Json) -> Any:
        """Does what is asked, by its word. Raises PlatformError."""
        commands = {"protect": self.protect, "unprotect": self.unprotect, "move": self.move}
        if do in commands:
            return await commands[do]()
        match do:
            case "status":
                return self.watch.read()
            case "events":
                return events_of(self.watch.machine)
            case "fail":
                return await self.watch.machine.fail(FaultKind(details["fault"]))
            case _:
                raise PlatformError(f"`{do}` is not a command of a pair.")

    async def protect(self) -> Json:
        """Makes a secondary, and whenever there is none from now on; for how long the machine stood still."""
        machine = self.watch.machine
        if machine.is_protected:
            return {"paused_s": None}
        if why := refusal(findings(machine.layout.spec.memory, 1)):
            raise PlatformError(f"A secondary is not possible here: {why}")
        machine.may_be_kept = True
        return {"paused_s": await machine.protect()}

    async def unprotect(self) -> Json:
        """Ends the secondary, and makes none from now on."""
        machine = self.watch.machine
        machine.may_be_kept = False
        await machine.unprotect()
        return {}

    async def move(self) -> Json:
        """Another secondary in place of this one."""
        await self.unprotect()
        return await self.protect()
