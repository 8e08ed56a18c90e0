"""A virtual machine: QEMU started, controlled over its machine protocol, its agent inside spoken to, and ended."""

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qemu.qmp import QMPClient, QMPError

from loadstone.host import launch
from loadstone.host.http import find_free_port
from loadstone.host.tasks import TIDY_S, end_tasks
from loadstone.model.errors import PlatformError
from loadstone.model.target import Endpoint
from loadstone.platforms.cgroup import Group
from loadstone.platforms.contract import MachineContext
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.routing import LOOPBACK
from loadstone.platforms.vm import usage
from loadstone.platforms.vm.agent import GUEST_SETUP_TIMEOUT_S, Agent
from loadstone.platforms.vm.command import RESTORING, Layout, Sockets, build_command
from loadstone.platforms.vm.guest import Guest, describe_interfaces
from loadstone.platforms.vm.host_identity import read_host_identity
from loadstone.platforms.vm.host_share import find_vhost_threads, make_launch_prefix, make_share_group, pin_threads
from loadstone.platforms.vm.saved_state import SavedState, UnusableStateError, create_state, open_state, remove_state
from loadstone.platforms.vm.settings import Pages
from loadstone.platforms.vm.state_key import state_key
from loadstone.platforms.vm.state_transfer import LOAD_S, load_state, save_state

Json = dict[str, Any]

logging.getLogger("qemu.qmp").setLevel(logging.CRITICAL)  # its errors come as exceptions too

VM_BOOT_TIMEOUT_S = 120.0
"""Longest time from start to the agent's first word; emulated machines on a busy host took more than 30 s."""
VM_CONNECT_TIMEOUT_S = 60.0
"""Longest time from start to QEMU's first message, beside that for memory that is taken at once."""
PREALLOCATION_MIB_PER_S = 256
"""Least speed at which a host gives memory."""
OFF_S = 10.0
"""Longest time to power off before QEMU is told to end."""
VM_QUIT_TIMEOUT_S = 3.0
HURRY_S = 0.5
"""For a machine that never came up."""
MOST_RESTARTS = 100
"""Times that a machine is started anew at most: one that dies at once would be for ever."""
TAIL = 600
"""Characters of the console that an error shows."""
BEFORE_PANIC = 200
"""Those of them that are from before a panic: its reason is said there."""
TOO_SMALL = ("Initramfs unpacking failed: write error", "out_of_memory", "Out of memory")
"""What Linux says that has no room for its first files, or ends for want of memory."""
GIVE_MORE = "too little memory: give it more (`--machine memory=256`)"
NOTHING_SAID = "is empty"
"""End of a message of a machine that wrote nothing."""
VM_LEAST_MIB = 128
"""Memory with less of which Linux may hang without a word."""


