"""The bookstore with its database."""

from loadstone.topologies.shared import BALANCER, DATABASE
from loadstone.topologies.topology import DataTables, Topology, TopologyRole

BOOKSTORE_TABLES = DataTables("bookstore", ("items", "customers", "orders"))
TOPOLOGY = Topology(
    need="bookstore",
    rank=30,
    front=TopologyRole(name="app", service="bookstore", choice="service", settings=("tuning",)),
    peers=(DATABASE,),
    balancer=BALANCER,
    data=BOOKSTORE_TABLES,
    ledgers=("orders",),
)
