"""A machine on the host where it is, told in plain words what to do: the other end of `remote`."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil

from loadstone.fleet.contract import Json, done_by
from loadstone.host.process import Readiness
from loadstone.model.fault import FaultKind
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import Machine, Service


@dataclass
class HostedMachine:
    """One machine and what runs in it."""

    machine: Machine
    services: dict[str, Service] = field(default_factory=dict)

    def state(self) -> Json:
        """What changes of it."""
        services = {role: service.end() for role, service in self.services.items()}
        machine = self.machine
        facts, recovery = dict(machine.facts), dict(machine.recovery)
        return {"end": machine.end(), "facts": facts, "recovery": recovery, "services": services}

    async def told(self, what: str, words: Json) -> Any:
        """What comes of it, in plain data. Raises what the machine raises, and FleetError for an unknown word."""
        machine = self.machine
        known: Mapping[str, Callable[..., Awaitable[Any]]] = {
            "start": self._start,
            "stop": self._stop,
            "write": machine.write,
            "mount": self._mount,
            "port": machine.port_for,
            "reach": self._reach,
            "way": self._way,
            "inside": machine.inside,
            "outside": self._outside,
            "fail": self._fail,
        }
        return await done_by(known, "Machines", what, words)

    async def _start(self, role: str, command: list[str], readiness: str) -> str:
        self.services[role] = await self.machine.start(role, command, Readiness[readiness])
        return self.services[role].first_line

    async def _stop(self, role: str) -> None:
        await self.services[role].stop()

    async def _mount(self, host: str, port: int, name: str) -> str:
        return await self.machine.mount(Endpoint(host, port), name)

    async def _reach(self, port: int) -> Json:
        at = await self.machine.reach(port)
        return {"host": at.host, "port": at.port}

    async def _way(self, peer: Machine, port: int) -> Json | None:
        at = await self.machine.way_to(peer, port)
        return None if at is None else {"host": at.host, "port": at.port}

    async def _outside(self) -> Json:
        return await self.machine.outside() or self._of_services()

    async def _fail(self, fault: str) -> None:
        await self.machine.fail(FaultKind(fault))

    def _of_services(self) -> Json:
        """CPU seconds of a machine whose services have processes of their own."""
        cpu = 0.0
        for service in self.services.values():
            with contextlib.suppress(psutil.Error):
                root = psutil.Process(service.pid)
                times = [one.cpu_times() for one in (root, *root.children(recursive=True))]
                cpu += sum(one.user + one.system for one in times)
        return {"cpu": {"processes": cpu}, "disk": {}, "network": {}, "exits": None}
