"""A cluster for all tests of a module: four hosts and the one where commands are given."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from loadstone.platforms.fabric import may_make_networks
from tests.fleet.hosts import SSHD, Lab, NamespaceHost, cluster, namespace_hosts

ROLES = {"d1": "driver", "s1": "system", "s2": "system", "w1": "witness"}


@pytest.fixture(scope="module")
def hosts() -> Iterator[Mapping[str, NamespaceHost]]:
    if not (os.getuid() == 0 and may_make_networks()):
        pytest.skip("hosts as network namespaces need root")
    assert Path(SSHD).exists(), "sshd is not installed; scripts/system-packages ssh does it"
    folder = Path(tempfile.mkdtemp(prefix="loadstone-fleet-", dir="/var/tmp"))  # each host has a /tmp of its own
    try:
        with namespace_hosts(["lab", *ROLES], folder) as made:
            yield made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def lab(hosts: Mapping[str, NamespaceHost]) -> Iterator[Lab]:
    with cluster(hosts, ROLES) as made:
        yield made
