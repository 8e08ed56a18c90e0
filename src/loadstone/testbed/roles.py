"""How each role of a system is put on its machine, alone or with the others: one function a role."""

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path

from loadstone.host.http import is_free
from loadstone.host.process import Readiness
from loadstone.measure.status import StatusMeter
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.role import ProcessRole
from loadstone.model.service import EMBEDDED, Mechanism, ServiceRole, Tuning
from loadstone.model.system import Reference
from loadstone.model.target import Endpoint, Target
from loadstone.platforms.contract import Machine, MachineFiles, ProgramHost
from loadstone.services import reference
from loadstone.services.kind import Program, ServiceKind, Site, local
from loadstone.services.registry import service_kind
from loadstone.services.status import STATUS, figures_in_json
from loadstone.services.unprivileged import shell
from loadstone.testbed.context import LOOPBACK
from loadstone.testbed.running import Running, answers, done, target_of

CERTIFICATES = "certificates"
"""Folder of a machine's files."""


TLS_PORT = 8443
"""Where web sites listen for TLS on a machine of their own."""
CONFIGURATIONS = (".conf", ".xml")
"""Ends of names of files that say how a service is set."""


class Downloads(Enum):
    """Where the web sites have their downloads, if not in a folder."""

    OWN = auto()
    BEHIND = auto()
    """On the machine of the back end, over HTTP."""


async def infra(running: Running, machine: Machine, threads: int, name: str) -> int:
    """Back-end simulator and file store, as a service of that name; returns their port."""
    return await _said_port(running, machine, name, reference.plain_command("infra", machine.listen, threads))


async def web(
    running: Running, machine: Machine, behind: Machine, port: int, threads: int, downloads: Downloads | str
) -> Target:
    """The web sites, which ask the back end on another machine; which may have their downloads too, or a folder has."""
    asked = str(await way(machine, behind, port))
    peers: dict[str, str] = {ServiceRole.BACKEND: asked}
    if downloads is Downloads.BEHIND:
        peers[ServiceRole.STORE] = asked
    folder = downloads if isinstance(downloads, str) else ""
    kind = service_kind(ServiceRole.WEB, EMBEDDED)
    return (await start_service(running, machine, kind, site_on(machine, threads, peers=peers, shared=folder))).target


async def web_of(
    running: Running,
    machine: Machine,
    behind: Machine,
    port: int,
    threads: int,
    which: tuple[ServiceKind, Tuning, Mapping[str, int]],
) -> Target:
    """The web sites by a service, with the files of so many sessions, which ask the back end on another machine."""
    kind, tuning, file_sets = which
    peers: dict[str, str] = {ServiceRole.BACKEND: str(await way(machine, behind, port))}
    site = replace(site_on(machine, threads, peers=peers), file_sets=file_sets, tuning=tuning)
    return (await start_service(running, machine, kind, site)).target


async def balancer(
    running: Running, machine: Machine, kind: ServiceKind, targets: Sequence[Target], threads: int
) -> Target:
    """What deals users to several web servers, which it asks over HTTP."""
    servers = tuple(target.http for target in targets if target.http is not None)
    return (await start_service(running, machine, kind, replace(site_on(machine, threads), servers=servers))).target


async def web_server(
    running: Running, machine: Machine, kind: ServiceKind, mechanism: Mechanism, system: Reference, directories: int
) -> Target:
    """A web server alone, which answers by one mechanism."""
    tuning = system.services.tuning
    site = replace(site_on(machine, system.threads), mechanism=mechanism, directories=directories, tuning=tuning)
    return (await start_service(running, machine, kind, site)).target


def site_on(machine: Machine, threads: int, *, peers: Mapping[str, str] | None = None, shared: str = "") -> Site:
    """Returns the site of a service on a machine, without its ports and certificates."""
    return Site(machine.files, machine.listen, threads=threads, peers=peers or {}, shared_folder=shared)


@dataclass(frozen=True)
class StartedService:
    """A service that answers."""

    port: int
    target: Target
    """Where the driver reaches it."""


