"""A machine with our agent inside, whatever made it: its services, its files, how it is reached, how it sees itself."""

import asyncio
import contextlib
import json
import secrets
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.host.process import Readiness
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.fault import FaultKind
from loadstone.model.machine import PUBLIC
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import Machine, MachineContext, MachineCounters, MachineFiles, ProgramHost, Service
from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.failing import fail_processes
from loadstone.platforms.interfaces import find_address, list_addresses, list_further_addresses
from loadstone.platforms.local import claim
from loadstone.platforms.routing import LOOPBACK, find_route_over
from loadstone.platforms.vm import usage
from loadstone.platforms.vm.agent import GUEST_SETUP_TIMEOUT_S, Agent
from loadstone.platforms.vm.command import GUEST_FILES, USER_GUEST, USER_HOST, Layout
from loadstone.platforms.vm.devices import (
    DISK_NAMES,
    choose_card_mac,
    choose_disk_format,
    get_user_mac,
)
from loadstone.platforms.vm.passed_card import PassedCard
from loadstone.platforms.vm.settings import Nic, Pages, VmSettings

Json = dict[str, Any]

GUEST_START_TIMEOUT_S = 120.0
"""Longest time to a program's first line. An emulated machine on a busy host takes more than 20 s to start PHP."""
SEED_BYTES = 32
"""As many as the key of Linux's generator of random numbers."""


@dataclass
class GuestService:
    """A program inside a machine."""

    name: str
    agent: Agent
    log: Path
    machine: str
    """Where it runs."""
    command: list[str]
    readiness: Readiness = Readiness.LINE
    first_line: str = ""
    _line: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    _end: str = ""

    def on_event(self, event: Json) -> None:
        """Takes what the agent says of it."""
        match event["event"]:
            case "line" if not self._line.done():
                self._line.set_result(event["line"])
            case "line" | "log":
                with self.log.open("a") as log:
                    log.write(event["line"] + "\n")
            case "ended":
                code, number = event["code"], event["signal"]
                self._end = f"code {code}" if number is None else f"signal {signal.Signals(number).name}"
                if not self._line.done():
                    self._line.set_result("")

    async def wait_ready(self, command: list[str]) -> None:
        """Waits for its first line. Raises ServiceError."""
        with contextlib.suppress(TimeoutError):
            self.first_line = await asyncio.wait_for(asyncio.shield(self._line), GUEST_START_TIMEOUT_S)
        if not self.first_line:
            state = f"ended with {self._end}" if self._end else "stayed silent"
            output = self.log.read_text().strip()[-500:] if self.log.is_file() else ""
            problem = f"`{' '.join(command[:2])}` {state} instead of getting ready"
            raise ServiceError(f"{problem}: {output or 'it wrote nothing'}") from None

    async def begin(self) -> None:
        """Has the agent start it. Raises ServiceError."""
        try:
            await self.agent.ask("start", GUEST_SETUP_TIMEOUT_S, name=self.name, command=self.command)
        except PlatformError as error:
            raise ServiceError(f"`{self.command[0]}` cannot be started on {self.machine}: {error}") from None
        if self.readiness is Readiness.LINE:
            await self.wait_ready(self.command)

    async def begin_anew(self, agent: Agent) -> None:
        """Starts it in a machine that was started anew, at the ports that it had. Raises ServiceError."""
        self.agent, self.command = agent, keep_ports(self.command, self.first_line)
        self._end, self._line = "", asyncio.get_running_loop().create_future()
        await self.begin()

    @property
    def pid(self) -> int:
        """None of the host's own: it is part of its machine's."""
        return 0

    def end(self) -> str:
        """How it ended."""
        return self._end

    async def stop(self) -> None:
        """Asks it to end, then ends it."""
        with contextlib.suppress(PlatformError):
            await self.agent.ask("stop", name=self.name)


