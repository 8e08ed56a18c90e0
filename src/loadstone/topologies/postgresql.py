"""A PostgreSQL server alone, for tools that measure databases."""

from loadstone.topologies.topology import Topology, TopologyRole

TOPOLOGY = Topology(need="postgresql", rank=81, front=TopologyRole(name="database", service="postgresql"))
