"""One side of a pair on this host: its processes are children of this one, or of a keeper that is gone."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from qemu.qmp import ExecuteError, QMPClient, QMPError

from loadstone.host import launch
from loadstone.host.adopted import AdoptedProcess
from loadstone.host.programs import find_preload, pair
from loadstone.host.tasks import end_tasks
from loadstone.model.errors import PlatformError
from loadstone.platforms.failing import send
from loadstone.platforms.interfaces import read_line_counters
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.pair.command import (
    build_agent_command,
    build_qemu_command,
    find_namespace_file,
    list_control_options,
)
from loadstone.platforms.pair.lines import AgentLine, open_monitor
from loadstone.platforms.pair.mode import Mode
from loadstone.platforms.pair.record import ProcessRecord, SideRecord
from loadstone.platforms.pair.side import SIDE_READY_TIMEOUT_S, STATE_SAVE_TIMEOUT_S, Side
from loadstone.platforms.vm import usage

Json = dict[str, Any]
SideProcess = asyncio.subprocess.Process | AdoptedProcess
ENDING_S = 1.0
"""Wait for a machine that may be about to end, where its agent has ended."""
SIDE_QUIT_TIMEOUT_S = 2.0
SIDE_POLL_INTERVAL_S = 0.01
STATE_FILE_NAME = "state"
"""What QEMU calls the open file that it writes its machine's state to."""
SAVE_LIMIT_BYTES_PER_S = 1 << 40
"""Speed at which it may: any."""
ENDED_SAVES = ("completed", "failed", "cancelled")
"""What QEMU says of a state that it writes no more."""
PAIR_MEMORY_VARIABLE = "LOADSTONE_PAIR_MEMORY"
"""Tells the library in QEMU where the log is."""


