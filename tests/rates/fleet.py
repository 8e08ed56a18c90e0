"""Fleets whose ports are thrown garbage at for a minute."""

from pathlib import Path

from tests.fleet.conftest import PATIENCE_S, ROLES
from tests.fleet.hosts import cluster, namespace_hosts
from tests.fleet.test_cluster import goes_on, throw_garbage
from tests.rates.contract import Rate

GARBAGE_S = 60.0


def garbage_for_a_minute(trial: int, _: Path) -> None:
    """Throws garbage at every port of a fleet while a run makes load; the run and the cluster go on."""
    with (
        namespace_hosts(["lab", *ROLES]) as hosts,
        cluster(hosts, ROLES, PATIENCE_S) as lab,
        goes_on(lab, f"pelted-{trial}", GARBAGE_S + 5),
    ):
        throw_garbage(lab, hosts, GARBAGE_S)


RATES = (
    Rate("fleet-garbage", "A minute of garbage on every port of a fleet changes nothing", 3, garbage_for_a_minute),
)
