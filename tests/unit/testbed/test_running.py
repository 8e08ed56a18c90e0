"""Which processes of this host belong to the services that run, and the waiting for services."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from loadstone.host.http import find_free_port
from loadstone.model.errors import ServiceError
from loadstone.model.role import ProcessRole
from loadstone.model.target import Endpoint
from loadstone.testbed.running import (
    ANSWER_S,
    EMULATED_ANSWER_S,
    Running,
    choose_answer_timeout_s,
    wait_until_answered,
    wait_until_done,
)


def running(pids: dict[str, int], machine_pid: int) -> Running:
    """Programs of one machine with their processes on this host, 0 for those inside a virtual machine."""
    machine = cast(Any, SimpleNamespace(pid=machine_pid, companions={"agent a": 8} if machine_pid else {}))
    roles = {ProcessRole("database", program=program): pid for program, pid in pids.items()}
    services = {role: cast(Any, SimpleNamespace(pid=pid)) for role, pid in roles.items()}
    return Running(cast(Any, Path()), services, dict.fromkeys(roles, machine))


def test_all_programs_of_a_virtual_machine_are_one_process_that_counts_once() -> None:
    assert running({"": 0, "statistics": 0}, 7).list_processes() == {"database": 7, "database, agent a": 8}


def test_programs_of_this_host_are_processes_of_their_own() -> None:
    assert running({"": 5, "statistics": 6}, 0).list_processes() == {"database": 5, "database statistics": 6}


def test_a_server_of_an_emulated_machine_may_take_longer_to_answer() -> None:
    machines = [
        cast(Any, SimpleNamespace(facts=facts)) for facts in ({"accelerator": "tcg"}, {"accelerator": "kvm"}, {})
    ]
    assert [choose_answer_timeout_s(machine) for machine in machines] == [EMULATED_ANSWER_S, ANSWER_S, ANSWER_S]


def service(end: str) -> Any:
    """A service that ended so; one that runs where the text is empty."""
    return SimpleNamespace(end=lambda: end)


def test_a_wait_ends_with_a_program_that_the_service_needs() -> None:
    ended = {"web php": service("code 78: no such directive")}
    problem = "web php ended instead of getting ready: code 78: no such directive"
    with pytest.raises(ServiceError, match=problem):
        asyncio.run(wait_until_answered(Endpoint("127.0.0.1", find_free_port()), service(""), required_services=ended))
    with pytest.raises(ServiceError, match=problem):
        asyncio.run(wait_until_done(service(""), "The store", required_services=ended))


def test_a_program_that_is_done_is_not_asked_for_what_it_needed() -> None:
    asyncio.run(wait_until_done(service("code 0"), "The store", required_services={"store": service("code 1")}))


@pytest.mark.parametrize(
    ("end", "problem"),
    [
        ("code 127", r"a program is missing there, as its log says. Remove `image` of the machine"),
        ("code 1: no space left", r"could not be prepared: code 1: no space left"),
    ],
)
def test_a_program_that_is_missing_in_an_image_is_an_error_with_a_remedy(end: str, problem: str) -> None:
    with pytest.raises(ServiceError, match=problem):
        asyncio.run(wait_until_done(service(end), "The files of tomcat"))
