"""One side of a pair: a QEMU and the agent beside it."""

import asyncio
import contextlib
import json
import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from qemu.qmp import ExecuteError, QMPClient, QMPError

from loadstone.host import launch
from loadstone.host.programs import pair, preload
from loadstone.model.errors import PlatformError
from loadstone.platforms.fabric import line_counters
from loadstone.platforms.failing import send
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.pair.command import Mode, PairLayout, SideFiles, agent, namespace_file, qemu
from loadstone.platforms.vm import usage

Json = dict[str, Any]

SIDE_READY_TIMEOUT_S = 20.0
"""Longest wait for a program to say that it is there."""
ENDING_S = 1.0
"""Wait for a machine that may be about to end, where its agent has ended."""
SIDE_QUIT_TIMEOUT_S = 2.0
STATE_FILE_NAME = "state"
"""What QEMU calls the open file that it writes its machine's state to."""
SAVE_LIMIT_BYTES_PER_S = 1 << 40
"""Speed at which it may: any."""
STATE_SAVE_TIMEOUT_S = 60.0
"""Longest time for a state to be written."""
SIDE_POLL_INTERVAL_S = 0.01
ENDED_SAVES = ("completed", "failed", "cancelled")
"""What QEMU says of a state that it writes no more."""
REFUSED = "refused"
"""What an agent says when it does not do what it was told."""
PAIR_MEMORY_VARIABLE = "LOADSTONE_PAIR_MEMORY"
"""Tells the library in QEMU where the log is."""


@dataclass(eq=False)
class Side(ABC):
    """A machine and its agent, wherever they are."""

    layout: PairLayout
    files: SideFiles
    """Where its host has them."""
    tap: str
    """The tap that its agent has."""
    events: list[Json] = field(default_factory=list)
    """What the agent said."""
    metrics: Json = field(default_factory=dict)
    """What it measured last."""
    started: str = ""
    """How the machine began whose state this side was given first, for the report."""
    _heard: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    @abstractmethod
    def place(self) -> str:
        """Its host, for people."""

    @property
    @abstractmethod
    def is_up(self) -> bool:
        """Whether its machine is there."""

    @property
    @abstractmethod
    def is_mute(self) -> bool:
        """Whether its agent says nothing any more."""

    @property
    def processes(self) -> Mapping[str, int]:
        """Processes of this host that are its: `machine` and `agent`, as far as they are there."""
        return {}

    @property
    def pid(self) -> int:
        """QEMU's process on this host; 0 where there is none."""
        return self.processes.get("machine", 0)

    @abstractmethod
    async def start_agent(self, follow: str | None) -> None:
        """Starts its agent, which follows the one at that address. Raises PlatformError."""

    @abstractmethod
    async def start_machine(self, mode: Mode, has_state: bool) -> None:
        """Starts QEMU, which goes on from the saved state where there is one. Raises PlatformError."""

    @abstractmethod
    async def execute(self, command: str, **arguments: Any) -> Any:
        """Has QEMU do something. Raises PlatformError."""

    @abstractmethod
    async def order(self, do: str, **details: Any) -> None:
        """Tells the agent to do something."""

    @abstractmethod
    async def signal(self, number: signal.Signals, *whom: str) -> None:
        """Sends a signal to its `machine`, its `agent`, or both."""

    @abstractmethod
    async def outside(self) -> Json | None:
        """What its machine costs its host; None where that is not told."""

    @abstractmethod
    async def fetch(self, source: "Side", files: Mapping[Path, Path]) -> None:
        """Has files of another side, by where they are there, where it is itself; they are gone there. Raises
        PlatformError.
        """

    @abstractmethod
    async def forget(self, file: Path) -> None:
        """Removes a file on its host."""

    @abstractmethod
    async def said(self) -> str:
        """The last words of its agent's log."""

    @abstractmethod
    async def end(self) -> None:
        """Ends both; what they had is gone."""

    async def wait_for(self, is_so: Callable[[], bool], within_s: float) -> None:
        """Until what its agent has said makes something so, or the time is over."""
        with contextlib.suppress(TimeoutError):
            async with self._heard:
                await asyncio.wait_for(self._heard.wait_for(is_so), within_s)

    async def event(self, name: str, after: int = 0, within_s: float = SIDE_READY_TIMEOUT_S) -> Json:
        """Waits for what the agent says, beyond its first `after` events. Raises PlatformError."""

        def latest(kind: str = name) -> Json | None:
            return next((event for event in self.events[after:] if event["event"] == kind), None)

        def is_over() -> bool:
            has_said = latest() is not None or latest(REFUSED) is not None
            return has_said or self.is_mute

        await self.wait_for(is_over, within_s)
        event = latest()
        if event is None and (refused := latest(REFUSED)) is not None:
            raise PlatformError(f"The agent {self.files.name} refused: {refused['why']}")
        if event is None:
            events = [
                f"{event['event']} ({why})" if (why := event.get("why") or event.get("came")) else event["event"]
                for event in self.events
            ]
            reasons = "; ".join(filter(None, (f"it reported {', '.join(events) or 'nothing'}", await self.said())))
            raise PlatformError(f"The agent {self.files.name} did not report `{name}` within {within_s:g} s: {reasons}")
        return event


