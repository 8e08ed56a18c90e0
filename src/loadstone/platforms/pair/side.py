"""One side of a pair: a QEMU and the agent beside it, both children of ours."""

import asyncio
import contextlib
import json
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qemu.qmp import ExecuteError, QMPClient, QMPError

from loadstone.host.programs import pair, preload
from loadstone.model.errors import PlatformError
from loadstone.platforms.failing import send
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.pair.command import SNAPSHOT, Mode, PairLayout, SideFiles, agent, qemu

Json = dict[str, Any]

READY_S = 20.0
"""Longest wait for a program to say that it is there."""
QUIT_S = 2.0
LOOK_S = 0.01
REFUSED = "refused"
"""What an agent says when it does not do what it was told."""
MEMORY = "LOADSTONE_PAIR_MEMORY"
"""Tells the library in QEMU where the log is."""


@dataclass
class PairSide:
    """A machine and its agent."""

    layout: PairLayout
    files: SideFiles
    journal: ResourceJournal
    logs: Path
    events: list[Json] = field(default_factory=list)
    """What the agent said."""
    metrics: Json = field(default_factory=dict)
    """What it measured last."""
    tap: str = ""
    """The tap that its agent has."""
    agent: asyncio.subprocess.Process | None = None
    machine: asyncio.subprocess.Process | None = None
    qmp: QMPClient | None = None
    _heard: asyncio.Condition = field(default_factory=asyncio.Condition)
    _reading: asyncio.Task[None] | None = None

    @property
    def console(self) -> Path:
        """What its kernel writes."""
        return self.logs / f"{self.layout.name}-{self.files.name}-console.log"

    @property
    def pid(self) -> int:
        """QEMU's process; 0 where there is none."""
        return self.machine.pid if self.machine is not None and self.machine.returncode is None else 0

    @property
    def agent_pid(self) -> int:
        """The agent's process; 0 where there is none."""
        return self.agent.pid if self.agent is not None and self.agent.returncode is None else 0

    async def start_agent(self, tap: str, store: Path, follow: str | None) -> None:
        """Starts the agent in the namespace of the machine's network. Raises PlatformError."""
        self.tap = tap
        inside = ["nsenter", f"--net=/run/netns/{self.layout.nic.namespace}"]
        words = agent(pair(), self.layout, self.files, tap, store, follow)
        with self._log("agent").open("wb") as log:
            self.agent = await asyncio.create_subprocess_exec(
                *inside,
                *words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self.journal.note_process(self.agent.pid, f"agent {self.files.name} of the pair {self.layout.name}")
        self._reading = asyncio.create_task(self._read(self.agent))
        await self.event("ready")

    async def start_machine(self, mode: Mode, state: Path | None) -> None:
        """Starts QEMU, which goes on from a saved state. Raises PlatformError."""
        self.qmp = QMPClient(self.files.name)
        # A machine that goes on by itself may tell of it before its answer, which only a running session takes well.
        self.qmp.negotiate = False
        await self.qmp.start_server(str(self.files.qmp))
        opened = os.open(state, os.O_RDONLY) if state is not None else None
        environment = dict(os.environ)
        if mode is not Mode.NONE:
            environment |= {"LD_PRELOAD": preload(), MEMORY: str(self.files.memory)}
        try:
            with self._log("qemu").open("wb") as log:
                self.machine = await asyncio.create_subprocess_exec(
                    *qemu(self.layout, mode, self.files, self.console, opened),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    pass_fds=() if opened is None else (opened,),
                    start_new_session=True,
                )
        finally:
            if opened is not None:
                os.close(opened)
        self.journal.note_process(self.machine.pid, f"machine {self.files.name} of the pair {self.layout.name}")
        try:
            await asyncio.wait_for(self.qmp.accept(), READY_S)
            await asyncio.wait_for(self.qmp.execute("qmp_capabilities"), READY_S)
        except (TimeoutError, QMPError, OSError) as error:
            raise PlatformError(f"QEMU of {self.files.name} did not start ({error!r}): {self._said('qemu')}") from None
        if self.agent is not None:
            await self.order("machine", pid=self.machine.pid)

    async def job(self, command: str, within_s: float) -> str:
        """Has QEMU save or load the snapshot; why that failed, empty when it did not. Raises PlatformError."""
        named = {"tag": SNAPSHOT, "vmstate": SNAPSHOT, "devices": [SNAPSHOT]}
        await self.execute(command, **{"job-id": command, **named})
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            (job,) = [one for one in await self.execute("query-jobs") if one["id"] == command]
            if job["status"] == "concluded":
                await self.execute("job-dismiss", id=command)
                return str(job.get("error", ""))
            await asyncio.sleep(LOOK_S)
        raise PlatformError(f"QEMU of {self.files.name} did not end `{command}` within {within_s:g} s.")

    async def execute(self, command: str, **arguments: Any) -> Any:
        """Has QEMU do something. Raises PlatformError."""
        assert self.qmp is not None
        try:
            return await asyncio.wait_for(self.qmp.execute(command, arguments or None), READY_S)
        except ExecuteError as error:
            raise PlatformError(f"QEMU of {self.files.name} did not `{command}`: {error}") from None
        except (TimeoutError, QMPError, EOFError, OSError) as error:
            raise PlatformError(f"QEMU of {self.files.name} did not `{command}`: {error!r}") from None

    async def order(self, do: str, **what: Any) -> None:
        """Tells the agent to do something."""
        assert self.agent is not None
        assert self.agent.stdin is not None
        with contextlib.suppress(ConnectionError):
            self.agent.stdin.write(json.dumps({"do": do, **what}).encode() + b"\n")
            await self.agent.stdin.drain()

    async def event(self, name: str, after: int = 0, within_s: float = READY_S) -> Json:
        """Waits for what the agent says, beyond its first `after` events. Raises PlatformError."""

        def found(what: str = name) -> Json | None:
            return next((event for event in self.events[after:] if event["event"] == what), None)

        def is_over() -> bool:
            has_said = found() is not None or found(REFUSED) is not None
            return has_said or (self._reading is not None and self._reading.done())

        with contextlib.suppress(TimeoutError):
            async with self._heard:
                await asyncio.wait_for(self._heard.wait_for(is_over), within_s)
        event = found()
        if event is None and (refused := found(REFUSED)) is not None:
            raise PlatformError(f"The agent {self.files.name} refused: {refused['why']}")
        if event is None:
            said = self._said("agent") or f"it said {[event['event'] for event in self.events]}"
            raise PlatformError(f"The agent {self.files.name} did not say `{name}` within {within_s:g} s: {said}")
        return event

    async def end(self, keeps_disk: bool = False) -> None:
        """Ends both; what they had is gone but for the disk where that is wanted."""
        if self.agent is not None and self.agent.returncode is None:
            await self.order("stop")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.agent.wait(), QUIT_S)
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
        left = [files.qmp, files.inlet, files.outlet, files.memory, files.snapshot, files.disk_socket]
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
        send([self.pid], signal.SIGKILL)  # nobody would hold its outputs any more
        async with self._heard:
            self._heard.notify_all()

    def _log(self, what: str) -> Path:
        return self.logs / f"{self.layout.name}-{self.files.name}-{what}.log"

    def _said(self, what: str) -> str:
        path = self._log(what)
        return path.read_text(errors="replace").strip()[-600:] if path.is_file() else ""
