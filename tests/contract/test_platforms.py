"""What every platform promises, whatever it is made of."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.machine import PUBLIC, SERVER
from loadstone.platforms.contract import Machine
from loadstone.platforms.kind import PlatformKind
from loadstone.services import reference
from loadstone.testbed.context import TestbedContext, open_testbed
from tests.contract.conftest import get, machine_of

pytestmark = pytest.mark.integration


def on(platform: PlatformKind, folder: Path, what: Callable[[TestbedContext, Machine], Awaitable[None]]) -> None:
    """Puts a machine up, does something with it, and takes it down."""

    async def play() -> None:
        async with up(platform, folder) as (base, machine):
            await what(base, machine)

    asyncio.run(play())


@asynccontextmanager
async def up(platform: PlatformKind, folder: Path) -> AsyncIterator[tuple[TestbedContext, Machine]]:
    async with open_testbed(folder) as base:
        machine = await base.machine("one", machine_of(platform), (PUBLIC,))
        yield base, machine


def require_guest(machine: Machine) -> None:
    """libvirt's test driver makes machines that run nothing; what can be tested on them is."""
    if machine.facts.get("driver") == "TEST":
        pytest.skip("libvirt's test driver runs no guests; name a daemon in LOADSTONE_TEST_LIBVIRT_URI")


async def backend(machine: Machine, role: str = "backend") -> reference.Ready:
    require_guest(machine)
    service = await machine.start(role, reference.backend_command(machine.listen, 1))
    assert service.end() == ""
    return reference.read_ready(service.first_line)


def test_a_service_that_is_ready_answers(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, machine: Machine) -> None:
        ready = await backend(machine)
        assert ready.http
        assert await asyncio.to_thread(get, await machine.reach(ready.http.port))
        assert machine.end() == ""

    on(platform, tmp_path, check)


def test_a_service_that_cannot_start_says_why(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, machine: Machine) -> None:
        require_guest(machine)
        with pytest.raises(ServiceError, match=r"nonsense.* instead of getting ready"):
            await machine.start("odd", [SERVER, "nonsense"])

    on(platform, tmp_path, check)


def test_a_program_that_is_not_there_is_a_clear_error(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, machine: Machine) -> None:
        require_guest(machine)
        with pytest.raises(ServiceError, match="no-such-program"):
            await machine.start("odd", ["/no-such-program"])

    on(platform, tmp_path, check)


def test_a_role_runs_once_on_a_place(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, machine: Machine) -> None:
        await backend(machine)
        with pytest.raises(ServiceError, match="runs on one already"):
            await backend(machine)

    on(platform, tmp_path, check)


def test_a_name_is_given_once(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, machine: Machine) -> None:
        with pytest.raises(PlatformError, match="a machine `one` already"):
            await base.machine("one", machine_of(platform), (PUBLIC,))

    on(platform, tmp_path, check)


def test_a_service_that_was_stopped_has_ended(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, machine: Machine) -> None:
        require_guest(machine)
        service = await machine.start("backend", reference.backend_command(machine.listen, 1))
        await service.stop()
        for _ in range(50):
            if service.end():
                break
            await asyncio.sleep(0.1)
        assert service.end()

    on(platform, tmp_path, check)


def test_one_place_reaches_another(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, machine: Machine) -> None:
        other = await base.machine("two", machine_of(platform), (PUBLIC,))
        ready = await backend(other)
        assert ready.http
        way = await machine.way_to(other, ready.http.port)
        assert way
        service = await machine.start("web", reference.web_command(machine.listen, way, 1, [machine.address]))
        web = reference.read_ready(service.first_line)
        assert web.http
        assert await asyncio.to_thread(get, await machine.reach(web.http.port))

    on(platform, tmp_path, check)


def test_what_the_host_counts_only_grows(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, machine: Machine) -> None:
        ready = await backend(machine)
        assert ready.http
        before = await machine.outside()
        for _ in range(20):
            await asyncio.to_thread(get, await machine.reach(ready.http.port))
        after = await machine.outside()
        assert (before is None) == (after is None)
        if before and after:
            assert sum(after["cpu"].values()) >= sum(before["cpu"].values())
            for name, counted in after["network"].items():
                assert counted["bytes_sent"] > before["network"][name]["bytes_sent"]

    on(platform, tmp_path, check)


def test_a_machine_tells_its_address_and_what_it_is(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, machine: Machine) -> None:
        assert machine.about
        assert machine.address
        assert replace(base.machines["one"].context).name == machine.name  # type: ignore[attr-defined]

    on(platform, tmp_path, check)


def test_an_error_inside_takes_everything_down(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, machine: Machine) -> None:
        await backend(machine)
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        on(platform, tmp_path, check)
