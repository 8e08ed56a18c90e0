"""The mail store."""

from loadstone.topologies.topology import Topology, TopologyRole

TOPOLOGY = Topology(need="mail", rank=50, front=TopologyRole(name="mail", service="mail", choice="imap"))
