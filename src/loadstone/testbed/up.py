"""Composing machines and services into a system under test: up, ready, down."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.measure.station import Meter
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.machine import PLAIN, PRIVATE, PUBLIC, Placement
from loadstone.model.system import Clock, Reference, Station, System
from loadstone.model.target import Target
from loadstone.platforms.contract import Place, Service
from loadstone.platforms.process import Child
from loadstone.services import reference, station
from loadstone.testbed.ground import LOOPBACK, Ground, alike, ground, is_bridged, networks_beside

Json = dict[str, Any]


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


testbed_of.__test__ = False  # type: ignore[attr-defined]


@dataclass
class Running:
    """What runs where, while a testbed is put up."""

    base: Ground
    services: dict[str, Service] = field(default_factory=dict)
    pids: dict[str, int] = field(default_factory=dict)

    async def start(self, place: Place, role: str, command: list[str]) -> reference.Ready:
        """Starts a service; returns where it says that it answers."""
        service = await place.start(role, command)
        self.services[role] = service
        self.pids[role] = service.process.pid if isinstance(service, Child) else place.pid
        return reference.read_ready(service.first_line)

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
        listen = await base.host_on(PUBLIC) if is_bridged(placement.machine) else LOOPBACK
        backend = await base.place("backend", placement.backend, (PRIVATE,), listen)
        said = await running.start(backend, "backend", reference.backend_command(backend.listen, 1))
        if said.http is None:
            raise ServiceError("The back-end simulator does not say where it answers.")
        targets = []
        for web in webs:
            asked = await web.way_to(backend, said.http.port)
            if asked is None:
                remedy = "Put both on bridges: `network=bridge`, as root."
                raise PlatformError(f"{web.name} does not reach {backend.name}. {remedy}")
            command = reference.web_command(web.listen, asked, threads, ["localhost", web.address])
            targets.append(await _target(web, await running.start(web, web.name, command)))
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
            target = await _target(place, await running.start(place, name, station.command(layout, place.listen, 1)))
            if target.http is None:
                raise ServiceError("The station does not say where it answers.")
            targets.append(target)
            meters[name] = Meter(target.http, station.USAGE)
        about = f"{layout}, on {placement.machine}"
        yield Testbed(tuple(targets), about, running.pids, running.dead, meters, base.places)


@asynccontextmanager
async def rehearsed_testbed(layout: Station) -> AsyncIterator[Testbed]:
    """A station in virtual time: there is nothing to start."""
    yield Testbed((), f"{layout}, in virtual time", rehearsed=layout)


@asynccontextmanager
async def external_testbed(target: Target) -> AsyncIterator[Testbed]:
    """A system someone else set up."""
    sides = [f"{scheme}://{side}" for scheme, side in (("http", target.http), ("https", target.https)) if side]
    yield Testbed((target,), f"{' and '.join(sides)}, set up by others")
