"""One function starts every application: what starts in which order, what each front is configured with."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.model.choices import ServiceChoices
from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.model.service import EMBEDDED
from loadstone.model.system import Reference
from loadstone.model.tile import Role as TileRole
from loadstone.model.topology import get_topology, list_topologies
from loadstone.model.workload import ServerNeeds
from loadstone.platforms.contract import Machine
from loadstone.services import reference
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.registry import get_service_kind
from loadstone.testbed import deploy as module
from loadstone.testbed.context import open_testbed
from loadstone.testbed.deploy import DeploymentChoices, StartedApplication, deploy
from loadstone.testbed.running import Running
from loadstone.testbed.start import start_service
from loadstone.topologies import events, tile, web
from loadstone.topologies.topology import Topology
from tests.unit.testbed.recorder import RECORDED, RecordedMachine, Recorder

MACHINE = MachineSpec(platform=RECORDED)
ROWS = {"users": 5, "tags": 6, "events": 7, "orders": 8}
EMBEDDED_ONLY = [
    topology
    for topology in list_topologies()
    if "mechanism" not in topology.choices and not get_service_kind(topology.front.service, EMBEDDED).needs
]
"""Applications whose servers all come with the program."""


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No filled database is copied."""

    async def none(*_: object) -> None:
        return None

    monkeypatch.setattr(module, "copy_kept", none)


def put_up(
    folder: Path, topology: Topology, choices: DeploymentChoices, copies: int = 1, same: Mapping[str, str] | None = None
) -> StartedApplication:
    """Deploys an application on machines named as its roles, of which some are the machines of others."""

    async def play() -> StartedApplication:
        async with open_testbed(folder) as base:
            machines: dict[str, Sequence[Machine]] = {}
            for role in reversed(topology.roles):
                names = [role.name]
                if role is topology.front and copies > 1:
                    names = [f"{role.name}-{number}" for number in range(1, copies + 1)]
                if role.name not in (same or {}):
                    machines[role.name] = [await base.start_machine(name, MACHINE, (PUBLIC,)) for name in names]
            machines |= {name: machines[other] for name, other in (same or {}).items()}
            return await deploy(Running(base), topology, choices, machines)

    return asyncio.run(play())


def chosen(topology: Topology, services: ServiceChoices | None = None) -> DeploymentChoices:
    """Choices of a run with two threads."""
    system = Reference(2, services or ServiceChoices())
    return DeploymentChoices.from_system(topology, system, ServerNeeds(topology.need, 3, rows=ROWS))


def started(recorder: Recorder) -> list[str]:
    return [event.removeprefix("start ") for event in recorder.events if event.startswith("start ")]


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


@pytest.mark.parametrize("topology", EMBEDDED_ONLY, ids=lambda topology: topology.need)
def test_peers_start_before_the_front_and_data_between_them(
    topology: Topology, tmp_path: Path, recorder: Recorder
) -> None:
    deployment = put_up(tmp_path, topology, chosen(topology))
    choices = chosen(topology)
    peers = [role.name for role in topology.peers if choices.get_kind(role) is not None]
    data = [f"{topology.front.name}-data-0"] if topology.data else []
    assert started(recorder) == [*peers, *data, topology.front.name]
    assert len(deployment.targets) == 1
    assert (deployment.data is not None) == (topology.data is not None)


def test_every_copy_of_the_front_asks_the_same_peers_and_has_a_target(tmp_path: Path, recorder: Recorder) -> None:
    deployment = put_up(tmp_path, web.TOPOLOGY, chosen(web.TOPOLOGY), copies=2)
    backends = {option(recorder.commands[f"web-{number}"], "--backend") for number in (1, 2)}
    assert backends == {"127.0.0.1:4001"}
    assert len(set(deployment.targets)) == 2


