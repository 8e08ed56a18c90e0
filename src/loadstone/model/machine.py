"""A machine as users declare it: what platform it is of, how large, on what networks, how it is made."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.model.selector import RoleSettings

PUBLIC, PRIVATE = "public", "private"
"""The network of users, and the one between machines of one system."""

MOST_PUBLIC_NETWORKS = 8

SERVER = "loadstone-server"
"""Name of the reference servers' program in commands of services; every place knows where it is."""

PROCESS = "process"
"""The platform of what is declared without one: processes of this machine."""


class NetworkKind(StrEnum):
    """How a machine is connected."""

    AUTO = "auto"
    """A bridge where this user may make one, else user-mode."""
    BRIDGE = "bridge"
    USER = "user"


class Lines(StrEnum):
    """Whether several machines alike share a bridge."""

    SHARED = "shared"
    OWN = "own"


MINIMAL, DEBIAN = "minimal", "debian"
"""Images: a kernel and the reference server alone; a Debian root file system with packages."""

MachineCount = Annotated[int, Field(ge=1, le=4096)]


ROUND_ROBIN = ("pin", "bridge")
"""Settings of which each copy takes one value, as `0/1`."""


class MachineSpec(Section):
    """One machine, or several alike: what can be said of several platforms' machines. Which of it, and what else, each
    platform declares (`platforms/kind.py`).
    """

    platform: str = Field(default=PROCESS, description="the name of a platform")
    count: MachineCount = Field(
        default=1, description="number of identical machines, 1 or more; users are distributed round robin"
    )
    cpus: MachineCount | None = Field(default=None, description="cores or virtual CPUs, 1 or more")
    memory: Annotated[int, Field(ge=64, le=1 << 22)] = Field(default=512, description="MiB of memory, 64 or more")
    image: str = Field(default=MINIMAL, description="`minimal`, `debian`, `debian+PACKAGE+...`, or an OCI image")
    network: NetworkKind = Field(default=NetworkKind.AUTO, description="`auto`, `bridge` or `user`")
    """Connection of the machine; `auto`: a bridge if this user may create one, else user-mode."""
    mbit_per_s: Annotated[float, Field(ge=0.01, le=30_000)] | None = Field(
        default=None, description="speed of its public access link in Mbit/s, each way, 0.01 to 30000"
    )
    lines: Lines = Field(default=Lines.SHARED, description="`shared`: all on one bridge, or `own`: each on its own")
    public_networks: Annotated[int, Field(ge=1, le=MOST_PUBLIC_NETWORKS)] = Field(
        default=1, description="number of public networks, each with its own card, 1 to 8; users are distributed"
    )
    pin: str | None = Field(
        default=None, description="cores of the host it may use, such as 0-1 or 0+2; round robin as 0/1"
    )
    disk: Annotated[int, Field(ge=0, le=1 << 24)] = Field(
        default=0, description="MiB of the root disk (0: as in the image), or of a data disk with `minimal`"
    )

    host: str = Field(default="", description="host of the fleet; default: distributed over its hosts")

    def with_number(self, index: int) -> "MachineSpec":
        """Returns one of several identical machines, counted from 0, with the values that it takes round robin."""
        dealt = {name: str(value).split("/") for name in ROUND_ROBIN if (value := getattr(self, name, None))}
        taken = {name: values[index % len(values)] for name, values in dealt.items()}
        return self.model_copy(update={"count": 1, **taken})

    @property
    def declared(self) -> dict[str, Any]:
        """What is declared other than usual, as users write it."""
        return self.model_dump(mode="json", exclude_defaults=True)


def list_public_networks(count: int) -> tuple[str, ...]:
    """Returns the names of a machine's public networks: `public`, `public-2` and so on."""
    return (PUBLIC, *(f"{PUBLIC}-{number}" for number in range(2, count + 1)))


ALL_PUBLIC_NETWORKS = list_public_networks(MOST_PUBLIC_NETWORKS)

HERE = MachineSpec()
"""A process of this machine, on any core."""


@dataclass(frozen=True)
class Placement:
    """Where the services of a system run."""

    machine: MachineSpec = HERE
    """What is measured."""
    backend: MachineSpec = HERE
    """The back-end simulator, which stands for other machines."""
    roles: RoleSettings = field(default_factory=dict)
    """Settings of single machines, by selector."""

    @property
    def is_plain(self) -> bool:
        """Whether all are processes of this machine, on any core."""
        return not (self.machine.declared or self.backend.declared or self.roles)


PLAIN = Placement()
"""Everything as processes of this machine."""
