"""A run's hosts beside this one: the fleet while it runs, and what monitors and the watch over the system see of it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from loadstone.fleet.engines import create_engine
from loadstone.fleet.open import OpenFleet, open_fleet
from loadstone.fleet.reserved import FleetHost
from loadstone.measure.agent import AgentGauge
from loadstone.model.fleet import FleetSpec
from loadstone.model.records.manifest import FleetHostRecord
from loadstone.testbed import Testbed


@asynccontextmanager
async def open_fleet_for(spec: FleetSpec | None, logs: Path) -> AsyncIterator[OpenFleet | None]:
    """The hosts of a run, taken while the block runs; None for one that has none but this. Raises FleetError."""
    if spec is None:
        yield None
        return
    async with open_fleet(spec, create_engine(spec), logs) as fleet:
        yield fleet


def disclose_hosts(fleet: OpenFleet | None) -> dict[str, FleetHostRecord]:
    """The hosts as they were taken, for the manifest."""
    hosts = fleet.hosts.items() if fleet is not None else ()
    return {name: _record(host) for name, host in hosts}


def _record(host: FleetHost) -> FleetHostRecord:
    facts = host.facts
    return FleetHostRecord(
        tuple(host.spec.roles),
        host.spec.address,
        str(facts["kernel"]),
        int(facts["cores"]),
        int(facts["memory_mib"]),
        tuple(facts["undone"]),
    )


def on_fleet(testbed: Testbed, hosts: Mapping[str, AgentGauge], fleet: OpenFleet) -> Testbed:
    """A testbed whose run also watches the hosts of its fleet."""

    def dead() -> str:
        return fleet.describe_dead() or testbed.dead()  # with a host go all that is on it

    gauges = {name: host.create_gauge() for name, host in fleet.hosts.items()}
    return replace(testbed, hosts={**hosts, **gauges}, dead=dead)
