"""A disk that fio reads and writes."""

from loadstone.topologies.topology import Topology, TopologyRole

TOPOLOGY = Topology(need="fio", rank=82, front=TopologyRole(name="disk", service="fio"))