@dataclass(eq=False)
class PairSide(Side):
    """A machine and its agent, children of this process."""

    journal: ResourceJournal = field(kw_only=True)
    logs: Path = field(kw_only=True)
    agent: SideProcess | None = None
    machine: SideProcess | None = None
    qmp: QMPClient | None = None
    _reading: asyncio.Task[None] | None = None
    _guard: tuple[int, int] | None = None
    """The pipe of the guard that ends QEMU with the agent, whose writing end the agent holds."""

    def __post_init__(self) -> None:
        self.line = AgentLine(self.files.control)

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
        inside = [] if self.layout.remote else ["nsenter", f"--net={find_namespace_file(self.layout.nic.namespace)}"]
        argv = build_agent_command(pair(), self.layout, self.files, self.tap, follow) + list_control_options(
            self.layout, self.files
        )
        self._guard = os.pipe()
        # While it lives without a keeper, its files and networks are nobody's to clear up.
        held = (self._guard[1], self.journal.lock) if self.layout.lease_s else (self._guard[1],)
        with self._log("agent").open("wb") as log:
            self.agent = await launch.start(
                *inside,
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=log,
                pass_fds=held,
                start_new_session=True,
            )
        self.journal.note_process(self.agent.pid, f"agent {self.files.name} of the pair {self.layout.name}")
        self._write_record()
        self._reading = asyncio.create_task(self._read())
        await self.wait_event("ready")

    async def adopt(self, record: SideRecord) -> bool:
        """Takes over the processes of a side whose keeper is gone; whether its agent runs. All that it has reported is
        here then. Raises PlatformError where it runs and does not answer.
        """
        self.started = record.started
        self.agent = AdoptedProcess(record.agent.pid, record.agent.start)
        if record.machine is not None:
            self.machine = AdoptedProcess(record.machine.pid, record.machine.start)
        self._reading = asyncio.create_task(self._read())
        await self.wait_for(lambda: self.is_mute or bool(self.metrics), SIDE_READY_TIMEOUT_S)
        if self.is_mute:
            return False
        if not self.metrics:
            raise PlatformError(f"The agent {self.files.name} runs, but reported nothing.")
        with contextlib.suppress(PlatformError):
            self.qmp = await open_monitor(self.files.qmp, lambda: self.is_up)
        return True

    async def start_machine(self, mode: Mode, has_state: bool) -> None:
        """Starts QEMU, which is given the state as a file that is open."""
        opened = os.open(self.files.state, os.O_RDONLY) if has_state else None
        loaded = (
            {} if not mode.is_logged else {"LD_PRELOAD": find_preload(), PAIR_MEMORY_VARIABLE: str(self.files.memory)}
        )
        try:
            with self._log("qemu").open("wb") as log:
                self.machine = await self._launch(
                    *build_qemu_command(self.layout, mode, self.files, self.console, opened),
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
        self._write_record()
        try:
            self.qmp = await open_monitor(self.files.qmp, lambda: self.is_up)
        except PlatformError as error:
            if self.agent is None:
                raise PlatformError(f"{error} {await self.describe_log_end()}") from None
            raise PlatformError(f"{error} The agent {self.files.name} {await self.describe_reports()}") from None
        if self.agent is not None:
            await self.order("machine", pid=self.machine.pid)

    async def _launch(self, *argv: str, **options: Any) -> asyncio.subprocess.Process:
        """Starts QEMU, which ends with its agent, or with this process where it has no agent."""
        pipe, self._guard = self._guard, None
        if pipe is None:
            return await launch.start_guarded(*argv, **options)
        return await launch.start_held(*argv, pipe=pipe, **options)

    def _write_record(self) -> None:
        """Notes which processes this side has, as far as there is an agent."""
        with contextlib.suppress(ProcessLookupError):
            if self.agent is not None:
                machine = None if self.machine is None else ProcessRecord.read(self.machine.pid)
                processes = {"agent": ProcessRecord.read(self.agent.pid), "machine": machine}
                SideRecord(name=self.files.name, tap=self.tap, started=self.started, **processes).write(
                    self.files.record
                )

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
        """Executes a command of the machine protocol and returns its answer."""
        if self.qmp is None:
            raise PlatformError(f"QEMU of {self.files.name} cannot `{command}`: its monitor did not answer.")
        try:
            return await asyncio.wait_for(self.qmp.execute(command, arguments or None), SIDE_READY_TIMEOUT_S)
        except ExecuteError as error:
            raise PlatformError(f"QEMU of {self.files.name} did not `{command}`: {error}") from None
        except (TimeoutError, QMPError, EOFError, OSError) as error:
            raise PlatformError(f"QEMU of {self.files.name} did not `{command}`: {error!r}") from None

    async def order(self, do: str, **details: Any) -> None:
        """Sends an order to the agent's socket, one line."""
        await self.line.order(do, **details)

    async def signal(self, number: signal.Signals, *whom: str) -> None:
        """To those that are there."""
        running = self.processes  # once: a process may end between two looks
        send([running[kind] for kind in whom if kind in running], number)

    async def read_outside(self) -> Json | None:
        """Returns the kernel's counters of QEMU's process, and of the agent's tap."""
        seen = await usage.read_outside(self.pid, self.qmp, {}, {}) if self.qmp is not None and self.pid else None
        return None if seen is None else seen | {"network": self._lines()}

    def _lines(self) -> dict[str, dict[str, int]]:
        """Counters of its tap; none while its agent does not run."""
        nic = replace(self.layout.nic, interface=self.tap)
        agent = self.processes.get("agent")
        with contextlib.suppress(OSError):
            return read_line_counters(agent, {nic.network: nic}) if agent is not None else {}
        return {}

    async def fetch(self, source: Side, files: Mapping[Path, Path]) -> None:
        """They are here already."""

    async def forget(self, file: Path) -> None:
        """Removes the file if it is there."""
        file.unlink(missing_ok=True)

    async def describe_log_end(self) -> str:
        """Returns the end of the agent's log, and how QEMU ended if it has."""
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
        for end in self._guard or ():
            os.close(end)
        self._guard = None
        await self._disconnect_monitor()
        files = self.files
        left = [files.qmp, files.inlet, files.outlet, files.memory, files.disk_socket, files.control]
        files.record.unlink(missing_ok=True)
        for path in left if keeps_disk else [*left, *files.own_disk]:
            path.unlink(missing_ok=True)

    async def leave(self) -> None:
        """Keeps neither of them any more: both run on, and wait for another keeper."""
        if self._reading is not None:
            await end_tasks([self._reading])
        self.line.close()
        await self._disconnect_monitor()

    async def _disconnect_monitor(self) -> None:
        if self.qmp is not None:
            with contextlib.suppress(Exception):  # it reports the end of QEMU as an error
                await self.qmp.disconnect()

    async def _read(self) -> None:
        """Takes what the agent reports until it has ended: all from the beginning, on each connection."""
        while await self.line.connect(lambda: "agent" in self.processes):
            self.events.clear()
            async for report in self.line.read_reports():
                await self._take(report)
        await self.signal(signal.SIGKILL, "machine")  # nobody would hold its outputs any more
        async with self._heard:
            self._heard.notify_all()

    async def _take(self, report: Json) -> None:
        event = {("heard_unix_s" if key == "unix_s" else key): value for key, value in report.items()}
        async with self._heard:
            if event["event"] == "metrics":
                self.metrics = event
            else:
                self.events.append(event)
            self._heard.notify_all()

    def _log(self, program: str) -> Path:
        return self.logs / f"{self.layout.name}-{self.files.name}-{program}.log"

    def _last_lines(self, program: str) -> str:
        path = self._log(program)
        return path.read_text(errors="replace").strip()[-600:] if path.is_file() else ""
