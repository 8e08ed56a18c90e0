"""All hosts are this machine: a fleet's file can be tried where there is nothing but one."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any

from loadstone.fleet.contract import FleetError, FoundHost, HostLostError, Json
from loadstone.fleet.lease import hold_host
from loadstone.fleet.messages import answer_of
from loadstone.fleet.supervisor import Supervisor
from loadstone.model.fleet import FleetSpec


@dataclass
class LocalFleet:
    """Supervisors in this process."""

    spec: FleetSpec
    who: str
    supervisors: dict[str, Supervisor] = field(default_factory=dict)
    _lease: ExitStack = field(default_factory=ExitStack)

    async def list_hosts(self) -> Mapping[str, FoundHost]:
        """All that are declared."""
        return {name: FoundHost(True, host.address, "this machine") for name, host in self.spec.hosts.items()}

    async def reserve(self, names: Sequence[str]) -> None:
        """Takes this machine once for all of them."""
        unknown = sorted(set(names) - set(self.spec.hosts))
        if unknown:
            raise FleetError(f"There is no host {', '.join(unknown)}. Use one of: {', '.join(self.spec.hosts)}.")
        self._lease.enter_context(hold_host(self.who))
        for name in names:
            host = self.spec.hosts[name]
            self.supervisors[name] = Supervisor(name, host.address, host.cores, lease=lambda _: nullcontext())

    async def ask(self, name: str, document: Json, timeout_s: float) -> Any:
        """Returns the supervisor's answer, asked by a call in this process."""
        if name not in self.supervisors:
            raise HostLostError(f"The host {name} is not reserved.")
        return answer_of(await self.supervisors[name].answer(document))

    async def describe_failure(self) -> str:
        """Returns an empty text, since the engine is this process."""
        return ""

    async def release(self) -> None:
        """Ends all of them."""
        for supervisor in self.supervisors.values():
            await supervisor.release()
        self.supervisors.clear()
        self._lease.close()
