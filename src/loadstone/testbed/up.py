"""Composing machines and services into a system under test: up, ready, down."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.measure.station import Meter
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.machine import PLAIN, PRIVATE, PUBLIC, Placement
from loadstone.model.system import Clock, FileServer, Reference, Station, System
from loadstone.model.target import Endpoint, Target
from loadstone.platforms.contract import Greeting, Place, Service
from loadstone.platforms.sockets import free_port, status
from loadstone.services import nginx, reference, station
from loadstone.testbed.ground import LOOPBACK, Ground, alike, ground, networks_beside

Json = dict[str, Any]

FILES_S = 1800.0
"""Longest time for writing a workload's files."""
ANSWER_S = 30.0
"""Longest time a server that says nothing may take to answer."""
LOOK_S, PAUSE_S = 2.0, 0.05
"""Longest wait for one answer, and between two questions."""


@dataclass(frozen=True)
class Testbed:
    """A system under test that is up."""

    __test__ = False  # its name begins like a test's

    targets: tuple[Target, ...]
    """Where its machines answer; users are dealt to them in turn."""
    about: str
    pids: dict[str, int] = field(default_factory=dict)
    """Process ids by role, for the monitors; empty when the system is not ours to watch."""
    dead: Callable[[], str] = lambda: ""
    """Says which part of the system has died; empty while all is well."""
    meters: dict[str, Meter] = field(default_factory=dict)
    """Services that say themselves how busy they are, by role."""
    places: Mapping[str, Place] = field(default_factory=dict)
    """Its machines by name."""
    rehearsed: Station | None = None
    """The station that only exists in virtual time."""

    def machines(self) -> dict[str, Json]:
        """What its machines are made of, for the disclosure."""
        return {name: {"about": place.about, **place.facts} for name, place in self.places.items()}


def testbed_of(
    system: System, clock: Clock, logs: Path, placement: Placement = PLAIN
) -> AbstractAsyncContextManager[Testbed]:
    """Puts a system up; it is down when the block ends."""
    match system:
        case Target():
            return external_testbed(system)
        case Station() if clock is Clock.VIRTUAL:
            return rehearsed_testbed(system)
        case Station():
            return station_testbed(system, logs, placement)
        case Reference():
            return reference_testbed(logs, system.threads, placement)
        case FileServer():
            return file_testbed(system, logs, placement)


testbed_of.__test__ = False  # type: ignore[attr-defined]


@dataclass
class Running:
    """What runs where, while a testbed is put up."""

    base: Ground
    services: dict[str, Service] = field(default_factory=dict)
    pids: dict[str, int] = field(default_factory=dict)

    async def start(self, place: Place, role: str, command: list[str], greeting: Greeting = Greeting.LINE) -> Service:
        """Starts a service that is to run as long as the testbed."""
        service = self.services[role] = await place.start(role, command, greeting)
        self.pids[role] = service.pid or place.pid
        return service

    async def ready(self, place: Place, role: str, command: list[str]) -> reference.Ready:
        """Starts one of our servers; returns where it says that it answers."""
        return reference.read_ready((await self.start(place, role, command)).first_line)

    def dead(self) -> str:
        """Which services and machines have ended, and how."""
        ends = [(name, service.end()) for name, service in self.services.items()]
        ends += [(name, place.end()) for name, place in self.base.places.items()]
        return ", ".join(f"{name} ({how})" for name, how in ends if how)


@asynccontextmanager
async def reference_testbed(logs: Path, threads: int, placement: Placement = PLAIN) -> AsyncIterator[Testbed]:
    """The reference web server on its machines, with one back-end simulator for all of them."""
    async with ground(logs) as base:
        running = Running(base)
        webs = [
            await base.place(name, machine, networks_beside(placement.backend))
            for name, machine in alike(placement.machine, "web")
        ]
        listen = base.hosts[0] if base.hosts else LOOPBACK
        backend = await base.place("backend", placement.backend, (PRIVATE,), listen)
        said = await running.ready(backend, "backend", reference.backend_command(backend.listen, 1))
        if said.http is None:
            raise ServiceError("The back-end simulator does not say where it answers.")
        targets = []
        for web in webs:
            asked = await web.way_to(backend, said.http.port)
            if asked is None:
                remedy = "Put both on bridges: `network=bridge`, as root."
                raise PlatformError(f"{web.name} does not reach {backend.name}. {remedy}")
            command = reference.web_command(web.listen, asked, threads, ["localhost", web.address])
            targets.append(await _target(web, await running.ready(web, web.name, command)))
        about = (
            f"reference server, {threads} threads, on {placement.machine}; back-end simulator on {placement.backend}"
        )
        yield Testbed(tuple(targets), about, running.pids, running.dead, places=base.places)


