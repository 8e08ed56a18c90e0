"""A virtual machine: QEMU started, controlled over its machine protocol, its agent inside spoken to, and ended."""

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qemu.qmp import QMPClient, QMPError

from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.machine import PUBLIC
from loadstone.model.target import Endpoint
from loadstone.platforms import sockets
from loadstone.platforms.contract import Greeting, Place, Service, Site
from loadstone.platforms.fabric import address_of, addresses
from loadstone.platforms.lease import Lease
from loadstone.platforms.process import START_S, claim, core_list
from loadstone.platforms.vm import usage
from loadstone.platforms.vm.agent import Agent
from loadstone.platforms.vm.command import USER_GUEST, USER_HOST, Layout, Sockets, command, user_mac
from loadstone.platforms.ways import LOOPBACK, way_over

Json = dict[str, Any]

logging.getLogger("qemu.qmp").setLevel(logging.CRITICAL)  # its errors come as exceptions too

BOOT_S = 60.0
"""Longest time from start to the agent's first word."""
CONNECT_S = 10.0
"""Longest time from start to QEMU's first word."""
OFF_S = 10.0
"""Longest time to power off before QEMU is told to end."""
QUIT_S = 3.0
TAIL = 600
"""Characters of the console that an error shows."""


@dataclass
class GuestService:
    """A program inside a machine."""

    name: str
    agent: Agent
    log: Path
    first_line: str = ""
    _line: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    _end: str = ""

    def hear(self, event: Json) -> None:
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

    async def ready(self, command: list[str]) -> None:
        """Waits for its first line. Raises ServiceError."""
        with contextlib.suppress(TimeoutError):
            self.first_line = await asyncio.wait_for(asyncio.shield(self._line), START_S)
        if not self.first_line:
            state = f"ended with {self._end}" if self._end else "stayed silent"
            said = self.log.read_text().strip()[-500:] if self.log.is_file() else ""
            what = f"`{' '.join(command[:2])}` {state} instead of getting ready"
            raise ServiceError(f"{what}: {said or 'it wrote nothing'}") from None

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
class VirtualMachine:
    """A machine that is up."""

    site: Site
    layout: Layout
    process: asyncio.subprocess.Process
    qmp: QMPClient
    agent: Agent
    log: Path
    facts: Json = field(default_factory=dict)
    listen: str = "0.0.0.0"
    services: dict[str, GuestService] = field(default_factory=dict)
    threads: dict[int, str] = field(default_factory=dict)
    """QEMU's threads by what they do: virtual processors and those for disks; all others emulate devices."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.site.name

    @property
    def about(self) -> str:
        """What it is, with the accelerator that it is emulated or run by."""
        return f"{self.site.machine}, {self.layout.accelerator.value.upper()}"

    @property
    def address(self) -> str:
        """Its own, or the host's where ports are forwarded."""
        return address_of(self.site.wires) or LOOPBACK

    @property
    def pid(self) -> int:
        """QEMU's process."""
        return self.process.pid

    @property
    def files(self) -> str:
        """A folder of its own file system."""
        return "/srv/loadstone"

    async def start(self, role: str, command: list[str], greeting: Greeting = Greeting.LINE) -> Service:
        """Has the agent start a program."""
        claim(self.services, role, self.name)
        service = self.services[role] = GuestService(role, self.agent, self.site.logs / f"{role}.log")
        try:
            await self.agent.ask("start", name=role, command=command)
        except PlatformError as error:
            raise ServiceError(f"`{command[0]}` cannot be started on {self.name}: {error}") from None
        if greeting is Greeting.LINE:
            await service.ready(command)
        return service

    async def write(self, name: str, text: str) -> None:
        """Has the agent write a file."""
        await self.agent.ask("write", path=f"{self.files}/{name}", text=text)

    async def reach(self, port: int) -> Endpoint:
        """Its own address, or a port of the host that is forwarded to it."""
        if self.site.wires:
            return Endpoint(self.address, port)
        there = sockets.free_port()
        words = f"hostfwd_add public tcp:{LOOPBACK}:{there}-:{port}"
        said = await self.qmp.execute("human-monitor-command", {"command-line": words})
        if said:
            raise PlatformError(f"Port {port} of {self.name} cannot be forwarded: {str(said).strip()}")
        return Endpoint(LOOPBACK, there)

    async def way_to(self, peer: Place, port: int) -> Endpoint | None:
        """Over a network both are on, the private one first; or over the host."""
        return await way_over(self.site.wires, peer, port, None if self.site.wires else USER_HOST)

    async def inside(self) -> Json | None:
        """What its own kernel counts."""
        try:
            counters: Json = await self.agent.ask("look", patience_s=usage.PATIENCE_S)
        except PlatformError:
            return None
        return counters

    async def outside(self) -> Json | None:
        """What it costs the host, by kind of thread, and what the hypervisor counts of its disks and lines."""
        return await usage.outside(self.process.pid, self.qmp, self.threads, self.site.wires)

    def end(self) -> str:
        """How QEMU ended, with the console's last words."""
        code = self.process.returncode
        return "" if code is None else f"{_how(code)}; {_said(self.log, self.layout.sockets.console)}"


