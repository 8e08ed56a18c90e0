"""A system under test that is up: where users reach it, and what monitors and the disclosure ask of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from loadstone.measure.agent import AgentGauge
from loadstone.measure.station import Meter
from loadstone.measure.status import StatusReader
from loadstone.model.records.manifest import MachineFacts
from loadstone.model.system import Station
from loadstone.model.target import Target
from loadstone.model.tile import Role
from loadstone.platforms.contract import Machine
from loadstone.testbed.data import DataSet


@dataclass
class TileUp:
    """A tile that is up."""

    number: int
    targets: dict[Role, tuple[Target, ...]] = field(default_factory=dict)
    """Where users reach it: web, app, mail, idle."""
    heartbeats: dict[str, Target] = field(default_factory=dict)
    """Where its machines answer heartbeats, by name."""
    roles: frozenset[str] = frozenset()
    """Names of its machines and of the services on them, as monitors know them."""


@dataclass(frozen=True)
class Testbed:
    """A system under test that is up."""

    __test__ = False  # its name begins like a test's

    targets: tuple[Target, ...]
    """Where its machines answer, on each of their public networks; users are dealt to them in turn."""
    about: str
    processes: Callable[[], dict[str, int]] = dict
    """Process ids by role as they are now, for the monitors; empty when the system is not ours to watch."""
    dead: Callable[[], str] = lambda: ""
    """Says which part of the system has died; empty while all is well."""
    meters: dict[str, Meter] = field(default_factory=dict)
    """Services that say themselves how busy they are, by role."""
    machines: Mapping[str, Machine] = field(default_factory=dict)
    """Its machines by name."""
    status: Mapping[str, StatusReader] = field(default_factory=dict)
    """What services say of themselves, by machine and part."""
    hosts: Mapping[str, AgentGauge] = field(default_factory=dict)
    """Hosts that others run, and that agents there tell of."""
    is_unseen: bool = False
    """Whether it runs on this host, and none of our business says which processes it is."""
    unseen_ports: tuple[int, ...] = ()
    """Ports of this host at which a system listens that others set up."""
    simulated: Station | None = None
    """The station that only exists in virtual time."""
    data: DataSet | None = None
    """What its application's database holds, and was filled with already."""
    tiles: tuple[TileUp, ...] = ()
    """Its tiles; empty for a system without tiles."""

    def collect_facts(self) -> dict[str, MachineFacts]:
        """Returns the facts of its machines, for the disclosure."""
        facts = {name: _facts_of_host(host) for name, host in self.hosts.items()}
        return facts | {name: _facts_of(machine) for name, machine in self.machines.items()}


def _facts_of_host(host: AgentGauge) -> MachineFacts:
    facts = {"kernel": host.first.get("kernel"), "cpus": host.first["cores"]}
    memory = host.first.get("memory", {}).get("total")
    return MachineFacts(host.about, host.platform, facts=facts | {"memory_mib": (memory or 0) >> 20})


def _facts_of(machine: Machine) -> MachineFacts:
    named = ("platform", "accelerator", "networks")
    other_facts = {key: value for key, value in machine.facts.items() if key not in named and value is not None}
    named_facts = {key: machine.facts[key] for key in named if machine.facts.get(key)}
    return MachineFacts(about=machine.about, **named_facts, facts=other_facts)
