"""How each role of a tile is put on its place, alone or with the others: one function a role."""

from loadstone.host.http import free_port
from loadstone.host.process import Readiness
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.software import DatabaseKind, MailKind
from loadstone.model.target import Endpoint, Target
from loadstone.platforms.contract import Place
from loadstone.services import postgresql, reference
from loadstone.services.dovecot import CONFIGURATION, Dovecot
from loadstone.services.dovecot import PORT as DOVECOT_PORT
from loadstone.services.postgresql import Postgresql
from loadstone.testbed.ground import LOOPBACK
from loadstone.testbed.running import Running, answers, done, target_of


async def infra(running: Running, place: Place, threads: int) -> int:
    """Back-end simulator and file store; returns their port."""
    return await _plain(running, place, place.name, "infra", threads)


async def web(running: Running, place: Place, behind: Place, port: int, threads: int, stores: bool) -> Target:
    """The web sites, which ask the back end on another place; downloads come from there too where it `stores` them."""
    asked = await way(place, behind, port)
    store = asked if stores else None
    command = reference.web_command(place.listen, asked, threads, ["localhost", place.address], store)
    return await target_of(place, await running.ready(place, place.name, command))


async def database(running: Running, place: Place, kind: DatabaseKind, threads: int) -> int:
    """The application's database; returns its port."""
    if kind is DatabaseKind.EMBEDDED:
        file = f"{place.files}/dealership.db"
        await place.write("database.txt", "The dealership's database is beside this file.\n")  # makes the folder
        return await _plain(running, place, place.name, "database", threads, "--file", file)
    port = _port(place, postgresql.PORT)
    server = Postgresql(place.files, place.listen, port)
    await done(await place.start(f"{place.name}-prepare", server.preparing, Readiness.NONE), "The database")
    await running.start(place, place.name, server.command, Readiness.NONE)
    await done(await place.start(f"{place.name}-ready", server.waiting, Readiness.NONE), "The database")
    return port


async def app(
    running: Running, place: Place, behind: Place, port: int, kind: DatabaseKind, rate: int, threads: int
) -> Target:
    """The dealership, whose database is on another place."""
    asked = await way(place, behind, port)
    where = postgresql.url(asked.host, asked.port) if kind is DatabaseKind.POSTGRESQL else f"role://{asked}"
    command = reference.dealership_command(place.listen, where, rate, threads)
    return await target_of(place, await running.ready(place, place.name, command))


async def mail(running: Running, place: Place, kind: MailKind, threads: int) -> Target:
    """The mail store, empty: who sends the load fills it."""
    if kind is MailKind.EMBEDDED:
        port = await _plain(running, place, place.name, "mail", threads, "--folder", f"{place.files}/mail")
        return Target(await place.reach(port), None)
    port = _port(place, DOVECOT_PORT)
    server = Dovecot(place.files, place.listen, port)
    await place.write(CONFIGURATION, server.text())
    service = await running.start(place, place.name, server.command, Readiness.NONE)
    target = await place.reach(port)
    await answers(target, service)
    return Target(target, None)


async def heartbeat(running: Running, place: Place, name: str) -> Target:
    """What answers heartbeats."""
    port = await _plain(running, place, name, "idle", 1)
    return Target(await place.reach(port), None)


async def way(place: Place, peer: Place, port: int) -> Endpoint:
    """Where a place reaches a port of another; raises PlatformError when it cannot."""
    found = await place.way_to(peer, port)
    if found is None:
        remedy = "Put both on bridges: `network=bridge`, as root."
        raise PlatformError(f"{place.name} does not reach {peer.name}. {remedy}")
    return found


async def _plain(running: Running, place: Place, name: str, role: str, threads: int, *options: str) -> int:
    command = reference.plain_command(role, place.listen, threads, *options)
    ready = await running.ready(place, name, command)
    if ready.http is None:
        raise ServiceError(f"{name} does not say where it answers.")
    return ready.http.port


def _port(place: Place, usual: int) -> int:
    """The usual port on a machine of its own, else a free one."""
    return free_port() if place.listen == LOOPBACK else usual