def test_the_site_of_events_has_the_addresses_of_all_that_it_asks(tmp_path: Path, recorder: Recorder) -> None:
    deployment = put_up(tmp_path, events.TOPOLOGY, chosen(events.TOPOLOGY, ServiceChoices(cache="embedded")))
    app = recorder.commands["app"]
    assert option(app, "--database") == "role://127.0.0.1:4001"
    assert (option(app, "--geocoder"), option(app, "--store")) == ("127.0.0.1:4002", "127.0.0.1:4003")
    assert option(app, "--cache") == "within"
    assert "start cache" not in recorder.events
    fill = recorder.commands["app-data-0"]
    assert fill[:3] == ["loadstone-server", "events", "--only-fill"]
    assert [option(fill, f"--{name}") for name in ("users", "tags", "events")] == ["5", "6", "7"]
    assert "--orders" not in fill, "the application has no such table"
    assert deployment.data is not None
    assert deployment.data.keepers == [target.http for target in deployment.targets]


def test_without_a_cache_nobody_is_asked_to_drop_answers(tmp_path: Path, recorder: Recorder) -> None:
    deployment = put_up(tmp_path, events.TOPOLOGY, chosen(events.TOPOLOGY))
    assert deployment.data is not None and deployment.data.keepers == []
    assert "--cache" not in recorder.commands["app"]


def test_two_roles_may_share_a_machine_and_their_services_have_names_of_their_own(
    tmp_path: Path, recorder: Recorder
) -> None:
    store = replace(tile.TILE_WEB.peers[0], choice="")
    both = replace(tile.TILE_WEB, peers=(store, tile.TILE_WEB.peers[1]))
    choices = DeploymentChoices(
        {"web": "embedded", "store": "embedded", "infra": "embedded"}, dict.fromkeys(("web", "store", "infra"), 1)
    )
    put_up(tmp_path, both, choices, same={"store": "infra"})
    assert started(recorder) == ["infra", "infra-backend", "web"]
    assert option(recorder.commands["web"], "--backend") == "127.0.0.1:4002"


def test_the_dealership_fills_its_database_for_the_injection_rate(tmp_path: Path, recorder: Recorder) -> None:
    topology = get_topology("application")
    put_up(tmp_path, topology, chosen(topology))
    assert option(recorder.commands["app"], "--injection-rate") == "3"


def test_a_service_is_certified_for_the_address_of_its_machine(tmp_path: Path, recorder: Recorder) -> None:
    sites: list[Site] = []

    def program(site: Site) -> Program:
        sites.append(site)
        return Program(["server"])

    async def play() -> None:
        async with open_testbed(tmp_path) as base:
            machine = await base.start_machine("web", MACHINE, (PUBLIC,))
            kind = ServiceKind("probe", "web", program, has_tls=True)
            await start_service(Running(base), machine, kind, Site(machine.files, machine.listen))

    asyncio.run(play())
    (site,) = sites
    assert site.names == ("localhost", "127.0.0.1")
    assert (site.port, site.tls_port, site.certificates) == (0, 0, ""), "it takes free ports and certifies itself"


def test_web_sites_on_a_machine_that_comes_back_keep_their_certificate(
    tmp_path: Path, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RecordedMachine, "comes_back", True)
    monkeypatch.setattr(
        reference, "create_certificate", lambda names: {reference.AUTHORITY_FILE: f"for {' '.join(names)}"}
    )
    deployment = put_up(tmp_path, web.TOPOLOGY, chosen(web.TOPOLOGY))
    assert option(recorder.commands["web"], "--certificates").endswith("/certificates")
    assert [target.authority_pem for target in deployment.targets] == ["for localhost 127.0.0.1"]
    assert "--certificates" not in recorder.commands["backend"]


@pytest.mark.parametrize("shares_folder", [False, True])
def test_the_applications_of_a_tile_have_all_its_machines(shares_folder: bool) -> None:
    applications = tile.list_applications(shares_folder)
    placed = {machine for application in applications for machine in application.machines.values()}
    assert placed == set(TileRole)
    for application in applications:
        assert set(application.machines) == {role.name for role in application.topology.roles}
