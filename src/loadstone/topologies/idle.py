"""The idle server, which answers nothing but heartbeats."""

from loadstone.topologies.topology import Topology, TopologyRole

TOPOLOGY = Topology(need="idle", rank=60, front=TopologyRole(name="idle", service="idle", threads=1))
