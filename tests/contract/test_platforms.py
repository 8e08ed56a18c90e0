"""What every platform promises, whatever it is made of."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.machine import PUBLIC, SERVER
from loadstone.platforms.contract import Place
from loadstone.platforms.kind import PlatformKind
from loadstone.services import reference
from loadstone.testbed.ground import TestbedContext, ground
from tests.contract.conftest import get, machine_of

pytestmark = pytest.mark.integration


def on(platform: PlatformKind, folder: Path, what: Callable[[TestbedContext, Place], Awaitable[None]]) -> None:
    """Puts a place up, does something with it, and takes it down."""

    async def play() -> None:
        async with up(platform, folder) as (base, place):
            await what(base, place)

    asyncio.run(play())


@asynccontextmanager
async def up(platform: PlatformKind, folder: Path) -> AsyncIterator[tuple[TestbedContext, Place]]:
    async with ground(folder) as base:
        place = await base.place("one", machine_of(platform), (PUBLIC,))
        yield base, place


def require_guest(place: Place) -> None:
    """libvirt's test driver makes machines that run nothing; what can be tested on them is."""
    if place.facts.get("driver") == "TEST":
        pytest.skip("libvirt's test driver runs no guests; name a daemon in LOADSTONE_TEST_LIBVIRT_URI")


async def backend(place: Place, role: str = "backend") -> reference.Ready:
    require_guest(place)
    service = await place.start(role, reference.backend_command(place.listen, 1))
    assert service.end() == ""
    return reference.read_ready(service.first_line)


def test_a_service_that_is_ready_answers(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, place: Place) -> None:
        ready = await backend(place)
        assert ready.http
        assert await asyncio.to_thread(get, await place.reach(ready.http.port))
        assert place.end() == ""

    on(platform, tmp_path, check)


def test_a_service_that_cannot_start_says_why(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, place: Place) -> None:
        require_guest(place)
        with pytest.raises(ServiceError, match=r"nonsense.* instead of getting ready"):
            await place.start("odd", [SERVER, "nonsense"])

    on(platform, tmp_path, check)


def test_a_program_that_is_not_there_is_a_clear_error(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, place: Place) -> None:
        require_guest(place)
        with pytest.raises(ServiceError, match="no-such-program"):
            await place.start("odd", ["/no-such-program"])

    on(platform, tmp_path, check)


def test_a_role_runs_once_on_a_place(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, place: Place) -> None:
        await backend(place)
        with pytest.raises(ServiceError, match="runs on one already"):
            await backend(place)

    on(platform, tmp_path, check)


def test_a_name_is_given_once(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, place: Place) -> None:
        with pytest.raises(PlatformError, match="a machine `one` already"):
            await base.place("one", machine_of(platform), (PUBLIC,))

    on(platform, tmp_path, check)


def test_a_service_that_was_stopped_has_ended(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, place: Place) -> None:
        require_guest(place)
        service = await place.start("backend", reference.backend_command(place.listen, 1))
        await service.stop()
        for _ in range(50):
            if service.end():
                break
            await asyncio.sleep(0.1)
        assert service.end()

    on(platform, tmp_path, check)


def test_one_place_reaches_another(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, place: Place) -> None:
        other = await base.place("two", machine_of(platform), (PUBLIC,))
        ready = await backend(other)
        assert ready.http
        way = await place.way_to(other, ready.http.port)
        assert way
        service = await place.start("web", reference.web_command(place.listen, way, 1, [place.address]))
        web = reference.read_ready(service.first_line)
        assert web.http
        assert await asyncio.to_thread(get, await place.reach(web.http.port))

    on(platform, tmp_path, check)


def test_what_the_host_counts_only_grows(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, place: Place) -> None:
        ready = await backend(place)
        assert ready.http
        before = await place.outside()
        for _ in range(20):
            await asyncio.to_thread(get, await place.reach(ready.http.port))
        after = await place.outside()
        assert (before is None) == (after is None)
        if before and after:
            assert sum(after["cpu"].values()) >= sum(before["cpu"].values())
            for name, counted in after["network"].items():
                assert counted["bytes_sent"] > before["network"][name]["bytes_sent"]

    on(platform, tmp_path, check)


def test_a_place_tells_its_address_and_what_it_is(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, place: Place) -> None:
        assert place.about
        assert place.address
        assert replace(base.places["one"].site).name == place.name  # type: ignore[attr-defined]

    on(platform, tmp_path, check)


def test_an_error_inside_takes_everything_down(platform: PlatformKind, tmp_path: Path) -> None:
    async def check(base: TestbedContext, place: Place) -> None:
        await backend(place)
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        on(platform, tmp_path, check)