@dataclass(eq=False)
class PairSide(Side):
    """A machine and its agent, children of this process."""

    journal: ResourceJournal = field(kw_only=True)
    logs: Path = field(kw_only=True)
    agent: asyncio.subprocess.Process | None = None
    machine: asyncio.subprocess.Process | None = None
    qmp: QMPClient | None = None
    _reading: asyncio.Task[None] | None = None

    @property
    def place(self) -> str:
        """This one."""
        return "this host"

    @property
    def console(self) -> Path:
        """What its kernel writes."""
        return self.logs / f"{self.layout.name}-{self.files.name}-console.log"

    @property
    def processes(self) -> Mapping[str, int]:
        """As they run."""
        both = {"machine": self.machine, "agent": self.agent}
        return {
            kind: process.pid for kind, process in both.items() if process is not None and process.returncode is None
        }

    @property
    def is_up(self) -> bool:
        """Whether its process runs."""
        return self.pid != 0

    @property
    def is_mute(self) -> bool:
        """Whether its pipe has ended."""
        return self._reading is not None and self._reading.done()

    async def start_agent(self, follow: str | None) -> None:
        """Starts it; in the namespace of the machine's network, where the other agent is there too."""
        inside = [] if self.layout.remote else ["nsenter", f"--net={namespace_file(self.layout.nic.namespace)}"]
        argv = agent(pair(), self.layout, self.files, self.tap, follow)
        with self._log("agent").open("wb") as log:
            self.agent = await launch.start(
                *inside,
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self.journal.note_process(self.agent.pid, f"agent {self.files.name} of the pair {self.layout.name}")
        self._reading = asyncio.create_task(self._read(self.agent))
        await self.event("ready")

    async def start_machine(self, mode: Mode, has_state: bool) -> None:
        """Starts QEMU, which is given the state as a file that is open."""
        self.qmp = QMPClient(self.files.name)
        # A machine that goes on by itself may tell of it before its answer, which only a running session takes well.
        self.qmp.negotiate = False
        await self.qmp.start_server(str(self.files.qmp))
        opened = os.open(self.files.state, os.O_RDONLY) if has_state else None
        loaded = {} if not mode.is_logged else {"LD_PRELOAD": preload(), PAIR_MEMORY_VARIABLE: str(self.files.memory)}
        try:
            with self._log("qemu").open("wb") as log:
                self.machine = await launch.start_guarded(
                    *qemu(self.layout, mode, self.files, self.console, opened),
                    extra=loaded,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=() if opened is None else (opened,),
                    start_new_session=True,
                )
        finally:
            if opened is not None:
                os.close(opened)
        self.journal.note_process(self.machine.pid, f"machine {self.files.name} of the pair {self.layout.name}")
        try:
            await asyncio.wait_for(self.qmp.accept(), SIDE_READY_TIMEOUT_S)
            await asyncio.wait_for(self.qmp.execute("qmp_capabilities"), SIDE_READY_TIMEOUT_S)
        except (TimeoutError, QMPError, OSError) as error:
            raise PlatformError(
                f"QEMU of {self.files.name} did not start ({error!r}): {self._last_lines('qemu')}"
            ) from None
        if self.agent is not None:
            await self.order("machine", pid=self.machine.pid)

    async def save(self) -> None:
        """Has QEMU write the state of a machine that stands still, and has no log. Raises PlatformError."""
        assert self.qmp is not None
        with self.files.state.open("wb") as file:
            self.qmp.send_fd_scm(file.fileno())
            await self.execute("getfd", fdname=STATE_FILE_NAME)
        await self.execute("migrate-set-parameters", **{"max-bandwidth": SAVE_LIMIT_BYTES_PER_S})
        await self.execute("migrate", uri=f"fd:{STATE_FILE_NAME}")
        until = time.monotonic() + STATE_SAVE_TIMEOUT_S
        migration: Json = {}
        while migration.get("status") not in ENDED_SAVES and time.monotonic() < until:
            await asyncio.sleep(SIDE_POLL_INTERVAL_S)
            migration = await self.execute("query-migrate")
        if migration.get("status") != "completed":
            raise PlatformError(f"The state of {self.layout.name} was not saved: {migration}")

    async def execute(self, command: str, **arguments: Any) -> Any:
        """By its machine protocol."""
        assert self.qmp is not None
        try:
            return await asyncio.wait_for(self.qmp.execute(command, arguments or None), SIDE_READY_TIMEOUT_S)
        except ExecuteError as error:
            raise PlatformError(f"QEMU of {self.files.name} did not `{command}`: {error}") from None
        except (TimeoutError, QMPError, EOFError, OSError) as error:
            raise PlatformError(f"QEMU of {self.files.name} did not `{command}`: {error!r}") from None

    async def order(self, do: str, **details: Any) -> None:
        """By a line to its standard input."""
        assert self.agent is not None
        assert self.agent.stdin is not None
        with contextlib.suppress(ConnectionError):
            self.agent.stdin.write(json.dumps({"do": do, **details}).encode() + b"\n")
            await self.agent.stdin.drain()

    async def signal(self, number: signal.Signals, *whom: str) -> None:
        """To those that are there."""
        send([self.processes[kind] for kind in whom if kind in self.processes], number)

    async def outside(self) -> Json | None:
        """As the kernel counts QEMU's process, and the tap that its agent has."""
        seen = await usage.outside(self.pid, self.qmp, {}, {}) if self.qmp is not None and self.pid else None
        return None if seen is None else seen | {"network": self._lines()}

    def _lines(self) -> dict[str, dict[str, int]]:
        """Counters of its tap; none while its agent does not run."""
        nic = replace(self.layout.nic, interface=self.tap)
        with contextlib.suppress(OSError):
            return line_counters(self.processes["agent"], {nic.network: nic}) if "agent" in self.processes else {}
        return {}

    async def fetch(self, source: Side, files: Mapping[Path, Path]) -> None:
        """They are here already."""

    async def forget(self, file: Path) -> None:
        """Where it is there."""
        file.unlink(missing_ok=True)

    async def said(self) -> str:
        """As it stands, and how QEMU ended where it has."""
        end = ""
        if self.machine is not None:
            with contextlib.suppress(TimeoutError):
                status = await asyncio.wait_for(self.machine.wait(), ENDING_S)
                end = f"QEMU ended with status {status}: {self._last_lines('qemu') or 'no output'}"
        return "; ".join(filter(None, (self._last_lines("agent"), end)))

    async def end(self, keeps_disk: bool = False) -> None:
        """Asks first; the disk stays where that is wanted."""
        if self.agent is not None and self.agent.returncode is None:
            await self.order("stop")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.agent.wait(), SIDE_QUIT_TIMEOUT_S)
        for process in (self.machine, self.agent):
            if process is not None and process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if self._reading is not None:
            await self._reading
        if self.qmp is not None:
            with contextlib.suppress(Exception):  # it reports the end of QEMU as an error
                await self.qmp.disconnect()
        files = self.files
        left = [files.qmp, files.inlet, files.outlet, files.memory, files.disk_socket]
        for path in left if keeps_disk else [*left, *files.own_disk]:
            path.unlink(missing_ok=True)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            event: Json = json.loads(line) | {"heard_unix_s": time.time()}
            async with self._heard:
                if event["event"] == "metrics":
                    self.metrics = event
                else:
                    self.events.append(event)
                self._heard.notify_all()
        await self.signal(signal.SIGKILL, "machine")  # nobody would hold its outputs any more
        async with self._heard:
            self._heard.notify_all()

    def _log(self, program: str) -> Path:
        return self.logs / f"{self.layout.name}-{self.files.name}-{program}.log"

    def _last_lines(self, program: str) -> str:
        path = self._log(program)
        return path.read_text(errors="replace").strip()[-600:] if path.is_file() else ""
