"""One cluster for all tests of fleets: four hosts and the one where commands are given."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from loadstone.platforms.fabric import may_make_networks
from tests.fleet.hosts import SSHD, Lab, NamespaceHost, cluster, namespace_hosts

LAST = ("test_a_death_is_noticed_named_and_leaves_nothing[head]", "test_nothing_is_left_when_the_cluster_is_down")
"""End the cluster, so all others come before them."""
ROLES = {"d1": "driver", "s1": "system", "s2": "system", "w1": "witness"}
PATIENCE_S = 8.0
"""So long may a host be silent: all hosts of these tests are one, which has other work."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests that end the cluster behind all others that use it."""
    items.sort(key=lambda item: LAST.index(item.name) if item.name in LAST else -1)


@pytest.fixture(scope="session")
def hosts() -> Iterator[Mapping[str, NamespaceHost]]:
    if not (os.getuid() == 0 and may_make_networks()):
        pytest.skip("hosts as network namespaces need root")
    assert Path(SSHD).exists(), "sshd is not installed; scripts/system-packages ssh does it"
    with namespace_hosts(["lab", *ROLES]) as made:
        yield made


@pytest.fixture(scope="session")
def lab(hosts: Mapping[str, NamespaceHost]) -> Iterator[Lab]:
    with cluster(hosts, ROLES, PATIENCE_S) as made:
        yield made
