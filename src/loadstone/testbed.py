"""Composing machines and services into a system under test: up, ready, down."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.measure.station import Meter
from loadstone.model.errors import ServiceError
from loadstone.model.system import Clock, Reference, Station, System
from loadstone.model.target import Target
from loadstone.platforms.process import child
from loadstone.services import reference, station


@dataclass(frozen=True)
class Testbed:
    """A system under test that is up."""

    __test__ = False  # its name begins like a test's

    target: Target
    about: str
    pids: dict[str, int]
    """Process ids by role, for the monitors; empty when the system is not ours to watch."""
    dead: Callable[[], str] = lambda: ""
    """Says which part of the system has died; empty while all is well."""
    meters: dict[str, Meter] = field(default_factory=dict)
    """Services that say themselves how busy they are, by role."""
    rehearsed: Station | None = None
    """The station that only exists in virtual time."""


def testbed_of(system: System, clock: Clock, logs: Path) -> AbstractAsyncContextManager[Testbed]:
    """Puts a system up; it is down when the block ends."""
    match system:
        case Target():
            return external_testbed(system)
        case Station() if clock is Clock.VIRTUAL:
            return rehearsed_testbed(system)
        case Station():
            return station_testbed(system, logs)
        case Reference():
            return reference_testbed(logs, system.threads, system.cores)


testbed_of.__test__ = False  # type: ignore[attr-defined]


@asynccontextmanager
async def reference_testbed(logs: Path, threads: int, cores: int | None = None) -> AsyncIterator[Testbed]:
    """The reference web server and its back-end simulator as processes on loopback."""
    async with AsyncExitStack() as stack:
        backend = await stack.enter_async_context(child(reference.backend_command(1), logs / "backend.log"))
        backend_at = reference.read_ready(backend.first_line).http
        if backend_at is None:
            raise ServiceError("The back-end simulator does not say where it answers.")
        command = reference.web_command(backend_at, threads)
        web = await stack.enter_async_context(child(command, logs / "web.log", cores))
        ready = reference.read_ready(web.first_line)
        where = f", {cores} cores" if cores else ""
        about = f"reference server, {threads} threads{where}, with its back-end simulator, as processes on this machine"
        pids = {"web": web.pid, "backend": backend.pid}

        def dead() -> str:
            services = {"web": web, "backend": backend}
            gone = [f"{role} ({child.end()})" for role, child in services.items() if child.end()]
            return ", ".join(gone)

        yield Testbed(Target(ready.http, ready.https, ready.authority_pem), about, pids, dead)


@asynccontextmanager
async def station_testbed(layout: Station, logs: Path) -> AsyncIterator[Testbed]:
    """A station as a process on loopback. Its threads only wait, so one is enough."""
    async with child(station.command(layout, 1), logs / "station.log") as process:
        ready = reference.read_ready(process.first_line)
        if ready.http is None:
            raise ServiceError("The station does not say where it answers.")
        meter = Meter(ready.http, station.USAGE)
        about = f"{layout}, as a process on this machine"
        target = Target(ready.http, None)
        yield Testbed(target, about, {"station": process.pid}, process.end, {"station": meter})


@asynccontextmanager
async def rehearsed_testbed(layout: Station) -> AsyncIterator[Testbed]:
    """A station in virtual time: there is nothing to start."""
    yield Testbed(Target(None, None), f"{layout}, in virtual time", {}, rehearsed=layout)


@asynccontextmanager
async def external_testbed(target: Target) -> AsyncIterator[Testbed]:
    """A system someone else set up."""
    sides = [f"{scheme}://{side}" for scheme, side in (("http", target.http), ("https", target.https)) if side]
    yield Testbed(target, f"{' and '.join(sides)}, set up by others", {})
