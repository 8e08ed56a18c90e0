"""A web server alone: files, and short answers by one of its mechanisms."""

from loadstone.topologies.topology import Topology, TopologyRole

TOPOLOGY = Topology(
    need="webserver",
    rank=70,
    front=TopologyRole(name="web", service="webserver", choice="service", settings=("tuning", "mechanism")),
)
