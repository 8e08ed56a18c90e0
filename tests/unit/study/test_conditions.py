"""Like is compared with like, or what is unlike is said."""

from dataclasses import replace

import pytest

from loadstone.model.records.manifest import HostFacts, MachineFacts, Manifest
from loadstone.study.conditions import describe_unlike, list_conditions
from tests.records import manifest

HOST = HostFacts(cores=8, cores_usable=4, memory_bytes=8 << 30, kernel="6.1", distribution="Debian 12")
CONTAINER = {"cpus": 1, "memory_mib": 512, "network": "bridge"}
PLAIN = {"cores": "4", "memory": "8,192 MiB", "kernel": "6.1", "distribution": "Debian 12", "network": "loopback"}


def of(*machines: dict[str, object]) -> Manifest:
    """A run with these machines, and a back end that is not measured."""
    roles = {f"web-{number}": MachineFacts("machine", facts=facts) for number, facts in enumerate(machines)}  # type: ignore[arg-type]
    return replace(manifest(), host=HOST, machines={**roles, "backend": MachineFacts("process")})


def test_a_process_has_what_its_host_has() -> None:
    assert list_conditions(of({"cores": "all"})) == PLAIN
    assert list_conditions(of({"cores": "0-1,3"})) == {**PLAIN, "cores": "3"}


def test_a_machine_has_its_own() -> None:
    machine = {**CONTAINER, "kernel": "6.6", "image": "minimal abc"}
    assert list_conditions(of(machine)) == {
        "cores": "1",
        "memory": "512 MiB",
        "kernel": "6.6",
        "distribution": "minimal abc",
        "network": "bridge",
    }
    two = list_conditions(of(CONTAINER, {**CONTAINER, "cpus": 2}))
    assert (two["machines"], two["cores"], two["memory"]) == ("2", "1 and 2", "512 MiB")


def test_what_the_lab_did_not_make_has_no_conditions() -> None:
    assert list_conditions(of()) == {}


@pytest.mark.parametrize(
    ("b", "said"),
    [
        ([PLAIN, PLAIN], []),
        ([{}], []),
        ([{**PLAIN, "cores": "1"}], ["A and B are not given the same: cores (4 and 1)."]),
        (
            [{**PLAIN, "network": "bridge", "machines": "2"}],
            ["A and B are not given the same: network (loopback and bridge), machines (one and 2)."],
        ),
    ],
)
def test_only_what_differs_is_said(b: list[dict[str, str]], said: list[str]) -> None:
    assert describe_unlike([PLAIN], b) == said
