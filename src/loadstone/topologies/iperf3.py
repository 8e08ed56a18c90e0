"""The server of iperf3, to which its client sends."""

from loadstone.topologies.topology import Topology, TopologyRole

TOPOLOGY = Topology(need="iperf3", rank=80, front=TopologyRole(name="iperf3", service="iperf3"))
