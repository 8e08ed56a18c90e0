"""How each role of a system is put on its place, alone or with the others: one function a role."""

from collections.abc import Callable

from loadstone.host.http import free_port
from loadstone.host.process import Readiness
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.target import Endpoint, Target
from loadstone.platforms.contract import Place
from loadstone.services import reference
from loadstone.services.kind import Program, ServiceRole, ServiceSite
from loadstone.services.registry import service_kind
from loadstone.testbed.ground import LOOPBACK
from loadstone.testbed.running import Running, answers, done, target_of


async def infra(running: Running, place: Place, threads: int) -> int:
    """Back-end simulator and file store; returns their port."""
    return await _said_port(running, place, place.name, reference.plain_command("infra", place.listen, threads))


async def web(running: Running, place: Place, behind: Place, port: int, threads: int, stores: bool) -> Target:
    """The web sites, which ask the back end on another place; downloads come from there too where it `stores` them."""
    asked = await way(place, behind, port)
    store = asked if stores else None
    command = reference.web_command(place.listen, asked, threads, ["localhost", place.address], store)
    return await target_of(place, await running.ready(place, place.name, command))


async def database(running: Running, place: Place, name: str, threads: int) -> int:
    """The application's database by the service of that name; returns its port."""
    return await _chosen(running, place, ServiceRole.DATABASE, name, threads)


async def app(running: Running, place: Place, behind: Place, port: int, name: str, rate: int, threads: int) -> Target:
    """The dealership, whose database, by the service of that name, is on another place."""
    url = service_kind(ServiceRole.DATABASE, name).url(await way(place, behind, port))
    command = reference.dealership_command(place.listen, url, rate, threads)
    return await target_of(place, await running.ready(place, place.name, command))


async def mail(running: Running, place: Place, name: str, threads: int) -> Target:
    """The mail store by the service of that name, empty: who sends the load fills it."""
    return Target(await place.reach(await _chosen(running, place, ServiceRole.MAIL, name, threads)), None)


async def heartbeat(running: Running, place: Place, name: str) -> Target:
    """The idle server, which answers nothing but heartbeats."""
    port = await _said_port(running, place, name, reference.plain_command("idle", place.listen, 1))
    return Target(await place.reach(port), None)


async def way(place: Place, peer: Place, port: int) -> Endpoint:
    """Where a place reaches a port of another; raises PlatformError when it cannot."""
    found = await place.way_to(peer, port)
    if found is None:
        remedy = "Put both on bridges: `network=bridge`, as root."
        raise PlatformError(f"{place.name} does not reach {peer.name}. {remedy}")
    return found


async def _chosen(running: Running, place: Place, role: ServiceRole, name: str, threads: int) -> int:
    """Puts a role's service up; returns its port."""
    kind = service_kind(role, name)
    if kind.port is not None:
        return await put(running, place, kind.program, kind.port, threads, f"The {role}")
    program = kind.program(ServiceSite(place.files, place.listen, 0, threads))
    await _write(place, program)
    return await _said_port(running, place, place.name, program.command)


async def put(
    running: Running, place: Place, program_at: Callable[[ServiceSite], Program], port: int, threads: int, what: str
) -> int:
    """Puts a service up that listens where it is told, at its usual port on a machine of its own; returns the port.
    Raises ServiceError when it cannot be prepared, or does not answer.
    """
    port = free_port() if place.listen == LOOPBACK else port
    program = program_at(ServiceSite(place.files, place.listen, port, threads))
    if program.prepare:
        await done(await place.start(f"{place.name}-prepare", program.prepare, Readiness.NONE), what)
    await _write(place, program)
    service = await running.start(place, place.name, program.command, Readiness.NONE)
    if program.wait:
        await done(await place.start(f"{place.name}-ready", program.wait, Readiness.NONE), what)
    else:
        await answers(await place.reach(port), service)
    return port


async def _write(place: Place, program: Program) -> None:
    for name, text in program.files.items():
        await place.write(name, text)


async def _said_port(running: Running, place: Place, name: str, command: list[str]) -> int:
    """Starts one of our servers; returns the port that it says it took."""
    ready = await running.ready(place, name, command)
    if ready.http is None:
        raise ServiceError(f"{name} does not say where it answers.")
    return ready.http.port
