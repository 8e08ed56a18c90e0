"""The dealership with its database, which the dealership fills itself."""

from loadstone.topologies.shared import DATABASE
from loadstone.topologies.topology import Topology, TopologyRole

TOPOLOGY = Topology(
    need="application",
    rank=20,
    front=TopologyRole(name="app", service="dealership", choice="service", settings=("tuning",)),
    peers=(DATABASE,),
    ledgers=("orders", "work_orders"),
    users_per_rate=10,  # dealers (docs/consolidation.md, Application server)
)
