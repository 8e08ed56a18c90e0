"""The site of events with its database, geocoder, picture store and cache."""

from loadstone.topologies.shared import BALANCER, DATABASE
from loadstone.topologies.topology import DataTables, Topology, TopologyRole

EVENTS_TABLES = DataTables("events", ("users", "tags", "events"), cache_reset="/events/renew")
TOPOLOGY = Topology(
    need="events",
    rank=40,
    front=TopologyRole(name="app", service="events", choice="service", settings=("tuning",)),
    peers=(
        DATABASE,
        TopologyRole(name="geocoder", service="geocoder", threads=1),
        TopologyRole(name="store", service="store", choice="store", threads=1),
        TopologyRole(name="cache", service="cache", choice="cache", embedded_address="within"),
    ),
    balancer=BALANCER,
    data=EVENTS_TABLES,
    ledgers=("additions",),
    shared_files=("pictures", "--only-fill", "--folder"),
)
