"""A machine on the host where it is: the other end of `remote`. It carries out the messages that its machine does not
carry out as they are.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from loadstone.fleet.contract import FleetError, Json
from loadstone.fleet.requests import MachineState
from loadstone.host.process import Readiness
from loadstone.measure.trees import read_tree_cpu_s
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import Machine, Service


@dataclass
class HostedMachine:
    """One machine and what runs in it."""

    machine: Machine
    peer_of: Callable[[str], Machine]
    """Another machine of the host by its name. Raises FleetError."""
    services: dict[str, Service] = field(default_factory=dict)

    def state(self) -> MachineState:
        """Returns the machine's values that change while it runs."""
        services = {role: service.end() for role, service in self.services.items()}
        machine = self.machine
        return MachineState(machine.end(), dict(machine.facts), dict(machine.recovery), services)

    async def start(self, role: str, command: list[str], readiness: Readiness) -> str:
        """Starts a program; the first line of its output. Raises ServiceError."""
        self.services[role] = await self.machine.start(role, command, readiness)
        return self.services[role].first_line

    async def stop(self, role: str) -> None:
        """Stops a program. Raises FleetError where there is none of this role."""
        if role not in self.services:
            raise FleetError(f"`{role}` was not started on {self.machine.name}.")
        await self.services[role].stop()

    async def find_route(self, peer: str, port: int) -> Endpoint | None:
        """Returns the endpoint at which a service of the machine reaches a port of another machine of the host, None if
        there is no route.
        """
        return await self.machine.find_route(self.peer_of(peer), port)

    async def read_outside(self) -> Json:
        """Counters as the host sees the machine, or its services."""
        return await self.machine.read_outside() or self._of_services()

    def _of_services(self) -> Json:
        """CPU seconds of a machine whose services have processes of their own."""
        cpu = sum(read_tree_cpu_s(service.pid) for service in self.services.values())
        return {"cpu": {"processes": cpu}, "disk": {}, "network": {}, "exits": None}