@dataclass
class Guest(ProgramHost, MachineFiles, MachineCounters, ABC):
    """A machine that is up; what is left open is how the host sees it and forwards ports to it."""

    context: MachineContext
    layout: Layout
    agent: Agent
    facts: Json = field(default_factory=dict)
    listen: str = "0.0.0.0"
    services: dict[str, GuestService] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    """Files of it that were written from here."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.context.name

    @property
    def about(self) -> str:
        """What it is, with the accelerator that it is emulated or run by."""
        return f"{self.context.about}, {self.layout.accelerator.value.upper()}"

    @property
    def address(self) -> str:
        """Its own, that of a card of the host which it drives first; or the host's where ports are forwarded."""
        return self.layout.passed.address if self.layout.passed else find_address(self.context.nics) or LOOPBACK

    @property
    def further_addresses(self) -> Sequence[str]:
        """Those of its cards."""
        return list_further_addresses(self.context.nics)

    @property
    def files(self) -> str:
        """A folder of its own file system."""
        return GUEST_FILES

    @abstractmethod
    async def forward(self, port: int) -> Endpoint:
        """Has a port of the host forwarded to one of the machine."""

    @abstractmethod
    async def read_outside(self) -> Json | None:
        """Returns the machine's cost on the host."""

    @abstractmethod
    def end(self) -> str:
        """How it ended."""

    async def fail(self, fault: FaultKind) -> None:
        """Does it to its hypervisor's process. Raises PlatformError for what only pairs can have."""
        fail_processes([self.pid], fault, self.context.about)

    def on_event(self, event: Json) -> None:
        """Takes an event of the agent."""
        service = self.services.get(event.get("name", ""))
        if service is not None:
            service.on_event(event)

    async def start(self, role: str, command: list[str], readiness: Readiness = Readiness.LINE) -> Service:
        """Has the agent start a program. Raises ServiceError."""
        claim(self.services, role, self.name)
        log = self.context.logs / f"{role}.log"
        service = self.services[role] = GuestService(role, self.agent, log, self.name, command, readiness)
        await service.begin()
        return service

    async def write(self, name: str, text: str) -> None:
        """Has the agent write a file."""
        self.written[name] = text
        await self.agent.ask("write", GUEST_SETUP_TIMEOUT_S, path=f"{self.files}/{name}", text=text)

    async def mount(self, source: Path | Endpoint, name: str) -> str:
        """Mounts a share by the mount program of its image, which has the package for NFS."""
        if not isinstance(source, Endpoint):
            raise PlatformError(f"{self.name} cannot access folders of this host. Share the folder by NFS.")
        folder, share = f"/mnt/{name}", f"{source.host}:/{name}"
        script = f"mkdir -p {folder} && mount -t nfs4 -o vers=4.1,port={source.port} {share} {folder} && echo {folder}"
        return (await self.start(f"{self.name}-mount-{name}", ["sh", "-c", script])).first_line.strip()

    async def choose_port(self, usual: int) -> int:
        """The usual one: nobody else is there."""
        return usual

    async def find_endpoint(self, port: int) -> Endpoint:
        """Returns its own address, or a port of the host that is forwarded to it."""
        has_address = self.context.nics or self.layout.passed
        return Endpoint(self.address, port) if has_address else await self.forward(port)

    async def find_route(self, peer: Machine, port: int) -> Endpoint | None:
        """Over a network both are on, the private one first; or over the host."""
        return await find_route_over(self.context.nics, peer, port, None if self.context.nics else USER_HOST)

    async def read_inside(self) -> Json | None:
        """Returns the counters of its own kernel."""
        try:
            counters: Json = await self.agent.ask("look", timeout_s=usage.VM_USAGE_TIMEOUT_S)
        except PlatformError:
            return None
        return counters

    async def renew(self) -> None:
        """Gives a machine that has just booted, or was restored, random numbers of its own and the host's time. Raises
        PlatformError.
        """
        seeded = await self.agent.ask("seed", entropy=secrets.token_hex(SEED_BYTES))
        self.facts["boot_id"] = seeded["boot_id"]
        await self.agent.set_clock()

    async def mount_disks(self) -> None:
        """Has the agent mount the machine's disks. Raises PlatformError."""
        places = [self.layout.disk_place, *([] if self.layout.data_disk is None else [GUEST_FILES])]
        for disk, path in zip(DISK_NAMES[self.layout.settings.controller], places, strict=False):
            await self.agent.ask("mount", GUEST_SETUP_TIMEOUT_S, disk=disk, path=path)

    async def personalize(self, nics: Sequence[Json]) -> None:
        """The same, and gives it its disk and its addresses. Raises PlatformError."""
        await self.renew()
        if self.layout.disk is not None:
            await self.mount_disks()
        await self.agent.ask("network", interfaces=[*nics, *list_passed_interfaces(self.layout.passed)])

    def describe(self, hello: Json, boot_s: float, clock: Json) -> None:
        """Notes what it is made of, for the disclosure."""
        spec, layout = self.context.spec, self.layout
        self.facts |= {
            "platform": spec.platform,
            "accelerator": layout.accelerator.value,
            "cpus": spec.cpus or 1,
            "memory_mib": spec.memory,
            "image": f"{layout.image.name} {layout.image.digest}",
            "kernel": hello["kernel"],
            "network": "bridge" if self.context.nics else "user",
            "networks": list_addresses(self.context.nics),
            "link_mbit_per_s": spec.mbit_per_s,
            "boot_s": round(boot_s, 2),
            "clock": clock,
            "disk": layout.disk and _describe_disk(layout.settings),
            "card": _describe_cards(layout),
            "host_share": _describe_share(layout),
            "kernel_arguments": layout.settings.kernel_arguments,
            "console": layout.sockets.console.name,
        }


