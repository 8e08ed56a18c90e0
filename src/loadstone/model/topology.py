"""The topologies that exist, found by themselves: each module of `loadstone.topologies` that declares a `TOPOLOGY`."""

from functools import cache

from loadstone import topologies as modules
from loadstone.model.modules import collect_declared
from loadstone.topologies.topology import Topology


@cache
def list_topologies() -> tuple[Topology, ...]:
    """Returns all topologies in the order of their rank."""
    declared: tuple[Topology, ...] = collect_declared(modules, "TOPOLOGY")
    return tuple(sorted(declared, key=lambda topology: (topology.rank, topology.need)))


def get_topology(need: str) -> Topology:
    """Returns the topology that workloads of a kind need. Raises KeyError for a kind that no topology serves."""
    return {topology.need: topology for topology in list_topologies()}[need]


def list_ledgers() -> tuple[str, ...]:
    """Returns what audits of applications count, without repeats."""
    return tuple(dict.fromkeys(ledger for topology in list_topologies() for ledger in topology.ledgers))


def list_topologies_with(choice: str) -> tuple[Topology, ...]:
    """Returns the topologies that a choice applies to."""
    return tuple(topology for topology in list_topologies() if choice in topology.choices)


def list_roles_chosen_by(choice: str) -> tuple[str, ...]:
    """Returns the service roles whose service a choice names, without repeats."""
    roles = (role for topology in list_topologies() for role in topology.roles if role.choice == choice)
    return tuple(dict.fromkeys(role.service for role in roles))
