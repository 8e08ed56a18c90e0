"""Names of machines and processes: fields within the program, text in results."""

import pytest

from loadstone.judge.usage import is_support
from loadstone.model.role import MachineRole, ProcessRole


@pytest.mark.parametrize(
    ("machine", "text"),
    [
        (MachineRole("web"), "web"),
        (MachineRole("web", replica=2), "web-2"),
        (MachineRole("db", tile=3), "tile3-db"),
        (MachineRole("db", replica=2, tile=3), "tile3-db-2"),
    ],
)
def test_a_machine_is_named_by_its_role_replica_and_tile(machine: MachineRole, text: str) -> None:
    assert str(machine) == text


@pytest.mark.parametrize(
    ("process", "text"),
    [
        (ProcessRole("web"), "web"),
        (ProcessRole("web-2", program="php"), "web-2 php"),
        (ProcessRole("mail", companion="virtiofsd"), "mail, virtiofsd"),
        (ProcessRole("web", program="php", companion="secondary of web"), "web php, secondary of web"),
    ],
)
def test_a_process_is_read_back_as_it_was_written(process: ProcessRole, text: str) -> None:
    assert str(process) == text
    assert ProcessRole.parse(text) == process


def test_the_driver_and_the_back_end_with_all_that_run_for_them_are_not_measured() -> None:
    support = ("driver", "backend", "backend responder", "backend, virtiofsd")
    measured = ("web", "web php", "web, virtiofsd", "database", "backend-2", "tile1-app-driver")
    assert all(map(is_support, support))
    assert not any(map(is_support, measured))
