"""Every real service in a container, with its usual port on a network of its own, as on this host: up, asked, gone."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.host.http import read_first_line
from loadstone.model.machine import PUBLIC
from loadstone.model.service import EMBEDDED, Mechanism, ServiceRole
from loadstone.platforms.registry import get_platform_kind, read_machine
from loadstone.services.kind import ServiceKind, Site
from loadstone.services.registry import list_service_kinds
from loadstone.testbed.context import open_testbed
from loadstone.testbed.running import Running
from loadstone.testbed.start import build_site_on, start_service
from tests.contract.shared_services import first_reading

pytestmark = [pytest.mark.integration, pytest.mark.own_network]
ROLES = (ServiceRole.WEBSERVER, ServiceRole.DATABASE, ServiceRole.CACHE, ServiceRole.MAIL)
REAL = [kind for role in ROLES for name, kind in list_service_kinds(role).items() if name != EMBEDDED]
SAID = {"memcached": b"VERSION", "redis": b"+PONG", "dovecot": b"* OK"}
"""How the answer begins of what does not speak HTTP."""


@pytest.mark.slow("Java and databases start with a cold cache")
@pytest.mark.parametrize("kind", REAL, ids=lambda kind: kind.name)
def test_it_runs_in_a_container(kind: ServiceKind, tmp_path: Path) -> None:
    spec = read_machine("platform=container")
    missing = asyncio.run(get_platform_kind("container").maker.explain_missing(spec))
    if missing:
        pytest.skip(missing)

    async def visited() -> None:
        async with open_testbed(tmp_path) as base:
            running = Running(base)
            machine = await base.start_machine("one", spec, (PUBLIC,))
            mechanism = next(iter(kind.mechanisms), Mechanism.STATIC)
            started = await start_service(running, machine, kind, replace(build_site_on(machine), mechanism=mechanism))
            match kind.role:
                case ServiceRole.WEBSERVER:
                    assert (await read_first_line(started.http)).startswith(b"HTTP/1.1 ")
                case ServiceRole.DATABASE:
                    (meter,) = running.status.values()
                    _, figures = await first_reading(meter)
                    assert figures.now["connections"] >= 1
                case _:
                    words = kind.program(Site("", "")).first_words
                    assert (await read_first_line(started.http, words)).startswith(SAID[kind.name])
            assert any(letter.isdigit() for letter in str(machine.facts["software"])), machine.facts

    asyncio.run(visited())
