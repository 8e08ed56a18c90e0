"""A fleet as users declare it: which hosts there are, what each is for, and how they are reached. Pure."""

from collections.abc import Mapping
from enum import StrEnum
from ipaddress import IPv4Address
from typing import Annotated

from pydantic import AfterValidator, Field

from loadstone.model.errors import UsageError
from loadstone.model.machine import PUBLIC
from loadstone.model.reading import Section
from loadstone.model.target import Endpoint

DEFAULT_SILENCE_S = 2.0
COORDINATOR_SPARE_S = 1.0
"""Seconds that a coordinator, or a driver, may be silent for longer than a host."""
LOG_NETWORK, CARRY_NETWORK = "log", "carry"
"""Networks of hosts for the log of pairs, and for copies of states and disks."""


class HostRole(StrEnum):
    """What a host is for."""

    DRIVER = "driver"
    """It makes load."""
    SYSTEM = "system"
    """Machines of the system under test are made there."""
    WITNESS = "witness"
    """It decides which half of a pair serves."""


class BackEnd(StrEnum):
    """What starts and watches the supervisors of hosts."""

    LOCAL = "local"
    """This process: all hosts are this machine."""
    RAY = "ray"
    """A Ray cluster."""


class Dealing(StrEnum):
    """How machines that name no host are dealt to the hosts for systems."""

    SPREAD = "spread"
    """In turn."""
    PACK = "pack"
    """To the first that has room."""


def _host_of_ssh(text: str) -> str:
    """How ssh names a host. Raises ValueError for what ssh would take for an option, or a shell for several words."""
    host = text.rpartition("@")[2]
    if text.startswith("-") or host.startswith("-") or (text and not host):
        raise ValueError("ssh would read it as an option: use HOST or USER@HOST, and set options in ~/.ssh/config")
    if any(letter.isspace() or not letter.isprintable() for letter in text):
        raise ValueError("a host name has no spaces: use HOST or USER@HOST")
    return text


def _cluster(address: str) -> str:
    """HOST:PORT of a cluster. Raises ValueError."""
    if address:
        try:
            Endpoint.parse(address)
        except UsageError as error:
            raise ValueError(str(error)) from None
    return address


class HostSpec(Section):
    """One host."""

    roles: tuple[HostRole, ...] = Field(description="a list of `driver`, `system`, `witness`", min_length=1)
    """Roles of the host: it generates load, runs machines, or decides which side of a pair serves."""
    addresses: Mapping[str, IPv4Address] = Field(
        description="a table of its addresses: `public` for all; for pairs also `log`, and `carry` for copies"
    )
    cores: str = Field(
        default="", description="cores that drivers and machines may use, such as 0-3 or 0+2; default: all"
    )
    memory: Annotated[int, Field(ge=64, le=1 << 30)] | None = Field(
        default=None, description="MiB for all machines together; default: all free memory"
    )
    ssh: Annotated[str, AfterValidator(_host_of_ssh)] = Field(
        default="", description="ssh destination, such as USER@HOST; default: this machine"
    )
    python: str = Field(
        default="", description="Python interpreter with Loadstone on the host; default: installed over ssh"
    )

    @property
    def address(self) -> str:
        """How others reach it."""
        return self.find_address(PUBLIC)

    def find_address(self, network: str) -> str:
        """Returns its address in a network; the public one where it has no other."""
        return str(self.addresses.get(network, self.addresses[PUBLIC]))


class FleetSpec(Section):
    """All hosts, and what holds them together."""

    back_end: BackEnd = Field(default=BackEnd.RAY, description="`ray` or `local`")
    """Engine that starts and monitors the hosts' supervisors."""
    cluster: Annotated[str, AfterValidator(_cluster)] = Field(
        default="", description="HOST:PORT of an existing Ray cluster; default: the cluster of `fleet up`"
    )
    dealing: Dealing = Field(default=Dealing.SPREAD, description="`spread` or `pack`")
    """Placement of machines without a host: round robin, or on the first host with room."""
    silence_s: Annotated[float, Field(ge=1, le=60)] = Field(
        default=DEFAULT_SILENCE_S,
        description="seconds without an answer after which a host counts as lost, 1 to 60",
    )
    """Seconds without an answer after which a host counts as lost. Hosts whose cores are all used need more."""
    hosts: Mapping[str, HostSpec] = Field(description="a table [hosts.NAME] for each host", min_length=1)

    def with_role(self, role: HostRole) -> tuple[str, ...]:
        """Names of the hosts that have it, in the order in which they are declared."""
        return tuple(name for name, host in self.hosts.items() if role in host.roles)