@dataclass
class VirtualMachine(Guest):
    """A machine that is up, as a child process of ours."""

    qmp: QMPClient = field(kw_only=True)
    log: Path = field(kw_only=True)
    boot_s: float = field(default=VM_BOOT_TIMEOUT_S, kw_only=True)
    """Longest time from start to the agent's first word."""
    process: asyncio.subprocess.Process = field(init=False)
    threads: dict[int, str] = field(default_factory=dict)
    """QEMU's threads by what they do: virtual processors and those for disks; all others emulate devices."""
    group: Group | None = None
    """Control group with its weights, where it has any."""
    live_unix_s: float | None = None
    """When it last served anew, with all that ran in it."""
    restarts: int = 0
    is_coming_back: bool = False
    unrecovered: str = ""
    """Why its last restart failed; empty while none has."""

    @property
    def pid(self) -> int:
        """QEMU's process."""
        return self.process.pid

    @property
    def companions(self) -> Mapping[str, int]:
        """Threads of the kernel that move its packets, where they are processes of their own."""
        outside = [
            thread
            for thread, kind in self.threads.items()
            if kind == usage.VHOST and not Path(f"/proc/{self.pid}/task/{thread}").exists()
        ]
        return {f"vhost {number}": thread for number, thread in enumerate(outside, 1)}

    @property
    def recovery(self) -> dict[str, float]:
        """When it last served anew."""
        return {} if self.live_unix_s is None else {"live": self.live_unix_s}

    @property
    def comes_back(self) -> bool:
        """Where that is declared."""
        return self.layout.settings.restart

    async def boot_or_restore(self, is_cold: bool = False) -> None:
        """Restores the machine from the saved state of its kind; boots it where there is none that can be used, or it
        is to be `cold`. Raises PlatformError.
        """
        key = "" if is_cold else await asyncio.to_thread(_key_of, self.layout)
        started, unusable = time.monotonic(), ""
        if key:
            try:
                if await self._restore(key):
                    await self._describe(time.monotonic() - started)
                    return
            except UnusableStateError as error:
                unusable = f": the saved state could not be restored, {error}"
                await self._give_up(key)
        saved_s = await self._boot(key)
        self.facts["started"] = f"booted{unusable}"
        if saved_s:
            self.facts["saved_s"] = round(saved_s, 2)
        await self._describe(time.monotonic() - started - saved_s)

    async def _boot(self, key: str) -> float:
        """Boots it, and keeps its state under the key; for how many seconds it stood still for that."""
        await self._start_qemu()
        await self.qmp.execute("cont")
        hello = await _within(self, self.agent.wait_hello(), self.boot_s, "boot")
        saved_s = await self._keep_state(key, hello) if key else 0.0
        await self.personalize(describe_interfaces(self.context.nics, self.layout.settings.nic))
        return saved_s

    async def _keep_state(self, key: str, hello: Json) -> float:
        """Saves the state, before anything in it is one machine's own. One that cannot be saved is worth no error."""
        with create_state(key, self.context.journal) as writer:
            if writer is None:
                return 0.0
            began = time.monotonic()
            try:
                await save_state(self.qmp, writer)
                await asyncio.to_thread(writer.finish, hello)
            except (OSError, QMPError, EOFError, TimeoutError) as error:
                self.facts["not_saved"] = str(error) or type(error).__name__
            return time.monotonic() - began

    async def _restore(self, key: str) -> bool:
        """Starts it from the state of this key; whether there is one. Raises UnusableStateError."""
        with open_state(key) as state:
            if state is None:
                return False
            checking = asyncio.create_task(asyncio.to_thread(state.verify))
            try:
                await self._start_qemu(state)
                await checking
                await _within(self, load_state(self.qmp, state), LOAD_S, "restore its state")
                self.agent.assume_hello(state.header.hello)
                await self.qmp.execute("cont")
                await self.personalize(describe_interfaces(self.context.nics, self.layout.settings.nic))
            except (PlatformError, QMPError, EOFError, OSError) as error:
                raise UnusableStateError(str(error).partition("; console kept")[0]) from None
            finally:
                await asyncio.gather(checking, return_exceptions=True)
            self.facts["started"] = state.about
            return True

    async def _give_up(self, key: str) -> None:
        """Ends a machine that could not be restored, and removes the state."""
        await asyncio.to_thread(remove_state, key)
        if hasattr(self, "process"):
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
            await _end(self.process, self.qmp, self.agent)
        self.qmp, self.agent = QMPClient(self.name), Agent()

    async def _start_qemu(self, state: SavedState | None = None) -> None:
        """Starts QEMU, paused, with its threads where they belong; it can read the state that is given."""
        sockets = self.layout.sockets
        await self.qmp.start_server(str(sockets.qmp))
        await self.agent.listen(sockets.agent)
        self.agent.hear = self.on_event
        if self.group is None:
            share = (self.context.journal, self.name, self.layout.settings)
            self.group = await asyncio.to_thread(make_share_group, *share)
        self.process = await _spawn(self.layout, self.log, state, self.group)
        self.context.journal.note_process(self.process.pid, f"virtual machine {self.name}")
        await _within(self, self.qmp.accept(), _connect_timeout_s(self.layout), "start")
        await _place_threads(self)

    async def _describe(self, boot_s: float) -> None:
        self.describe(await self.agent.wait_hello(), boot_s, await self.agent.compare_clock())
        self.facts["qemu"] = await _version(self.qmp)

    async def keep(self) -> None:
        """Starts it anew, with its files and services, whenever it dies; until cancelled, or a restart fails, of which
        `end` gives the reason.
        """
        while self.restarts < MOST_RESTARTS:
            await self.process.wait()
            self.restarts += 1
            self.is_coming_back = True
            try:
                await self._come_back()
            except Exception as error:
                self.unrecovered = str(error) or type(error).__name__
                raise
            finally:
                self.is_coming_back = False

    async def _come_back(self) -> None:
        await _end(self.process, self.qmp, self.agent)
        self.qmp, self.agent = QMPClient(self.name), Agent()
        await self.boot_or_restore(is_cold=True)  # its recovery is measured, which is a boot
        for name, text in self.written.items():
            await self.agent.ask("write", GUEST_SETUP_TIMEOUT_S, path=f"{self.files}/{name}", text=text)
        for service in self.services.values():
            await service.begin_anew(self.agent)
        self.live_unix_s = time.time()

    async def forward(self, port: int) -> Endpoint:
        """Has QEMU listen on a free port. Raises PlatformError."""
        there = find_free_port()
        monitor_command = f"hostfwd_add public tcp:{LOOPBACK}:{there}-:{port}"
        reply = await self.qmp.execute("human-monitor-command", {"command-line": monitor_command})
        if reply:
            raise PlatformError(f"Port {port} of {self.name} cannot be forwarded: {str(reply).strip()}")
        return Endpoint(LOOPBACK, there)

    async def read_outside(self) -> Json | None:
        """Returns the machine's cost on the host by kind of thread, and the hypervisor's counters of its disks and
        networks.
        """
        return await usage.read_outside(self.process.pid, self.qmp, self.threads, self.context.nics)

    def end(self) -> str:
        """How QEMU ended, with the console's last words, or why its restart failed; not while it is started anew."""
        if self.unrecovered:
            return f"it died, and restart {self.restarts} failed: {self.unrecovered}"
        code = None if self.is_coming_back else self.process.returncode
        return "" if code is None else f"{_how(code)}; {read_last_output(self.log, self.layout.sockets.console)}"


