"""What machines of a testbed stand on: this host, and those of a fleet where there is one."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.fleet.open import OpenFleet
from loadstone.host.cores import read_core_list
from loadstone.model.errors import PlatformError
from loadstone.model.machine import PRIVATE, PUBLIC, MachineSpec
from loadstone.platforms.contract import Attachment, Machine
from loadstone.platforms.maker import MachineMaker, open_maker, require_platform
from loadstone.platforms.registry import get_platform_kind

TESTBED_LOOPBACK = "127.0.0.1"


@dataclass
class TestbedContext:
    """What machines of one testbed share."""

    local: MachineMaker
    fleet: OpenFleet | None = None
    machines: dict[str, Machine] = field(default_factory=dict)

    @property
    def logs(self) -> Path:
        """Folder of what its services write on standard error."""
        return self.local.logs

    @property
    def stack(self) -> AsyncExitStack:
        """What is undone when the testbed goes down."""
        return self.local.stack

    @property
    def hosts(self) -> list[str]:
        """The host's own addresses on the public networks of its machines."""
        return self.local.hosts

    async def start_machine(
        self, name: str, spec: MachineSpec, networks: Sequence[str], listen: str = TESTBED_LOOPBACK, together: str = ""
    ) -> Machine:
        """A machine, up until the testbed goes down; those that belong `together` come onto one host. Raises
        PlatformError.
        """
        if name in self.machines:
            raise PlatformError(f"A machine `{name}` already exists. Use another name.")
        self.machines[name] = await self._create(name, spec, networks, listen, together)
        return self.machines[name]

    async def _create(
        self, name: str, spec: MachineSpec, networks: Sequence[str], listen: str, together: str
    ) -> Machine:
        if self.fleet is None:
            if spec.host:
                raise PlatformError(
                    f"{name} is assigned to the host {spec.host}, but there is no fleet. Add --fleet FILE."
                )
            return await self.local.start_machine(name, spec, networks, listen)
        place = self.fleet.place_of(spec, together)
        if place is not None:
            return await place.start_machine(name, spec, networks, self.local)
        reached = self.fleet.own_address if listen == TESTBED_LOOPBACK else listen
        return await self.local.start_machine(name, spec, networks, reached)


@asynccontextmanager
async def open_testbed(logs: Path, fleet: OpenFleet | None = None) -> AsyncIterator[TestbedContext]:
    """A new one; all on it is gone when the block ends."""
    async with open_maker(logs) as local:
        yield TestbedContext(local, fleet)


async def refuse_impossible(specs: Iterable[MachineSpec]) -> None:
    """Raises PlatformError for a machine that cannot be made here, before anything is made."""
    for spec in specs:
        await require_platform(spec)
        for turn in spec.pin.split("/") if spec.pin else ():
            read_core_list(turn)
        is_bridged(spec)


def refuse_unreachable(specs: Iterable[MachineSpec]) -> None:
    """Raises PlatformError for a machine of a fleet with networks that its other hosts do not reach."""
    if any(spec.public_networks > 1 for spec in specs):
        raise PlatformError(
            "A machine of a fleet has one public network, since other hosts reach it at one address. "
            "Remove `public_networks`, or run without --fleet."
        )


def is_bridged(spec: MachineSpec) -> bool:
    """Whether a machine has lines of its own; raises PlatformError where it cannot have what it asks for."""
    return get_platform_kind(spec.platform).maker.choose_attachment(spec) is not Attachment.NONE


def list_front_networks(peers: Iterable[MachineSpec]) -> tuple[str, ...]:
    """Networks of a machine that users reach: the private one too when a peer it asks has lines of its own."""
    return (PUBLIC, PRIVATE) if any(map(is_bridged, peers)) else (PUBLIC,)
