"""A source package that is compiled."""

from loadstone.topologies.topology import Topology, TopologyRole

TOPOLOGY = Topology(need="compile", rank=84, front=TopologyRole(name="compiler", service="compile"))