@asynccontextmanager
async def start_virtual_machine(
    context: MachineContext, layout: Layout, boot_s: float | None = None, is_cold: bool = False
) -> AsyncIterator[VirtualMachine]:
    """Starts a machine, waits for its agent, gives it what is its own; ends it with the block. One that is declared
    `cold`, or is to be, boots.

    Raises PlatformError with the end of its console when it does not come up.
    """
    log = context.logs / f"{context.name}-qemu.log"
    machine = VirtualMachine(
        context,
        layout,
        Agent(),
        qmp=QMPClient(context.name),
        log=log,
        boot_s=VM_BOOT_TIMEOUT_S if boot_s is None else boot_s,
    )
    try:
        await machine.boot_or_restore(is_cold or not layout.is_restorable)
        async with _running_machine(machine):
            yield machine
    finally:
        if hasattr(machine, "process"):
            await _end(machine.process, machine.qmp, machine.agent)
        if machine.group is not None:
            await asyncio.to_thread(machine.group.remove)


@asynccontextmanager
async def _running_machine(machine: VirtualMachine) -> AsyncIterator[None]:
    """Starts it anew while the block runs, where that is declared."""
    if not machine.comes_back:
        yield
        return
    keeping = asyncio.create_task(machine.keep())
    try:
        yield
    finally:
        await end_tasks([keeping], TIDY_S)


def _key_of(layout: Layout) -> str:
    """The key of its saved state; empty where it has none, since QEMU cannot be read."""
    try:
        return state_key(layout, read_host_identity())
    except OSError:
        return ""


