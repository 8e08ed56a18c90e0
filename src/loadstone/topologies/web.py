"""Bank, shop and support site, with the simulator of their back end."""

from loadstone.topologies.shared import BALANCER
from loadstone.topologies.topology import Topology, TopologyRole

WEB_FRONT = TopologyRole(name="web", service="web", choice="service", settings=("tuning",))
TOPOLOGY = Topology(
    need="web",
    rank=10,
    front=WEB_FRONT,
    peers=(TopologyRole(name="backend", service="backend", choice="backend_service", threads=1),),
    balancer=BALANCER,
    file_sets=("banking", "shopping", "support"),
)
