"""What every platform promises, whatever it is made of. Checks of a platform share one machine, which the last ends."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, TypeVar, cast

import pytest

from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.machine import PUBLIC, SERVER
from loadstone.platforms import fake
from loadstone.platforms.contract import Machine, Service
from loadstone.platforms.kind import PlatformKind
from loadstone.platforms.registry import list_platform_kinds
from loadstone.services import reference
from loadstone.testbed.context import TestbedContext
from tests.contract.conftest import get, machine_of, traces
from tests.contract.shared_services import held_processes, held_testbed

pytestmark = pytest.mark.integration
T = TypeVar("T")
Json = dict[str, Any]
NOTHING: Json = {"cpu": {}, "network": {}}

ON_NETWORKS = ("container", "podman", "vm", "pair")
"""Platforms whose machines have networks of their own; the host counts their processor time."""
COUNTED_NETWORKS = ("container", "pair", "podman", "vm")
"""Platforms of which the host also counts what passes on their networks."""
SLOW = ("vm", "pair")
"""Platforms whose machines boot; their tests run beside those of the others."""


def group_of(name: str) -> str:
    """Returns which tests of platforms run in turn."""
    return f"platform-{name}" if name in SLOW else "platforms"


PLATFORMS = [
    pytest.param(
        name, marks=[pytest.mark.xdist_group(group_of(name)), *[pytest.mark.own_network] * (name in ON_NETWORKS)]
    )
    for name in ("fake", *list_platform_kinds())
]


@dataclass
class Place:
    """A machine of a platform on its testbed, and what runs them."""

    kind: PlatformKind
    base: TestbedContext
    machine: Machine
    runner: asyncio.Runner
    stack: AsyncExitStack

    def run(self, steps: Coroutine[Any, Any, T]) -> T:
        """Returns what comes of steps in the loop of the testbed."""
        return self.runner.run(steps)

    def require_guest(self) -> None:
        """libvirt's test driver makes machines that run nothing; what can be tested on them is."""
        if self.machine.facts.get("driver") == "TEST":
            pytest.skip("libvirt's test driver runs no guests; name a daemon in LOADSTONE_TEST_LIBVIRT_URI")

    @asynccontextmanager
    async def service(self, machine: Machine, role: str, command: list[str]) -> AsyncIterator[tuple[Service, int]]:
        """Runs one of our servers; yields it with its port."""
        service = await machine.start(role, command)
        try:
            http = reference.read_ready(service.first_line).http
            assert service.end() == "" and http is not None
            yield service, http.port
        finally:
            await service.stop()

    async def page(self, port: int) -> str:
        """Returns what a port of the machine answers."""
        return await asyncio.to_thread(get, await self.machine.find_endpoint(port))


@pytest.fixture(scope="module", params=PLATFORMS)
def place(
    request: pytest.FixtureRequest, runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """A machine of each platform; skipped with the platform's reason where it cannot make machines."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        # Tests alone know the fake one.
        monkeypatch.setitem(cast(dict[str, PlatformKind], list_platform_kinds()), "fake", fake.KIND)
        kind, stack = list_platform_kinds()[request.param], AsyncExitStack()
        missing = runner.run(kind.maker.explain_missing(machine_of(kind)))
        if missing:
            pytest.skip(missing)
        try:
            base = runner.run(stack.enter_async_context(held_testbed(tmp_path_factory.mktemp(kind.name))))
            yield Place(kind, base, runner.run(base.start_machine("one", machine_of(kind), (PUBLIC,))), runner, stack)
        finally:
            runner.run(stack.aclose())


@pytest.fixture(scope="module")
def other(place: Place) -> Machine:
    """A second machine of the platform."""
    return place.run(place.base.start_machine("two", machine_of(place.kind), (PUBLIC,)))


def test_a_machine_tells_its_address_and_what_it_is(place: Place) -> None:
    kind, machine = place.kind, place.machine
    assert machine.name == "one"
    assert kind.title in machine.about
    assert machine.facts.get("platform", kind.name) == kind.name
    assert set(machine.facts.get("networks", {})) == ({PUBLIC} if kind.name in ON_NETWORKS else set())
    assert machine.address == machine.facts.get("networks", {}).get(PUBLIC, "127.0.0.1")
    assert ip_address(machine.address).is_loopback == (kind.name not in ON_NETWORKS)


def backend(machine: Machine) -> list[str]:
    """Returns the command of a server that answers."""
    return reference.build_backend_command(machine.listen, 1)


def test_a_service_that_is_ready_answers_until_it_is_stopped(place: Place) -> None:
    place.require_guest()

    async def check() -> None:
        machine = place.machine
        async with place.service(machine, "backend", backend(machine)) as (service, port):
            assert await place.page(port)
            assert machine.end() == ""
            with pytest.raises(ServiceError, match="already runs on one"):
                await machine.start("backend", backend(machine))
        async with asyncio.timeout(60):
            while not service.end():
                await asyncio.sleep(0.05)
        with pytest.raises(OSError):
            await place.page(port)

    place.run(check())


def test_a_service_that_cannot_start_says_why(place: Place) -> None:
    place.require_guest()
    with pytest.raises(ServiceError, match=r"nonsense.* instead of getting ready"):
        place.run(place.machine.start("odd", [SERVER, "nonsense"]))


def test_a_program_that_is_not_there_is_a_clear_error(place: Place) -> None:
    place.require_guest()
    with pytest.raises(ServiceError, match="no-such-program"):
        place.run(place.machine.start("absent", ["/no-such-program"]))


def test_a_name_is_given_once(place: Place) -> None:
    with pytest.raises(PlatformError, match="A machine `one` already"):
        place.run(place.base.start_machine("one", machine_of(place.kind), (PUBLIC,)))


def test_what_the_host_counts_only_grows(place: Place) -> None:
    place.require_guest()

    async def check() -> tuple[Json | None, Json | None]:
        machine = place.machine
        async with place.service(machine, "counted", backend(machine)) as (_, port):
            before = await machine.read_outside()
            for _ in range(20):
                await place.page(port)
            return before, await machine.read_outside()

    before, after = place.run(check())
    assert (before is not None, after is not None) == (place.kind.name in ON_NETWORKS,) * 2
    networks = {PUBLIC} if place.kind.name in COUNTED_NETWORKS else set()
    before, after = before or NOTHING, after or NOTHING
    assert sum(after["cpu"].values()) >= sum(before["cpu"].values())
    assert {name for name, line in after["network"].items() if line["bytes_sent"] > 0} == networks
    assert all(after["network"][name]["bytes_sent"] > before["network"][name]["bytes_sent"] for name in networks)


def test_one_place_reaches_another(place: Place, other: Machine) -> None:
    place.require_guest()

    async def check() -> None:
        machine = place.machine
        async with place.service(other, "backend", backend(other)) as (_, port):
            way = await machine.find_route(other, port)
            assert way
            command = reference.build_web_command(machine.listen, str(way), 1, [machine.address])
            async with place.service(machine, "web", command) as (_, port):
                assert await place.page(port)

    place.run(check())


def test_an_error_inside_takes_everything_down(place: Place) -> None:
    journal, processes = place.base.local.journal.name, held_processes()

    async def fail() -> None:
        async with place.stack:
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        place.run(fail())
    left = traces()
    assert not left["processes"] & processes
    assert not [name for names in left.values() for name in names if journal in name]