async def _spawn(
    layout: Layout, log: Path, state: SavedState | None, group: Group | None
) -> asyncio.subprocess.Process:
    settings = layout.settings
    with log.open("wb") as errors:
        return await launch.start_guarded(
            *make_launch_prefix(settings, layout.nics, group, locks_memory=bool(settings.vfio)),
            *build_command(layout),
            *(RESTORING if state else ()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            start_new_session=True,
            pass_fds=(state.file.fileno(),) if state else (),
        )


def _connect_timeout_s(layout: Layout) -> float:
    takes_memory = layout.nodes or layout.settings.pages is not Pages.NORMAL
    return VM_CONNECT_TIMEOUT_S + (layout.spec.memory / PREALLOCATION_MIB_PER_S if takes_memory else 0)


async def _within(machine: VirtualMachine, waiting: Coroutine[Any, Any, Any], seconds: float, do: str) -> Any:
    """Waits for a sign of life, no longer than it takes QEMU to end. Raises PlatformError."""
    sign, death = asyncio.ensure_future(waiting), asyncio.ensure_future(machine.process.wait())
    await asyncio.wait((sign, death), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    if sign.done() and sign.exception() is None:
        death.cancel()
        return sign.result()
    if sign.done() and isinstance(sign.exception(), PlatformError):
        death.cancel()
        sign.result()
    if sign.done():  # the channel broke: QEMU is ending
        await asyncio.wait((death,), timeout=VM_QUIT_TIMEOUT_S)
    for task in (sign, death):
        task.cancel()
    await asyncio.gather(sign, death, return_exceptions=True)
    last_lines = read_last_output(machine.log, machine.layout.sockets.console)
    code = machine.process.returncode
    why = f"did not {do} within {seconds:g} s" if code is None else f"ended with {_how(code)} instead of coming up"
    has_no_word = code is None or last_lines.endswith(NOTHING_SAID)
    if has_no_word and machine.layout.spec.memory < VM_LEAST_MIB and GIVE_MORE not in last_lines:
        last_lines += f"; it may have {GIVE_MORE}"
    raise PlatformError(f"The virtual machine {machine.name} {why}; {last_lines}")


def _how(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"


def read_last_output(log: Path, console: Path) -> str:
    """The last words of QEMU and of the console, and where all are."""
    texts = []
    for source, path in (("QEMU", log), ("its console", console)):
        text = path.read_text(errors="replace").strip() if path.is_file() else ""
        if text:
            panic = text.find("Kernel panic")
            begin = len(text) - TAIL if panic < 0 else panic - BEFORE_PANIC
            texts.append(f"{source} says: {text[max(0, begin) :][:TAIL]}")
            if any(sign in text for sign in TOO_SMALL):
                texts.append(f"the machine has {GIVE_MORE}")
    return "; ".join([*texts, f"console kept in {console}"]) if texts else f"its console, {console}, {NOTHING_SAID}"


async def _place_threads(machine: VirtualMachine) -> None:
    """Learns the kind of each thread, and keeps all on the declared cores of the host. Raises PlatformError."""
    machine.threads = {}
    for kind, question in (("vcpu", "query-cpus-fast"), ("io", "query-iothreads")):
        threads: Any = await machine.qmp.execute(question)
        machine.threads |= {thread["thread-id"]: kind for thread in threads}
    pid, pin = machine.process.pid, machine.context.spec.pin
    vhost = await asyncio.to_thread(find_vhost_threads, pid) if machine.layout.has_vhost else []
    machine.threads |= dict.fromkeys(vhost, usage.VHOST)
    if pin is not None:
        pin_threads(pid, vhost, pin)


async def _version(qmp: QMPClient) -> str:
    reply = await qmp.execute("query-version")
    assert isinstance(reply, dict)
    threads: Any = reply["qemu"]
    return f"{threads['major']}.{threads['minor']}.{threads['micro']}"


async def _end(process: asyncio.subprocess.Process, qmp: QMPClient, agent: Agent) -> None:
    """Powers it off, then has QEMU end, then kills it."""
    if process.returncode is None and agent.was_there:
        with contextlib.suppress(PlatformError, TimeoutError):
            await agent.ask("off", timeout_s=OFF_S)
    for wait in (process.wait, lambda: _quit(qmp, process)):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(wait(), VM_QUIT_TIMEOUT_S if agent.was_there else HURRY_S)
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


def shorten_sockets(journal: ResourceJournal, name: str, console: Path) -> Sockets:
    """Sockets in the journal's folder, whose path is short enough for them."""
    return Sockets(journal.folder / f"{name}.qmp", journal.folder / f"{name}.agent", console)