async def _target(place: Place, ready: reference.Ready) -> Target:
    sides = [None if side is None else await place.reach(side.port) for side in (ready.http, ready.https)]
    return Target(sides[0], sides[1], ready.authority_pem)


@asynccontextmanager
async def station_testbed(layout: Station, logs: Path, placement: Placement = PLAIN) -> AsyncIterator[Testbed]:
    """A station on each of its machines. Its threads only wait, so one is enough."""
    async with ground(logs) as base:
        running, targets, meters = Running(base), [], {}
        for name, machine in alike(placement.machine, "station"):
            place = await base.place(name, machine, (PUBLIC,))
            target = await _target(place, await running.ready(place, name, station.command(layout, place.listen, 1)))
            if target.http is None:
                raise ServiceError("The station does not say where it answers.")
            targets.append(target)
            meters[name] = Meter(target.http, station.USAGE)
        about = f"{layout}, on {placement.machine}"
        yield Testbed(tuple(targets), about, running.pids, running.dead, meters, base.places)


@asynccontextmanager
async def file_testbed(layout: FileServer, logs: Path, placement: Placement = PLAIN) -> AsyncIterator[Testbed]:
    """A stock nginx on each of its machines, with a workload's files written there first."""
    async with ground(logs) as base:
        running, targets = Running(base), []
        for name, machine in alike(placement.machine, "web"):
            place = await base.place(name, machine, (PUBLIC,))
            port = free_port() if place.listen == LOOPBACK else nginx.PORT
            server = nginx.Nginx(place.files, place.listen, port, layout.workers)
            writing = nginx.fileset_command(layout.files, layout.sessions, server.site)
            await done(await place.start(f"{name}-files", writing, Greeting.NONE))
            await place.write(nginx.CONFIGURATION, server.text())
            service = await running.start(place, name, server.command, Greeting.NONE)
            target = await place.reach(port)
            await answers(target, service)
            targets.append(Target(target, None))
        yield Testbed(
            tuple(targets), f"{layout}, on {placement.machine}", running.pids, running.dead, places=base.places
        )


async def done(service: Service) -> None:
    """Waits until a program has done its work; raises ServiceError when it failed, or takes too long."""
    until = asyncio.get_running_loop().time() + FILES_S
    while not service.end():
        if asyncio.get_running_loop().time() > until:
            raise ServiceError(f"The files were not written within {FILES_S:g} s.")
        await asyncio.sleep(PAUSE_S)
    if not service.end().startswith("code 0"):
        raise ServiceError(f"The files could not be written: {service.end()}")


async def answers(at: Endpoint, service: Service) -> None:
    """Waits until a service that does not say when it is ready answers over HTTP; raises ServiceError."""
    until = asyncio.get_running_loop().time() + ANSWER_S
    while asyncio.get_running_loop().time() < until:
        with contextlib.suppress(OSError, TimeoutError):
            if await asyncio.wait_for(status(at), LOOK_S):
                return
        if service.end():
            raise ServiceError(f"The server at {at} ended instead of getting ready: {service.end()}")
        await asyncio.sleep(PAUSE_S)
    raise ServiceError(f"The server at {at} did not answer within {ANSWER_S:g} s.")


@asynccontextmanager
async def rehearsed_testbed(layout: Station) -> AsyncIterator[Testbed]:
    """A station in virtual time: there is nothing to start."""
    yield Testbed((), f"{layout}, in virtual time", rehearsed=layout)


@asynccontextmanager
async def external_testbed(target: Target) -> AsyncIterator[Testbed]:
    """A system someone else set up."""
    sides = [f"{scheme}://{side}" for scheme, side in (("http", target.http), ("https", target.https)) if side]
    yield Testbed((target,), f"{' and '.join(sides)}, set up by others")
