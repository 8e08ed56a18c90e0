"""The business kernel in Java."""

from loadstone.topologies.topology import Topology, TopologyRole

TOPOLOGY = Topology(need="warehouses", rank=83, front=TopologyRole(name="kernel", service="warehouses"))