async def start_service(
    running: Running, machine: Machine, kind: ServiceKind, site: Site, *, name: str = "", is_prepared: bool = False
) -> StartedService:
    """Prepares a service, unless it is prepared already, and starts it by the name of its machine, or another. Raises
    ServiceError when it cannot be prepared, or does not answer.
    """
    authority_pem = None
    # A service on a free port creates a certificate in memory. A machine that comes back would have another one then,
    # which its clients refuse.
    if kind.has_tls and (kind.port is not None or machine.comes_back):
        site = replace(site, names=("localhost", machine.address))
        certificates, authority_pem = await _certified(machine, site.names)
        site = replace(site, certificates=certificates)
    if kind.port is None:
        started = await _start_on_free_port(running, machine, kind.program(site), name or machine.name)
        target = replace(started.target, authority_pem=authority_pem) if authority_pem else started.target
        return replace(started, target=target)
    if kind.has_tls:
        site = replace(site, tls_port=await machine.port_for(TLS_PORT))
    site = replace(site, port=await machine.port_for(kind.port))
    if machine.listen == LOOPBACK and not is_free(site.port):  # its own answers would be taken for the service's
        raise ServiceError(f"Port {site.port} is in use by another program.")
    program = kind.program(site)
    await _start_on_port(running, machine, kind, replace(program, prepare=()) if is_prepared else program, site.port)
    https = await machine.reach(site.tls_port) if kind.has_tls else None
    return StartedService(site.port, Target(await machine.reach(site.port), https, authority_pem))


async def _certified(machine: MachineFiles, names: Sequence[str]) -> tuple[str, str]:
    """Writes a certificate for these names to the machine; its folder there, and who signed it."""
    files = await asyncio.to_thread(reference.certificate, names)
    for name, text in files.items():
        await machine.write(f"{CERTIFICATES}/{name}", text)
    return f"{machine.files}/{CERTIFICATES}", files[reference.AUTHORITY]


async def database(running: Running, machine: Machine, name: str, threads: int, *, has_data: bool = False) -> int:
    """The application's database by the service of that name, empty unless its data are there; returns its port."""
    port = await _chosen(running, machine, ServiceRole.DATABASE, name, threads, is_prepared=has_data)
    kind = service_kind(ServiceRole.DATABASE, name)
    if kind.counts:
        await _statistics(running, machine, kind, port)
    return port


async def _statistics(running: Running, machine: Machine, kind: ServiceKind, port: int) -> None:
    """What a database counts of itself, by a program beside it."""
    command = reference.statistics_command(machine.listen, kind.url(Endpoint(local(machine.listen), port)))
    asked = await _reported_port(running, machine, ProcessRole(machine.name, program="statistics"), command)
    meter = StatusMeter(await machine.reach(asked), STATUS, figures_in_json)
    running.status[f"{machine.name}: {kind.name}"] = meter


async def backend(running: Running, machine: Machine, name: str) -> int:
    """What the web sites ask, by the service of that name; returns its port."""
    return await _chosen(running, machine, ServiceRole.BACKEND, name, 1)


async def cache(running: Running, machine: Machine, name: str, threads: int) -> int:
    """What keeps an application's answers, by the service of that name; returns its port."""
    return await _chosen(running, machine, ServiceRole.CACHE, name, threads)


async def store(running: Running, machine: Machine, name: str) -> int:
    """What shares a folder, by the service of that name; returns its port."""
    return await _chosen(running, machine, ServiceRole.STORE, name, 1)


async def app(
    running: Running, machine: Machine, behind: Machine, port: int, name: str, injection_rate: int, threads: int
) -> Target:
    """The dealership, whose database, by the service of that name, is on another machine."""
    url = await database_url(machine, behind, port, name)
    command = reference.dealership_command(machine.listen, url, injection_rate, threads)
    return await target_of(machine, await running.ready(machine, ProcessRole(machine.name), command))


async def application(
    running: Running,
    machine: Machine,
    database: tuple[Machine, int],
    kind: ServiceKind,
    system: Reference,
    rows: Mapping[str, int],
    beside: Mapping[str, tuple[Machine, int]],
    pictures: str = "",
) -> Target:
    """An application by one service, whose database, by another, is on another machine, and what else it asks on
    others; its pictures are in a folder that its servers share, where they do.
    """
    behind, port = database
    peers = {name: str(await way(machine, peer, its_port)) for name, (peer, its_port) in beside.items()}
    peers[ServiceRole.DATABASE] = await database_url(machine, behind, port, system.services.database)
    if ServiceRole.CACHE in beside:
        cache_kind = service_kind(ServiceRole.CACHE, system.services.cache)
        peers[ServiceRole.CACHE] = cache_kind.url(await way(machine, *beside[ServiceRole.CACHE]))
    elif system.services.cache == EMBEDDED:
        peers[ServiceRole.CACHE] = "within"
    site = site_on(machine, system.threads, peers=peers, shared=pictures)
    site = replace(site, rows=rows, tuning=system.services.tuning)
    return (await start_service(running, machine, kind, site)).target


async def geocoder(running: Running, machine: Machine) -> int:
    """What finds addresses; returns its port."""
    return await _said_port(running, machine, machine.name, reference.plain_command("geocoder", machine.listen, 1))


