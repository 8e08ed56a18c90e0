"""Every real service in a container, with its usual port on a network of its own, as on this host: up, asked, gone."""

import asyncio
from pathlib import Path

import pytest

from loadstone.host.http import first_line
from loadstone.model.choices import ServiceChoices
from loadstone.model.machine import PUBLIC
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.system import Reference
from loadstone.platforms.registry import platform_kind, read_machine
from loadstone.services.kind import ServiceKind, Site
from loadstone.services.registry import service_kinds
from loadstone.testbed import roles
from loadstone.testbed.context import open_testbed
from loadstone.testbed.running import Running
from tests.contract.shared_services import first_reading

pytestmark = [pytest.mark.integration, pytest.mark.own_network]
ROLES = (ServiceRole.WEBSERVER, ServiceRole.DATABASE, ServiceRole.CACHE, ServiceRole.MAIL)
REAL = [kind for role in ROLES for name, kind in service_kinds(role).items() if name != EMBEDDED]
SAID = {"memcached": b"VERSION", "redis": b"+PONG", "dovecot": b"* OK"}
"""How the answer begins of what does not speak HTTP."""


@pytest.mark.slow("Java and databases start with a cold cache")
@pytest.mark.parametrize("kind", REAL, ids=lambda kind: kind.name)
def test_it_runs_in_a_container(kind: ServiceKind, tmp_path: Path) -> None:
    spec = read_machine("platform=container")
    missing = asyncio.run(platform_kind("container").maker.missing(spec))
    if missing:
        pytest.skip(missing)

    async def visited() -> None:
        async with open_testbed(tmp_path) as base:
            running = Running(base)
            machine = await base.machine("one", spec, (PUBLIC,))
            match kind.role:
                case ServiceRole.WEBSERVER:
                    mechanism, system = next(iter(kind.mechanisms)), Reference(1, ServiceChoices(service=kind.name))
                    target = await roles.web_server(running, machine, kind, mechanism, system, 1)
                    assert target.http is not None
                    assert (await first_line(target.http)).startswith(b"HTTP/1.1 ")
                case ServiceRole.DATABASE:
                    await roles.database(running, machine, kind.name, 1)
                    (meter,) = running.status.values()
                    _, figures = await first_reading(meter)
                    assert figures.now["connections"] >= 1
                case ServiceRole.CACHE:
                    at = await machine.reach(await roles.cache(running, machine, kind.name, 1))
                    words = kind.program(Site("", "", 0, 1)).first_words
                    assert (await first_line(at, words)).startswith(SAID[kind.name])
                case _:
                    at = (await roles.mail(running, machine, kind.name, 1)).http
                    assert at is not None
                    assert (await first_line(at)).startswith(SAID[kind.name])
            assert any(letter.isdigit() for letter in str(machine.facts["software"])), machine.facts

    asyncio.run(visited())
