"""Starts a service of any kind on a machine: files, preparation, readiness, where it answers. Knows no application."""

import asyncio
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loadstone.host.http import is_free
from loadstone.host.process import Readiness
from loadstone.measure.status import StatusMeter
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.program_settings import write_settings_of_programs
from loadstone.model.role import ProcessRole
from loadstone.model.target import DeliveryProtocol, Endpoint, MailDelivery, Target
from loadstone.platforms.contract import Machine, MachineFiles, ProgramHost
from loadstone.services import reference
from loadstone.services.kind import Program, ServiceKind, Site, get_local_address
from loadstone.services.status import STATUS, read_json
from loadstone.services.unprivileged import build_shell_command
from loadstone.testbed.context import TESTBED_LOOPBACK
from loadstone.testbed.kept_files import provide_files
from loadstone.testbed.running import (
    Running,
    build_target,
    choose_answer_timeout_s,
    wait_until_answered,
    wait_until_done,
)

CERTIFICATES = "certificates"
"""Folder of a machine's files."""
TLS_PORT = 8443
"""Port for TLS on a machine of its own."""
CONFIGURATIONS = (".conf", ".xml")
"""Endings of configuration files, which are kept beside the logs."""


@dataclass(frozen=True)
class StartedService:
    """A service that answers."""

    kind: ServiceKind
    machine: Machine
    port: int
    http: Endpoint
    """Where the driver reaches it; of mail, databases and caches too, in their own protocol."""
    https: Endpoint | None = None
    authority_pem: str | None = None
    delivery: MailDelivery | None = None
    """Where the driver hands mail to it."""

    @property
    def target(self) -> Target:
        """Where the driver reaches it, with the certificate to trust."""
        return Target(self.http, self.https, self.authority_pem, delivery=self.delivery)

    @property
    def targets(self) -> tuple[Target, ...]:
        """The same on each public network of its machine."""
        return (self.target, *(self.target.with_address(address) for address in self.machine.further_addresses))

    async def find_address(self, machine: Machine) -> str:
        """Returns where a machine reaches it, as its kind writes addresses. Raises PlatformError where none does."""
        return self.kind.url(await route(machine, self.machine, self.port))


def list_targets(services: Iterable[StartedService]) -> tuple[Target, ...]:
    """Returns where the driver reaches services, on each public network of their machines."""
    return tuple(target for service in services for target in service.targets)


def build_site_on(machine: Machine, threads: int = 1) -> Site:
    """Returns the site of a service on a machine, without its ports and certificates."""
    return Site(machine.files, machine.listen, threads=threads)


async def route(machine: Machine, peer: Machine, port: int) -> Endpoint:
    """Returns where a machine reaches a port of another. Raises PlatformError when it cannot."""
    endpoint = await machine.find_route(peer, port)
    if endpoint is None:
        remedy = "Put both on bridges: `network=bridge`, as root."
        raise PlatformError(f"{machine.name} does not reach {peer.name}. {remedy}")
    return endpoint


async def start_service(
    running: Running, machine: Machine, kind: ServiceKind, site: Site, *, name: str = "", is_prepared: bool = False
) -> StartedService:
    """Prepares a service, unless it is prepared already, and starts it by the name of its machine, or another. Raises
    ServiceError when it cannot be prepared, or does not answer.
    """
    authority_pem = None
    _note_settings(machine, kind, site)
    is_kept = kind.reads_files and not site.shared_folder
    kept_files = await provide_files(running.base, machine, site.file_sets) if is_kept else ""
    site = replace(site, names=("localhost", machine.address, *machine.further_addresses), kept_files=kept_files)
    # A service on a free port creates a certificate in memory. A machine that comes back would have another one then,
    # which its clients refuse.
    if kind.has_tls and (kind.port is not None or machine.comes_back):
        certificates, authority_pem = await _certified(machine, site.names)
        site = replace(site, certificates=certificates)
    if kind.port is None:
        started = await _start_on_free_port(running, machine, kind, kind.program(site), name or machine.name)
        return replace(started, authority_pem=authority_pem) if authority_pem else started
    if kind.has_tls:
        site = replace(site, tls_port=await machine.choose_port(TLS_PORT))
    if kind.delivery_port is not None:
        site = replace(site, delivery_port=await machine.choose_port(kind.delivery_port))
    site = replace(site, port=await machine.choose_port(kind.port))
    if machine.listen == TESTBED_LOOPBACK and not is_free(
        site.port
    ):  # its own answers would be taken for the service's
        raise ServiceError(f"Port {site.port} is in use by another program.")
    program = kind.program(site)
    program = replace(program, prepare=()) if is_prepared else program
    await _start_on_port(running, machine, kind, program, site.port, name or machine.name)
    if kind.counts:
        await _start_statistics(running, machine, kind, site.port)
    https = await machine.find_endpoint(site.tls_port) if kind.has_tls else None
    delivery = None
    if site.delivery_port:
        delivery = MailDelivery(DeliveryProtocol.LMTP, await machine.find_endpoint(site.delivery_port))
    http = await machine.find_endpoint(site.port)
    return StartedService(kind, machine, site.port, http, https, authority_pem, delivery)


