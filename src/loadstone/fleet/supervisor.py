"""What looks after one host, on that host: drivers and machines that a coordinator has there, and their end.

Its methods carry out the messages of `requests`, which come and are answered in plain data, so that any engine can
carry them. When the coordinator falls silent all that it had here is ended, as if it had said so: nothing runs on for
nobody. A host that has a part of a pair waits for minutes, since its users need no coordinator.
"""

import asyncio
import contextlib
import os
import platform
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from loadstone.fleet.contract import FleetError, Json
from loadstone.fleet.hosted import HostedMachine
from loadstone.fleet.lease import hold_host
from loadstone.fleet.messages import carry_out, serve, write_error
from loadstone.fleet.pairs.requests import HalfRequest
from loadstone.fleet.requests import (
    HOST_REQUESTS,
    DriverState,
    HostState,
    MachineDescription,
    MachineRequest,
)
from loadstone.fleet.routes import add_route, forward
from loadstone.host.cores import on_cores, read_core_list
from loadstone.host.process import Child, Readiness, begin
from loadstone.host.programs import find_driver
from loadstone.host.runtime import make_temporary_folder
from loadstone.host.secrets import JOIN_TOKEN
from loadstone.measure.agent import AgentGauge, start_own_agent
from loadstone.model.fleet import DEFAULT_SILENCE_S
from loadstone.platforms.journal import reap
from loadstone.platforms.maker import MachineMaker, open_maker
from loadstone.platforms.registry import read_machine

if TYPE_CHECKING:
    from loadstone.fleet.pairs.half import HostedHalf

PAIR_SILENCE_TIMEOUT_S = 300.0
"""Silence after which a host that has a part of a pair gives its coordinator up: one that stands still ends no pair. A
pair with a lease lives on, others end.
"""
SUPERVISOR_POLL_INTERVAL_S = 0.25
MOST_LOG_BYTES = 256 * 1024
"""The end of a log that is handed over."""


