"""What machines have in common whose programs run under the host's own kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.host.http import find_free_port
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.fault import FaultKind
from loadstone.model.machine import MachineSpec
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import Machine, MachineContext, MachineCounters, ProgramHost, Service
from loadstone.platforms.failing import fail_processes
from loadstone.platforms.interfaces import find_address, list_further_addresses, read_line_counters
from loadstone.platforms.routing import find_route_over

Json = dict[str, Any]


@dataclass
class LocalMachine(ProgramHost, MachineCounters):
    """A machine without a kernel of its own; with lines of its own it has addresses of its own."""

    context: MachineContext
    facts: Json = field(default_factory=dict)
    services: dict[str, Service] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name."""
        return self.context.name

    @property
    def about(self) -> str:
        """What it is."""
        return self.context.about

    @property
    def listen(self) -> str:
        """On a network of its own, wherever it is asked."""
        return "0.0.0.0" if self.context.nics else self.context.listen

    @property
    def address(self) -> str:
        """Its own, or the host's."""
        return find_address(self.context.nics) or self.context.listen

    @property
    def further_addresses(self) -> Sequence[str]:
        """Those of its lines."""
        return list_further_addresses(self.context.nics)

    @property
    def files(self) -> str:
        """A folder of the journal, at the same path for all programs of the machine."""
        return str(self.context.journal.folder / f"{self.name}-files")

    @property
    def folder(self) -> Path | None:
        """The same."""
        return Path(self.files)

    async def write(self, name: str, text: str) -> None:
        """Writes a file of that folder."""
        file = Path(self.files) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    async def expose(self, folder: Path) -> str:
        """A folder of this host where it is."""
        return str(folder)

    async def mount(self, source: Path | Endpoint, name: str) -> str:
        """A folder of this host where it is."""
        if isinstance(source, Endpoint):
            raise PlatformError(f"{self.name} takes folders of this host; only virtual machines mount NFS.")
        return str(source)

    async def choose_port(self, usual: int) -> int:
        """The usual one on a network of its own, a free one of the host."""
        return usual if self.context.nics else find_free_port()

    async def find_endpoint(self, port: int) -> Endpoint:
        """Returns the port's endpoint at the machine's address."""
        return Endpoint(self.address, port)

    async def find_route(self, peer: Machine, port: int) -> Endpoint | None:
        """Over a network both are on, or the host; from the host as the driver does."""
        return (
            await find_route_over(self.context.nics, peer, port, None)
            if self.context.nics
            else await peer.find_endpoint(port)
        )

    async def fail(self, fault: FaultKind) -> None:
        """Does it to the processes of its services. Raises PlatformError for what only pairs can have."""
        fail_processes(self.list_running(), fault, self.context.about)

    def list_running(self) -> list[int]:
        """Processes of its services that have not ended."""
        return [service.pid for service in self.services.values() if service.pid and not service.end()]

    def read_line_counters(self) -> dict[str, dict[str, int]]:
        """Counters of its lines, as a process there sees them; none while nothing runs."""
        pids = self.list_running()
        return read_line_counters(pids[0], self.context.nics) if pids else {}

    def end(self) -> str:
        """Returns an empty text, since the machine has no process that could end."""
        return ""


def claim(services: Mapping[str, object], role: str, machine: str) -> None:
    """Raises ServiceError when a role runs in a machine already."""
    if role in services:
        raise ServiceError(f"`{role}` already runs on {machine}. Use another name for the second service.")


def refuse_line_speed(spec: MachineSpec, why: str) -> None:
    """Raises PlatformError when a machine without a line of its own is given a speed."""
    if spec.mbit_per_s is not None:
        raise PlatformError(f"{why}, so `mbit_per_s` does not fit. Take a container or a virtual machine on a bridge.")
