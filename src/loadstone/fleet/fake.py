"""A fleet on paper for tests of whoever uses one: its hosts do what any host does, until they are lost on purpose."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from loadstone.fleet.contract import HostLostError, Json
from loadstone.fleet.local import LocalFleet


@dataclass
class FakeFleet(LocalFleet):
    """Supervisors in this process that can be lost."""

    deaths: dict[str, str] = field(default_factory=dict)
    """How hosts died, by name."""
    silent: set[str] = field(default_factory=set)
    """Hosts that answer nothing, as behind a cut link."""

    async def ask(self, name: str, document: Json, timeout_s: float) -> Any:
        """Returns the supervisor's answer, as long as the host is there."""
        if name in self.deaths:
            raise HostLostError(self.deaths[name])
        if name in self.silent:
            await asyncio.sleep(timeout_s)
            raise HostLostError(f"{name} did not answer within {timeout_s:g} s")
        return await super().ask(name, document, timeout_s)

    async def describe_failure(self) -> str:
        """Returns the failure that the test arranged under an empty host name."""
        return self.deaths.get("", "")