@asynccontextmanager
async def virtual_machine(site: Site, layout: Layout) -> AsyncIterator[VirtualMachine]:
    """Starts a machine, waits for its agent, gives its interfaces their addresses; ends it with the block.

    Raises PlatformError with the end of its console when it does not come up.
    """
    log = site.logs / f"{site.name}-qemu.log"
    started = time.monotonic()
    qmp, agent = QMPClient(site.name), Agent(lambda event: hear(event))
    heard: dict[str, GuestService] = {}

    def hear(event: Json) -> None:
        if event.get("name") in heard:
            heard[event["name"]].hear(event)

    await qmp.start_server(str(layout.sockets.qmp))
    await agent.listen(layout.sockets.agent)
    process = await _spawn(layout, log)
    try:
        site.lease.note_process(process.pid, f"virtual machine {site.name}")
        machine = VirtualMachine(site, layout, process, qmp, agent, log, services=heard)
        await _within(machine, qmp.accept(), CONNECT_S, "start")
        await _place_threads(machine)
        await qmp.execute("cont")
        hello = await _within(machine, agent.hello(), BOOT_S, "boot")
        await agent.ask("network", interfaces=_interfaces(site.wires))
        machine.facts |= {
            "platform": "vm",
            "accelerator": layout.accelerator.value,
            "cpus": site.machine.cpus or 1,
            "memory_mib": site.machine.memory,
            "image": f"{layout.image.name} {layout.image.digest}",
            "kernel": hello["kernel"],
            "qemu": await _version(qmp),
            "network": "bridge" if site.wires else "user",
            "networks": addresses(site.wires),
            "boot_s": round(time.monotonic() - started, 2),
            "clock": await agent.clock(),
            "disk": layout.disk and f"cache={site.machine.cache}, {site.machine.io_threads} I/O threads",
            "console": layout.sockets.console.name,
        }
        yield machine
    finally:
        await _end(process, qmp, agent)


async def _spawn(layout: Layout, log: Path) -> asyncio.subprocess.Process:
    inside = ["nsenter", f"--net=/run/netns/{layout.wires[0].namespace}"] if layout.wires else []
    with log.open("wb") as errors:
        return await asyncio.create_subprocess_exec(
            *inside,
            *command(layout),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            start_new_session=True,
        )


async def _within(machine: VirtualMachine, waiting: Coroutine[Any, Any, Any], seconds: float, do: str) -> Any:
    """Waits for a sign of life, no longer than it takes QEMU to end. Raises PlatformError."""
    sign, death = asyncio.ensure_future(waiting), asyncio.ensure_future(machine.process.wait())
    await asyncio.wait((sign, death), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    if sign.done() and sign.exception() is None:
        death.cancel()
        return sign.result()
    if sign.done():  # the channel broke: QEMU is ending
        await asyncio.wait((death,), timeout=QUIT_S)
    for task in (sign, death):
        task.cancel()
    await asyncio.gather(sign, death, return_exceptions=True)
    said = _said(machine.log, machine.layout.sockets.console)
    code = machine.process.returncode
    why = f"did not {do} within {seconds:g} s" if code is None else f"ended with {_how(code)} instead of coming up"
    raise PlatformError(f"The virtual machine {machine.name} {why}; {said}")


def _how(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"


def _said(log: Path, console: Path) -> str:
    """The last words of QEMU and of the console, and where all are."""
    told = []
    for what, path in (("QEMU", log), ("its console", console)):
        text = path.read_text(errors="replace").strip() if path.is_file() else ""
        if text:
            panic = max(0, text.find("Kernel panic"))
            told.append(f"{what} says: {text[panic:][:TAIL] if panic else text[-TAIL:]}")
    return "; ".join([*told, f"console kept in {console}"]) if told else f"its console, {console}, is empty"


async def _place_threads(machine: VirtualMachine) -> None:
    """Learns which thread does what, and keeps them on the declared cores of the host."""
    for kind, question in (("vcpu", "query-cpus-fast"), ("io", "query-iothreads")):
        said: Any = await machine.qmp.execute(question)
        machine.threads |= {one["thread-id"]: kind for one in said}
    pin = machine.site.machine.pin
    if pin is not None:
        cores = core_list(pin)
        for task in Path(f"/proc/{machine.process.pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), cores)


def _interfaces(wires: Any) -> list[Json]:
    if not wires:
        return [{"mac": user_mac(), "address": USER_GUEST, "prefix": 24, "gateway": USER_HOST}]
    return [
        {
            "mac": wire.mac,
            "address": wire.address,
            "prefix": wire.prefix,
            "gateway": wire.host if wire.network == PUBLIC else None,
        }
        for wire in wires.values()
    ]


async def _version(qmp: QMPClient) -> str:
    said = await qmp.execute("query-version")
    assert isinstance(said, dict)
    held: Any = said["qemu"]
    return f"{held['major']}.{held['minor']}.{held['micro']}"


async def _end(process: asyncio.subprocess.Process, qmp: QMPClient, agent: Agent) -> None:
    """Powers it off, then has QEMU end, then kills it."""
    if process.returncode is None:
        with contextlib.suppress(PlatformError, TimeoutError):
            await agent.ask("off", patience_s=OFF_S)
    steps = ((process.wait, OFF_S if agent.was_there else 0.1), (lambda: _quit(qmp, process), QUIT_S))
    for wait, seconds in steps:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wait(), seconds)
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    await agent.close()
    with contextlib.suppress(QMPError, EOFError, OSError, Exception):  # it reports the end of QEMU as an error
        await qmp.disconnect()


async def _quit(qmp: QMPClient, process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(QMPError, EOFError, OSError):
            await qmp.execute("quit")
    await process.wait()


def short(lease: Lease, name: str, console: Path) -> Sockets:
    """Sockets in the lease's folder, whose path is short enough for them."""
    return Sockets(lease.folder / f"{name}.qmp", lease.folder / f"{name}.agent", console)