def _describe_disk(settings: VmSettings) -> str:
    place = f", {settings.device}" if settings.device else ""
    kind = f"{settings.controller}, {choose_disk_format(settings)}{place}"
    data = f", data disk of {settings.data_disk} MiB" if settings.data_disk else ""
    return f"{kind}, cache={settings.cache}, aio={settings.aio}, {settings.io_threads} I/O threads{data}"


def _describe_cards(layout: Layout) -> str:
    """Returns model and properties of the network cards, as they are."""
    settings = layout.settings
    parts = [
        settings.nic.value,
        "vhost" if layout.has_vhost else "packets by QEMU",
        f"{settings.queues} queue{'s' * (settings.queues > 1)}",
    ]
    parts += [] if settings.offloads else ["no offloads"]
    parts += [f"MTU {settings.mtu}"] if settings.mtu else []
    parts += [f"joined to {settings.bridge}"] if settings.bridge else []
    return ", ".join([*parts, *([f"{settings.vfio} passed through"] if settings.vfio else [])])


def _describe_share(layout: Layout) -> str:
    """Returns the machine's share of the host, as far as it is not the usual one."""
    settings, nodes = layout.settings, ", ".join(map(str, layout.nodes))
    parts = [f"{settings.pages} pages"] if settings.pages is not Pages.NORMAL else []
    parts += [f"memory of NUMA node {nodes}"] if nodes else []
    parts += [f"CPU weight {settings.cpu_weight}"] if settings.cpu_weight else []
    parts += [f"disk weight {settings.io_weight}"] if settings.io_weight else []
    return ", ".join([*parts, *([f"nice {settings.nice}"] if settings.nice else [])])


def keep_ports(command: list[str], first_line: str) -> list[str]:
    """The command of one of our servers with the ports that it took before in place of free ones."""
    try:
        ready = json.loads(first_line)
        ports = {"--listen": ready["http"], "--listen-tls": ready["https"], "--listen-lmtp": ready.get("lmtp")}
    except (ValueError, KeyError, TypeError):
        return command
    return [
        f"{argument.rpartition(':')[0]}:{taken.rpartition(':')[2]}"
        if (taken := ports.get(before)) and argument.endswith(":0")
        else argument
        for before, argument in zip(["", *command], command, strict=False)
    ]


def list_passed_interfaces(card: PassedCard | None) -> list[Json]:
    """Returns the interface of a card that the machine drives itself, as the agent reads it; none without a card."""
    if card is None:
        return []
    return [{"mac": card.mac, "address": card.address, "prefix": card.interface.network.prefixlen, "gateway": None}]


def describe_interfaces(nics: Mapping[str, NetworkInterface], model: Nic = Nic.VIRTIO) -> list[Json]:
    """Returns the description of the machine's networks for the agent."""
    if not nics:
        return [{"mac": get_user_mac(), "address": USER_GUEST, "prefix": 24, "gateway": USER_HOST}]
    return [
        {
            "made_as": choose_card_mac(number, nic, model),
            "mac": nic.mac,
            "address": nic.address,
            "prefix": nic.prefix,
            "gateway": nic.host if name == PUBLIC else None,
        }
        for number, (name, nic) in enumerate(nics.items())
    ]
