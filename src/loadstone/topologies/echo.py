"""A server that returns every message."""

from loadstone.topologies.topology import Topology, TopologyRole

TOPOLOGY = Topology(need="echo", rank=79, front=TopologyRole(name="echo", service="echo"))
