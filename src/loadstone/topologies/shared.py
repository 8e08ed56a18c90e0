"""Roles that several applications have."""

from loadstone.topologies.topology import TopologyRole

DATABASE = TopologyRole(name="database", service="database", choice="database")
BALANCER = TopologyRole(name="balancer", service="balancer", choice="balancer", has_default_machine=True)