async def picture_store(running: Running, machine: Machine) -> int:
    """What keeps pictures, in the machine's folder; returns its port."""
    command = reference.plain_command("pictures", machine.listen, 1, "--folder", f"{machine.files}/pictures")
    return await _said_port(running, machine, machine.name, command)


async def database_url(machine: Machine, behind: Machine, port: int, name: str) -> str:
    """Where a machine reaches the database on another, as the database's service says it."""
    return service_kind(ServiceRole.DATABASE, name).url(await way(machine, behind, port))


async def mail(running: Running, machine: Machine, name: str, threads: int) -> Target:
    """The mail store by the service of that name, empty: who sends the load fills it."""
    return Target(await machine.reach(await _chosen(running, machine, ServiceRole.MAIL, name, threads)), None)


async def heartbeat(running: Running, machine: Machine, name: str) -> Target:
    """The idle server, which answers nothing but heartbeats."""
    port = await _said_port(running, machine, name, reference.plain_command("idle", machine.listen, 1))
    return Target(await machine.reach(port), None)


async def way(machine: Machine, peer: Machine, port: int) -> Endpoint:
    """Where a machine reaches a port of another; raises PlatformError when it cannot."""
    endpoint = await machine.way_to(peer, port)
    if endpoint is None:
        remedy = "Put both on bridges: `network=bridge`, as root."
        raise PlatformError(f"{machine.name} does not reach {peer.name}. {remedy}")
    return endpoint


async def _chosen(
    running: Running, machine: Machine, role: ServiceRole, name: str, threads: int, *, is_prepared: bool = False
) -> int:
    """Starts a role's service, prepared first unless it is; returns its port."""
    kind, site = service_kind(role, name), site_on(machine, threads)
    return (await start_service(running, machine, kind, site, is_prepared=is_prepared)).port


async def _start_on_free_port(running: Running, machine: Machine, program: Program, name: str) -> StartedService:
    """Starts one of our servers, which reports its port when it is ready."""
    await _write(running, machine, program)
    ready = await running.ready(machine, ProcessRole(name), program.command)
    if ready.http is None:
        raise ServiceError(f"{name} does not say where it answers.")
    return StartedService(ready.http.port, await target_of(machine, ready))


async def _start_on_port(running: Running, machine: Machine, kind: ServiceKind, program: Program, port: int) -> None:
    """Starts a service that listens on the port it is given, and waits until it answers."""
    subject = f"The files of {kind.name}" if kind.has_tls else f"The {kind.role}"
    await _write(running, machine, program)
    for number, command in enumerate(program.prepare):
        await done(await machine.start(f"{machine.name}-prepare-{number}", command, Readiness.NONE), subject)
    for name, command in program.beside.items():
        await running.start(machine, ProcessRole(machine.name, program=name), command, Readiness.NONE)
    if program.version:
        await _note_versions(machine, program.version)
    service = await running.start(machine, ProcessRole(machine.name), program.command, Readiness.NONE)
    if program.wait:
        await done(await machine.start(f"{machine.name}-ready", program.wait, Readiness.NONE), subject)
    else:
        await answers(await machine.reach(port), service, program.first_words)
    for name, source in program.status.items():
        running.status[f"{machine.name}: {name}"] = StatusMeter(await machine.reach(port), source.path, source.read)


async def _write(running: Running, machine: Machine, program: Program) -> None:
    """Writes a service's files; its configuration and its commands are kept beside the logs."""
    for name, text in program.files.items():
        await machine.write(name, text)
        if Path(name).suffix in CONFIGURATIONS:
            (running.base.logs / f"{machine.name}-{name.replace('/', '-')}").write_text(text)
    commands = [*program.prepare, *program.beside.values(), program.command]
    words = "".join(f"{shlex.join(command)}\n" for command in commands if command)
    (running.base.logs / f"{machine.name}-commands.sh").write_text(words)


async def _note_versions(machine: ProgramHost, command: list[str]) -> None:
    """What the service is made of, among the machine's facts."""
    asked = await machine.start(f"{machine.name}-version", shell(f"({shlex.join(command)}) | paste -s -d ';'"))
    machine.facts["software"] = "; ".join(map(str.strip, asked.first_line.split(";")))


async def _said_port(running: Running, machine: Machine, name: str, command: list[str]) -> int:
    """Starts one of our servers; returns the port that it says it took."""
    return await _reported_port(running, machine, ProcessRole(name), command)


async def _reported_port(running: Running, machine: Machine, process: ProcessRole, command: list[str]) -> int:
    ready = await running.ready(machine, process, command)
    if ready.http is None:
        raise ServiceError(f"{process} does not say where it answers.")
    return ready.http.port
