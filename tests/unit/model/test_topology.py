"""Applications are declared as data, and choices of services follow from them."""

import pytest

from loadstone.model.choices import CHOICES, ServiceChoices
from loadstone.model.system import FileSet
from loadstone.model.topology import get_topology, list_roles_chosen_by, list_topologies, list_topologies_with
from loadstone.services.registry import list_service_kinds

FIELDS = set(ServiceChoices.model_fields)


def test_topologies_are_listed_by_rank_and_found_by_what_workloads_need() -> None:
    needs = [topology.need for topology in list_topologies()]
    of_users = ["web", "application", "bookstore", "events", "mail", "idle", "webserver", "echo"]
    of_tools = ["iperf3", "postgresql", "fio", "warehouses", "compile"]
    assert needs == [*of_users, *of_tools]
    assert [get_topology(need).need for need in needs] == needs
    with pytest.raises(KeyError):
        get_topology("auction")


def test_every_choice_applies_to_a_topology_and_every_topology_names_choices_that_exist() -> None:
    assert all(list_topologies_with(choice) for choice in CHOICES)
    assert {choice for topology in list_topologies() for choice in topology.choices} == FIELDS


def test_every_role_has_names_of_its_own_and_an_embedded_service_where_nothing_is_chosen() -> None:
    for topology in list_topologies():
        names = [role.name for role in topology.roles]
        assert len(set(names)) == len(names)
        for role in topology.roles:
            assert role.choice or "embedded" in list_service_kinds(role.service), (topology.need, role.name)


def test_a_choice_names_services_of_all_roles_that_declare_it() -> None:
    assert list_roles_chosen_by("service") == ("web", "dealership", "bookstore", "events", "webserver")
    assert list_roles_chosen_by("database") == ("database",)
    assert list_roles_chosen_by("tuning") == ()


def test_the_web_sites_write_the_files_of_their_own_workloads() -> None:
    assert get_topology("web").file_sets == tuple(FileSet)
    assert all(not topology.file_sets for topology in list_topologies() if topology.need != "web")