@dataclass
class Supervisor:
    """One host's."""

    name: str
    address: str
    """At which others reach this host."""
    cores: str = ""
    lease: Callable[[str], AbstractContextManager[None]] = hold_host
    """How the host is taken."""
    ended: Callable[[], object] = lambda: None
    """Called when all is ended because the coordinator fell silent."""
    silence_s: float = DEFAULT_SILENCE_S
    """Silence of the coordinator after which all of its is ended here; its drivers alone, where a pair is here."""
    _maker: MachineMaker | None = None
    _gauge: AgentGauge | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _machines: dict[str, HostedMachine] = field(default_factory=dict)
    _halves: dict[str, "HostedHalf"] = field(default_factory=dict)
    _drivers: dict[str, Child] = field(default_factory=dict)
    _heard_s: float = field(default_factory=time.monotonic)
    _watching: asyncio.Task[None] | None = None
    _releasing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def answer(self, document: Json) -> Json:
        """Has a message carried out; its answer, or the error that came of it, in plain data. Raises neither."""
        self._heard_s = time.monotonic()
        try:
            return await serve(HOST_REQUESTS, document, self.name, self)
        except (OSError, psutil.Error) as error:
            return write_error(FleetError(f"{self.name}: {error}"))

    async def take(self, who: str, block: IPv4Network, silence_s: float) -> Json:
        """Takes the host for a coordinator, whose machines get addresses of this block; clears up what one that was
        lost has left. What the host is made of. Raises FleetError when another has it.
        """
        stack = self._stack
        stack.enter_context(self.lease(who))
        undone = await asyncio.to_thread(reap)
        logs = stack.enter_context(make_temporary_folder("host"))
        self._maker = await stack.enter_async_context(open_maker(logs, block))
        stack.push_async_callback(self._end_drivers)
        self._gauge = await stack.enter_async_context(start_own_agent(self.name))
        self._heard_s, self.silence_s = time.monotonic(), silence_s
        self._watching = asyncio.create_task(self._watch())
        return {
            "version": version("loadstone"),
            "kernel": platform.release(),
            "cores": len(read_core_list(self.cores) if self.cores else os.sched_getaffinity(0)),
            "memory_mib": psutil.virtual_memory().total >> 20,
            "free_mib": psutil.virtual_memory().available >> 20,
            "unix_s": time.time(),
            "undone": undone,
            "first": self._gauge.first,
        }

    async def beat(self) -> HostState:
        """Notes that the coordinator is there; how all that it has here is."""
        drivers = {name: _driver_state(child) for name, child in self._drivers.items()}
        return HostState(drivers, {name: hosted.state() for name, hosted in self._machines.items()})

    async def read_counters(self) -> Json | None:
        """Counts as the host's kernel does; None while nobody has taken the host."""
        return await self._gauge.read_inside() if self._gauge is not None else None

    async def add_route(self, block: IPv4Network, gateway: str) -> None:
        """Routes packets for another host's machines through that host. Raises FleetError."""
        await add_route(self._made_by().journal, block, gateway)

    async def make_machine(self, name: str, machine: Json, networks: list[str]) -> MachineDescription:
        """Makes a machine as users declare it. Raises PlatformError."""
        maker, spec = self._made_by(), read_machine(machine)
        started = await maker.start_machine(name, spec, networks, self.address)
        if maker.fabric.networks:
            await forward(maker.journal)
        hosted = self._machines[name] = HostedMachine(started, lambda peer: self._hosted(peer).machine)
        return MachineDescription(
            started.about, started.listen, started.address, started.files, started.comes_back, hosted.state()
        )

    async def ask_machine(self, machine: str, request: MachineRequest) -> Any:
        """Has a machine carry out a message. Raises what that raises, and FleetError where there is no such machine."""
        hosted = self._hosted(machine)
        return await carry_out(request, hosted, hosted.machine)

    async def list_pairs(self) -> list[str]:
        """Names of pairs of which a part lives here without a coordinator."""
        from loadstone.fleet.pairs.kept import list_kept_pairs

        return await asyncio.to_thread(list_kept_pairs)

    async def ask_half(self, pair: str, request: HalfRequest) -> Any:
        """Has this host's part of a pair over hosts carry out a message. Raises what that raises."""
        # It loads virtual machines, and few hosts have a part of a pair.
        from loadstone.fleet.pairs.half import HostedHalf

        maker = self._made_by()
        if pair not in self._halves:
            half = self._halves[pair] = HostedHalf(pair, maker, self.address)
            maker.stack.push_async_callback(half.end)
        return await carry_out(request, self._halves[pair])

    async def start_driver(self, name: str, leader: str, token: str) -> None:
        """Starts a driver that joins the one that leads there. Raises ServiceError."""
        pinned = on_cores(self.cores) if self.cores else ()
        argv = [*pinned, find_driver(), "join", leader, "--silence-s", f"{self.silence_s:g}"]
        log = self._made_by().logs / f"{name}.log"
        child = await begin(argv, log, ["loadstone-driver", "join"], Readiness.NONE, {JOIN_TOKEN: token})
        self._drivers[name] = child
        self._made_by().journal.note_process(child.pid, f"driver {name}")

    async def stop_driver(self, name: str) -> str:
        """Ends a driver; what it wrote on standard error."""
        child = self._drivers.pop(name, None)
        if child is None:
            return ""
        await child.stop()
        return _tail(child.log)

    async def read_logs(self) -> dict[str, str]:
        """Returns the logs of services and machines, by the name of the file."""
        return {file.name: _tail(file) for file in sorted(self._made_by().logs.iterdir()) if file.is_file()}

    async def release(self) -> None:
        """Ends all that the coordinator has here, and gives the host free."""
        async with self._releasing:
            if self._watching is not None and self._watching is not asyncio.current_task():
                self._watching.cancel()
            self._machines.clear()
            self._halves.clear()
            self._maker = None
            stack, self._stack = self._stack, AsyncExitStack()
            await stack.aclose()

    async def _watch(self) -> None:
        while (silent_s := time.monotonic() - self._heard_s) < self._longest_silence_s():
            if silent_s >= self.silence_s and self._drivers:
                await self._end_drivers()
            asleep_s = time.monotonic()
            await asyncio.sleep(SUPERVISOR_POLL_INTERVAL_S)
            # While this process stood still it could not hear anybody.
            self._heard_s += time.monotonic() - asleep_s - SUPERVISOR_POLL_INTERVAL_S
        if any(half.lease_s for half in self._halves.values()):
            self._stack.pop_all()  # agents and witness live on as their lease says
        else:
            await self.release()
        self.ended()

    def _longest_silence_s(self) -> float:
        return PAIR_SILENCE_TIMEOUT_S if self._halves else self.silence_s

    async def _end_drivers(self) -> None:
        await asyncio.gather(*(child.stop() for child in self._drivers.values()))
        self._drivers.clear()

    def _hosted(self, name: str) -> HostedMachine:
        if name not in self._machines:
            raise FleetError(f"{self.name} has no machine `{name}`.")
        return self._machines[name]

    def _made_by(self) -> MachineMaker:
        if self._maker is None:
            raise FleetError(f"The host {self.name} is not reserved, or was released.")
        return self._maker


def _driver_state(child: Child) -> DriverState:
    return DriverState(child.end(), child.process.returncode == 0)


def _tail(log: Path) -> str:
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - MOST_LOG_BYTES))
        return file.read().decode(errors="replace")
    return ""
