"""The type of a topology: roles of an application, the choices that name their services, and their data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

EMBEDDED = "embedded"
"""The service of each role that comes with the program."""


@dataclass(frozen=True, kw_only=True)
class TopologyRole:
    """Machines of one role, each with the same service."""

    name: str
    """Name of its machines."""
    service: str
    """Role that its services declare (`services/kinds`)."""
    choice: str = ""
    """Choice that names its service; empty where only the embedded service exists."""
    settings: tuple[str, ...] = ()
    """Choices that configure its service."""
    threads: int | None = None
    """Threads of its service; None: as many as the system has."""
    answers_as: tuple[str, ...] = ()
    """Names under which the front asks it, where they differ from `service`."""
    embedded_address: str = ""
    """Address that stands for the embedded service, which runs inside the front; empty where it has a machine."""
    has_default_machine: bool = False
    """Whether its machine ignores the settings of back-end machines."""

    @property
    def peer_names(self) -> tuple[str, ...]:
        """Names under which the front asks it."""
        return self.answers_as or (self.service,)

    def is_in_front(self, service: str) -> bool:
        """Returns whether a service is part of the front."""
        return service == EMBEDDED and bool(self.embedded_address)

    def has_machine(self, service: str) -> bool:
        """Returns whether it has a machine with a service; the empty name is no service."""
        return bool(service) and not self.is_in_front(service)


@dataclass(frozen=True)
class DataTables:
    """Tables of an application's database, which the reference server fills and restores."""

    server: str
    """Command of the reference server that fills them."""
    tables: tuple[str, ...]
    cache_reset: str = ""
    """Path at which a server of the application drops its cached answers; empty where it has none."""

    def build_options(self, database: str, rows: Mapping[str, int]) -> list[str]:
        """Returns the command's options: address of the database, rows by table."""
        tables = [name for name in self.tables if name in rows]
        return ["--database", database, *(argument for name in tables for argument in (f"--{name}", str(rows[name])))]


@dataclass(frozen=True, kw_only=True)
class Topology:
    """What an application is made of."""

    need: str
    """Value of `needs` in workloads of the application."""
    rank: int
    """Place among topologies in lists."""
    front: TopologyRole
    """Machines that users reach."""
    peers: tuple[TopologyRole, ...] = ()
    """Machines that the front asks; descriptions of a system name the first."""
    balancer: TopologyRole | None = None
    """Load balancer in front of several front machines."""
    data: DataTables | None = None
    """None for an application whose database fills itself, or that has none."""
    shared_files: tuple[str, ...] = ()
    """Command of the reference server that fills a folder which all fronts share; the folder's path follows."""
    shared_file_sets: Mapping[str, int] = field(default_factory=dict)
    """File sets of such a folder instead, which is only read, with the sessions that they are for."""
    file_sets: tuple[str, ...] = ()
    """Workloads whose files the front writes to its folder before it starts."""
    ledgers: tuple[str, ...] = ()
    """Things that its audit counts, by their name in the audit's answer."""
    users_per_rate: int | None = None
    """Users that each unit of injection rate stands for; None where the application has no injection rate."""

    @property
    def roles(self) -> tuple[TopologyRole, ...]:
        """All roles, the front first and the load balancer last."""
        return (self.front, *self.peers, *([self.balancer] if self.balancer else []))

    def count_users(self, rate: int) -> int:
        """Returns the users that so many units of injection rate stand for."""
        return rate * (self.users_per_rate or 1)

    @property
    def choices(self) -> frozenset[str]:
        """Names of the choices that apply to it."""
        named = {role.choice for role in self.roles if role.choice}
        return frozenset(named.union(*(role.settings for role in self.roles)))
