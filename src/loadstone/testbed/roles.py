"""How each role of a system is put on its machine, alone or with the others: one function a role."""

import asyncio
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from pathlib import Path

from loadstone.host.http import is_free
from loadstone.host.process import Readiness
from loadstone.measure.status import StatusMeter
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.service import EMBEDDED, Mechanism, ServiceRole, Tuning
from loadstone.model.system import Reference
from loadstone.model.target import Endpoint, Target
from loadstone.platforms.contract import Machine, MachineFiles, ProgramHost
from loadstone.services import reference
from loadstone.services.kind import (
    ApplicationSite,
    BalancerSite,
    MechanismSite,
    Program,
    ServiceKind,
    ServiceSite,
    TlsSite,
    WebSite,
    local,
)
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
    asked = await way(machine, behind, port)
    store = {Downloads.OWN: None, Downloads.BEHIND: asked}[downloads] if isinstance(downloads, Downloads) else downloads
    names = ["localhost", machine.address]
    command = reference.web_command(machine.listen, asked, threads, names, store)
    if not machine.comes_back:
        return await target_of(machine, await running.ready(machine, machine.name, command))
    # One that made its certificate in its memory would come back with another, which its clients refuse.
    folder, authority_pem = await _certified(machine, names)
    ready = await running.ready(machine, machine.name, [*command, "--certificates", folder])
    return await target_of(machine, replace(ready, authority_pem=authority_pem))


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
    asked = await way(machine, behind, port)

    def program(site: TlsSite) -> Program:
        return kind.program(WebSite(**vars(site) | {"backend": asked, "file_sets": file_sets, "tuning": tuning}))

    return await _both_ways(running, machine, kind, threads, program)


async def balancer(
    running: Running, machine: Machine, kind: ServiceKind, targets: Sequence[Target], threads: int
) -> Target:
    """What deals users to several web servers, which it asks over HTTP."""
    servers = tuple(target.http for target in targets if target.http is not None)

    def program(site: TlsSite) -> Program:
        return kind.program(BalancerSite(**vars(site), servers=servers))

    return await _both_ways(running, machine, kind, threads, program)


async def web_server(
    running: Running, machine: Machine, kind: ServiceKind, mechanism: Mechanism, system: Reference, directories: int
) -> Target:
    """A web server alone, which answers by one mechanism."""

    def program(site: TlsSite) -> Program:
        own = {"mechanism": mechanism, "directories": directories, "tuning": system.services.tuning}
        return kind.program(MechanismSite(**vars(site) | own))

    return await _both_ways(running, machine, kind, system.threads, program)


async def _both_ways(
    running: Running, machine: Machine, kind: ServiceKind, threads: int, program_at: Callable[[TlsSite], Program]
) -> Target:
    """A service over HTTP and TLS, with a certificate made for its machine."""
    certificates, authority_pem = await _certified(machine, ["localhost", machine.address])
    tls_port = await machine.port_for(TLS_PORT)

    def program(site: ServiceSite) -> Program:
        return program_at(TlsSite(**vars(site), tls_port=tls_port, certificates=certificates))

    assert kind.port is not None
    http = await put(running, machine, program, kind.port, threads, f"The files of {kind.name}")
    return Target(await machine.reach(http), await machine.reach(tls_port), authority_pem)


async def _certified(machine: MachineFiles, names: list[str]) -> tuple[str, str]:
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
    asked = await _said_port(running, machine, f"{machine.name} statistics", command)
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
    return await target_of(machine, await running.ready(machine, machine.name, command))


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
    url = await database_url(machine, behind, port, system.services.database)
    asked = {name: await way(machine, peer, its_port) for name, (peer, its_port) in beside.items()}
    kept = asked.pop(ServiceRole.CACHE, None)
    keeps = "within" if system.services.cache == EMBEDDED else ""
    keeps = service_kind(ServiceRole.CACHE, system.services.cache).url(kept) if kept else keeps

    def program(site: TlsSite) -> Program:
        own = {
            "database": url,
            "rows": rows,
            "tuning": system.services.tuning,
            "beside": asked,
            "cache": keeps,
            "pictures": pictures,
        }
        return kind.program(ApplicationSite(**vars(site) | own))

    if kind.port is not None:
        return await _both_ways(running, machine, kind, system.threads, program)
    alone = program(TlsSite(machine.files, machine.listen, 0, system.threads, tls_port=0, certificates=""))
    return await target_of(machine, await running.ready(machine, machine.name, alone.command))


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
        remedy = "Put both on bridges with `network=bridge`, as root."
        raise PlatformError(f"{machine.name} does not reach {peer.name}. {remedy}")
    return endpoint


async def _chosen(
    running: Running, machine: Machine, role: ServiceRole, name: str, threads: int, *, is_prepared: bool = False
) -> int:
    """Puts a role's service up, prepared first unless it is; returns its port."""
    kind = service_kind(role, name)

    def program_at(site: ServiceSite) -> Program:
        program = kind.program(site)
        return replace(program, prepare=()) if is_prepared else program

    if kind.port is not None:
        return await put(running, machine, program_at, kind.port, threads, f"The {role}")
    program = program_at(ServiceSite(machine.files, machine.listen, 0, threads))
    await _write(running, machine, program)
    return await _said_port(running, machine, machine.name, program.command)


async def put(
    running: Running, machine: Machine, program_at: Callable[[ServiceSite], Program], port: int, threads: int, what: str
) -> int:
    """Puts a service up that listens where it is told, at its usual port on a machine of its own; returns the port.
    Raises ServiceError when it cannot be prepared, or does not answer.
    """
    port = await machine.port_for(port)
    if machine.listen == LOOPBACK and not is_free(port):  # its own answers would be taken for the service's
        raise ServiceError(f"Port {port} is in use by another program.")
    program = program_at(ServiceSite(machine.files, machine.listen, port, threads))
    await _write(running, machine, program)
    for at, command in enumerate(program.prepare):
        await done(await machine.start(f"{machine.name}-prepare-{at}", command, Readiness.NONE), what)
    for name, command in program.beside.items():
        await running.start(machine, f"{machine.name} {name}", command, Readiness.NONE)
    if program.version:
        await _note_versions(machine, program.version)
    service = await running.start(machine, machine.name, program.command, Readiness.NONE)
    if program.wait:
        await done(await machine.start(f"{machine.name}-ready", program.wait, Readiness.NONE), what)
    else:
        await answers(await machine.reach(port), service, program.first_words)
    for name, source in program.status.items():
        running.status[f"{machine.name}: {name}"] = StatusMeter(await machine.reach(port), source.path, source.read)
    return port


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
    ready = await running.ready(machine, name, command)
    if ready.http is None:
        raise ServiceError(f"{name} reported no address.")
    return ready.http.port