async def _certified(machine: MachineFiles, names: Sequence[str]) -> tuple[str, str]:
    """Writes a certificate for these names to the machine; its folder there, and who signed it."""
    files = await asyncio.to_thread(reference.create_certificate, names)
    for name, text in files.items():
        await machine.write(f"{CERTIFICATES}/{name}", text)
    return f"{machine.files}/{CERTIFICATES}", files[reference.AUTHORITY_FILE]


async def _start_on_free_port(
    running: Running, machine: Machine, kind: ServiceKind, program: Program, name: str
) -> StartedService:
    """Starts one of our servers, which reports its port when it is ready."""
    await _write(running, machine, program, name)
    ready = await _ready(running, machine, ProcessRole(name), program.command)
    target = await build_target(machine, ready)
    assert ready.http is not None and target.http is not None
    return StartedService(
        kind, machine, ready.http.port, target.http, target.https, target.authority_pem, target.delivery
    )


async def _start_on_port(
    running: Running, machine: Machine, kind: ServiceKind, program: Program, port: int, name: str
) -> None:
    """Starts a service that listens on the port it is given, and waits until it answers."""
    subject = f"The files of {kind.title}" if kind.has_tls else f"The {kind.role}"
    await _write(running, machine, program, name)
    for number, command in enumerate(program.prepare):
        await wait_until_done(await machine.start(f"{name}-prepare-{number}", command, Readiness.NONE), subject)
    helpers = {}
    for helper, command in program.helpers.items():
        process = ProcessRole(machine.name, program=helper)
        helpers[str(process)] = await running.start(machine, process, command, Readiness.NONE)
    if program.version:
        await _note_versions(machine, program.version, name)
    service = await running.start(machine, ProcessRole(name), program.command, Readiness.NONE)
    timeout_s = choose_answer_timeout_s(machine)
    if program.wait:
        ready = await machine.start(f"{name}-ready", program.wait, Readiness.NONE)
        await wait_until_done(ready, subject, timeout_s, {name: service, **helpers})
    else:
        endpoint = await machine.find_endpoint(port)
        await wait_until_answered(endpoint, service, program.first_words, timeout_s, helpers)
    for part, source in program.status.items():
        running.status[f"{machine.name}: {part}"] = StatusMeter(
            await machine.find_endpoint(port), source.path, source.read
        )


async def _start_statistics(running: Running, machine: Machine, kind: ServiceKind, port: int) -> None:
    """Starts a program beside a database that reports what the database counts."""
    command = reference.build_statistics_command(
        machine.listen, kind.url(Endpoint(get_local_address(machine.listen), port))
    )
    ready = await _ready(running, machine, ProcessRole(machine.name, program="statistics"), command)
    assert ready.http is not None
    meter = StatusMeter(await machine.find_endpoint(ready.http.port), STATUS, read_json)
    running.status[f"{machine.name}: {kind.name}"] = meter


async def _ready(running: Running, machine: Machine, process: ProcessRole, command: list[str]) -> reference.ServerReady:
    ready = await running.start_ready(machine, process, command)
    if ready.http is None:
        raise ServiceError(f"{process} reported no address.")
    return ready


async def _write(running: Running, machine: Machine, program: Program, service: str) -> None:
    """Writes a service's files; its configuration and its commands are kept beside the logs."""
    for name, text in program.files.items():
        await machine.write(name, text)
        if Path(name).suffix in CONFIGURATIONS:
            (running.base.logs / f"{machine.name}-{name.replace('/', '-')}").write_text(text)
    commands = [*program.prepare, *program.helpers.values(), program.command]
    text = "".join(f"{shlex.join(command)}\n" for command in commands if command)
    (running.base.logs / f"{service}-commands.sh").write_text(text)


async def _note_versions(machine: ProgramHost, command: list[str], service: str) -> None:
    """What the service is made of, among the machine's facts."""
    version = await machine.start(
        f"{service}-version", build_shell_command(f"({shlex.join(command)}) | paste -s -d ';'")
    )
    added = [part.strip() for part in version.first_line.split(";")]
    machine.facts["software"] = "; ".join([*filter(None, [machine.facts.get("software")]), *added])


def _note_settings(machine: ProgramHost, kind: ServiceKind, site: Site) -> None:
    """Notes how a service is configured, among the machine's facts: its tuning, and what the user changed."""
    if not kind.settings:
        return
    changed = {program: site.settings[program] for program in kind.settings if site.settings.get(program)}
    settings = f"{site.tuning}; {write_settings_of_programs(changed)}" if changed else str(site.tuning)
    machine.facts["settings"] = {**machine.facts.get("settings", {}), f"of {kind.title}": settings}
