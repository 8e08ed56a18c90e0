"""A whole pair without QEMU: real agents, real sockets, a small process in each machine's place, and the
channel between them. Frames are watched on both taps, in the order in which they came.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyroute2 import NetNS, netns

from loadstone.host.programs import pair
from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.pair.command import PairLayout, SideFiles, build_agent_command, find_namespace_file
from loadstone.platforms.pair.disk import SILENCE_MS
from loadstone.platforms.pair.lines import AgentLine
from loadstone.platforms.vm.image import Image
from tests.vm.client_view import STEP, find_violations
from tests.waiting import WAIT_S, until

Json = dict[str, Any]
STAND_IN = Path(__file__).with_name("stand_in.py")
ETHERTYPE = bytes.fromhex("88b5")
PACKETS_OF_ALL_KINDS = 0x0003
MORE = 12
"""Frames after which a machine is known to run on."""
SIDES = ("a", "b")
UNHURRIED_MS = 60_000
"""Patience of a side that must not take over, however busy the host is."""


class Network:
    """A namespace with the taps of all pairs, and what came from them."""

    def __init__(self) -> None:
        self.name = f"lst-agents-{os.getpid()}"
        self.frames: dict[str, list[tuple[str, int]]] = {}
        """Tap's name without its side -> side and number of each frame, in order."""
        netns.create(self.name)
        self._socket = self._open()
        self._pairs = 0

    def _open(self) -> socket.socket:
        """A socket in the namespace that gets every frame of every tap."""
        opened: list[socket.socket] = []

        def enter() -> None:
            netns.setns(self.name)
            opened.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(PACKETS_OF_ALL_KINDS)))

        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        opened[0].setblocking(False)
        opened[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        return opened[0]

    def add_pair(self) -> str:
        """Makes two taps; their name without the side."""
        self._pairs += 1
        stem = f"p{self._pairs}"
        with NetNS(self.name) as inside:
            for side in SIDES:
                inside.link("add", ifname=stem + side, kind="tuntap", mode="tap")
                inside.link("set", index=inside.link_lookup(ifname=stem + side)[0], state="up")
        self.frames[stem] = []
        return stem

    def watch(self) -> None:
        """Takes what has come."""
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, (tap, *_) = self._socket.recvfrom(2048)
                if frame[12:14] == ETHERTYPE and tap[:-1] in self.frames:
                    self.frames[tap[:-1]].append((tap[-1], int.from_bytes(frame[14:22])))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Takes what comes while the block runs in its event loop."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._socket, self.watch)
        try:
            yield
        finally:
            loop.remove_reader(self._socket)

    def close(self) -> None:
        self._socket.close()
        netns.remove(self.name)


class Relay:
    """The channel between the agents, whose two connections pass here: each direction of each can be held up."""

    def __init__(self, to: tuple[str, int]) -> None:
        self.to = to
        self.open = {(line, way): asyncio.Event() for line in ("control", "log") for way in ("to a", "to b")}
        for gate in self.open.values():
            gate.set()
        self._lines = iter(("control", "log"))
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        return f"{host}:{port}"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = next(self._lines)
        there, away = await asyncio.open_connection(*self.to)
        for source, target, way in ((reader, away, "to a"), (there, writer, "to b")):
            self._tasks.append(asyncio.create_task(self._carry(source, target, self.open[line, way])))

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, gate: asyncio.Event) -> None:
        with contextlib.suppress(ConnectionError):
            while piece := await source.read(1 << 16):
                await gate.wait()
                target.write(piece)
                await target.drain()
            await gate.wait()
        target.close()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()


def agent_argv(
    files: SideFiles, network: Network, tap: str, mac: str, follow: str | None, patience_ms: int = SILENCE_MS
) -> list[str]:
    """The command of an agent, which stays in this host's network and has its tap in the namespace."""
    nic = NetworkInterface("public", tap, network.name, "", mac, "")
    layout = PairLayout(files.folder.name, 0, Image("", "", Path(), "", Path()), nic, silence_ms=patience_ms)
    return [*build_agent_command(pair(), layout, files, tap, follow), "--tap-in", find_namespace_file(network.name)]


class NotReportedError(AssertionError):
    """An agent ended, or was silent for too long, before it reported what was waited for."""


@dataclass
class Half:
    """One agent, and the process in its machine's place."""

    name: str
    folder: Path
    agent: asyncio.subprocess.Process | None = None
    machine: asyncio.subprocess.Process | None = None
    events: list[Json] = field(default_factory=list)
    metrics: Json = field(default_factory=dict)
    """The latest."""
    is_read: asyncio.Event = field(default_factory=asyncio.Event)
    """Cleared while nobody reads what the agent reports."""
    is_killed: bool = False
    """Whether a fault has killed a part of it, which its agent may not have noticed yet."""
    line: AgentLine | None = None
    """To an agent with a control socket; others are kept by their standard input and output."""
    _reading: asyncio.Task[None] | None = None

    async def start_agent(
        self, network: Network, tap: str, mac: str, patience_ms: int, follow: str | None, *options: str
    ) -> None:
        argv = [*agent_argv(self.files, network, tap, mac, follow, patience_ms), *options]
        with (self.folder / f"{self.name}.err").open("wb") as errors:
            self.agent = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors
            )
        self.is_read.set()
        if "--control" in options:
            await self.take_over()
        else:
            self._reading = asyncio.create_task(self._read(self.agent))
        await self.event("ready")

    async def take_over(self) -> None:
        """Keeps the agent from now on, in place of any other keeper."""
        self.line = AgentLine(self.files.control)
        assert await self.line.connect(lambda: self.is_up)
        self.events = []
        self._reading = asyncio.create_task(self._hear(self.line, self.events))

    def stop_reading(self) -> None:
        """Reads no more of what the agent reports, over a connection that stays open."""
        assert self._reading is not None
        self._reading.cancel()
        self._reading = None

    def leave(self) -> None:
        """Goes, as a keeper does that is killed."""
        assert self.line is not None
        self.line.close()

    async def _hear(self, line: AgentLine, events: list[Json]) -> None:
        async for event in line.read_reports():
            events.append(event)

    async def start_machine(self, mode: str, mac: str, is_stopped: bool = False) -> None:
        """Starts the process in its machine's place, which may wait for a signal before it does anything."""
        stopped = ["sh", "-c", 'kill -STOP $$; exec "$@"', "sh"] if is_stopped else []
        files = [str(self.files.memory), str(self.files.outlet)]
        argv = [*stopped, sys.executable, "-IS", str(STAND_IN), mode, *files, mac]
        self.machine = await asyncio.create_subprocess_exec(*argv)
        await self.order("machine", pid=self.machine.pid)

    async def _read(self, agent: asyncio.subprocess.Process) -> None:
        assert agent.stdout is not None
        async for line in agent.stdout:
            event: Json = json.loads(line)
            if event["event"] == "metrics":
                self.metrics = event
            else:
                self.events.append(event)
            await self.is_read.wait()

    async def order(self, do: str, **arguments: Any) -> None:
        if self.line is not None:
            await self.line.order(do, **arguments)
            return
        assert self.agent is not None
        assert self.agent.stdin is not None
        with contextlib.suppress(ConnectionError):
            self.agent.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            async with asyncio.timeout(WAIT_S):
                await self.agent.stdin.drain()

    def has_reported(self, name: str) -> bool:
        return any(event["event"] == name for event in self.events)

    @property
    def has_parted(self) -> bool:
        """Whether it has gone on without the other side."""
        return self.has_reported("alone") or self.has_reported("live")

    async def event(self, name: str, after: int = 0) -> Json:
        """The next report of this kind, beyond the first `after`."""

        def find() -> Json | None:
            return next((event for event in self.events[after:] if event["event"] == name), None)

        await until(lambda: find() is not None or not self.is_up)
        event = find()
        if event is None:
            raise NotReportedError((self.name, name, self.events, self.errors))
        return event

    @property
    def files(self) -> SideFiles:
        return SideFiles(self.folder, self.name)

    @property
    def errors(self) -> str:
        return (self.folder / f"{self.name}.err").read_text()

    @property
    def is_up(self) -> bool:
        """Whether its agent runs."""
        return self.agent is not None and self.agent.returncode is None

    @property
    def serves(self) -> bool:
        """Whether its agent reported last that its machine is active, alone or followed."""
        return self.is_up and self._decided() in ("protected", "alone", "live")

    @property
    def is_alone(self) -> bool:
        """Whether it reported last that its machine is active and that no side follows."""
        return self.is_up and self._decided() in ("alone", "live")

    def _decided(self) -> str:
        kinds = [event["event"] for event in self.events]
        return next((kind for kind in reversed(kinds) if kind in ("protected", "alone", "live", "over")), "")

    def signal(self, number: signal.Signals, *parts: str) -> None:
        self.is_killed = self.is_killed or number is signal.SIGKILL
        for part in parts:
            process = self.machine if part == "machine" else self.agent
            if process is not None and process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)

    async def end(self) -> None:
        self.is_read.set()
        self.signal(signal.SIGCONT, "machine", "agent")
        self.signal(signal.SIGKILL, "machine", "agent")
        for process in (self.machine, self.agent):
            if process is not None:
                await process.wait()
        if self.line is not None:
            self.line.close()
        if self._reading is not None:
            await self._reading


class NotJoinedError(Exception):
    """A side gave up before it followed: a busy host let it hear nothing for too long."""


@dataclass
class Pair:
    """A whole pair, whose faults a trial makes."""

    network: Network
    stem: str
    folder: Path
    a: Half
    b: Half
    relay: Relay
    stores_away: int = 0
    """Faults at this moment that have taken the store away."""

    @property
    def halves(self) -> tuple[Half, Half]:
        return self.a, self.b

    @property
    def primary(self) -> Half:
        """Who serves at this moment; the first where nobody does."""
        return self.b if self.b.serves and not self.a.serves else self.a

    @property
    def secondary(self) -> Half:
        return self.a if self.primary is self.b else self.b

    @property
    def frames(self) -> list[tuple[str, int]]:
        return self.network.frames[self.stem]

    @property
    def segments(self) -> str:
        """Taps in the order in which they sent, each named once for as long as no other sent."""
        taps = [tap for tap, _ in self.frames]
        return "".join(tap for before, tap in zip([None, *taps], taps, strict=False) if before != tap)

    async def list_violations(self) -> list[str]:
        """What clients saw that no fault may cause. A side that sends has taken over, but its report comes later."""
        self.network.watch()
        if any(tap == "b" for tap, _ in self.frames):
            with contextlib.suppress(TimeoutError):
                await until(lambda: self.b.has_reported("live") or not self.b.is_up)
        return find_violations(self.frames, self._own_from)

    @property
    def _own_from(self) -> int | None:
        """The first number that the other side's machine did by itself; None where that side did not take over."""
        live = next((event for event in self.b.events if event["event"] == "live"), None)
        if live is not None:
            return STEP * int(live["next_frame"])
        from_b = [number for tap, number in self.frames if tap == "b"]
        # It may have been killed before it could report.
        return max(from_b) + STEP if from_b and self.b.is_killed else None

    @property
    def summary(self) -> list[str]:
        """Tap, first and last number of each of these runs of frames."""
        runs: list[tuple[str, int, int]] = []
        for tap, number in self.frames:
            if runs and runs[-1][0] == tap:
                runs[-1] = (tap, runs[-1][1], number)
            else:
                runs.append((tap, number, number))
        return [f"{tap} {first} to {last}" for tap, first, last in runs]

    @property
    def missing(self) -> list[int]:
        """Numbers that the machine has sent and that never came."""
        numbers = {number for _, number in self.frames}
        return [number for number in range(0, max(numbers, default=0), 2) if number not in numbers]

    async def runs_on(self) -> bool:
        """Whether frames that are new come within the longest wait."""
        highest = max((number for _, number in self.frames), default=0)
        with contextlib.suppress(TimeoutError):
            await until(lambda: max((number for _, number in self.frames), default=0) >= highest + 2 * MORE)
            return True
        return False

    async def settled(self) -> None:
        """Until one side serves alone and the other is gone, or they are a pair still, or nobody is left."""

        def is_settled() -> bool:
            up = [half for half in self.halves if half.is_up]
            return self.is_whole or not up or (len(up) == 1 and up[0].is_alone and not up[0].is_killed)

        await until(is_settled)

    @property
    def is_whole(self) -> bool:
        """Whether nothing was killed, and nobody has asked for a generation since."""
        return all(half.is_up and not half.is_killed and not half.has_reported("claim") for half in self.halves)


def leased(files: SideFiles, lease_s: int | None) -> list[str]:
    """Options of an agent that lives on without a keeper for so long."""
    return [] if lease_s is None else ["--control", str(files.control), "--lease-s", str(lease_s)]


@asynccontextmanager
async def whole_pair(
    network: Network, folder: Path, patience_ms: int = SILENCE_MS, lease_s: int | None = None, delay_us: int = 0
) -> AsyncIterator[Pair]:
    """Two agents and two machines, protected; with a lease the agents have control sockets. Their channel takes so much
    longer each way.
    """
    stem = await asyncio.to_thread(network.add_pair)  # its library has an event loop of its own
    place = folder / stem
    (place / "store").mkdir(parents=True)
    mac = f"52:54:00:00:00:{int(stem[1:]) & 0xFF:02x}"
    a, b = (Half(side, place) for side in SIDES)
    relay = None
    try:
        await a.start_agent(network, f"{stem}a", mac, patience_ms, None, *leased(a.files, lease_s))
        await a.order("protect")
        host, _, port = str((await a.event("listening"))["address"]).rpartition(":")
        relay = Relay((host, int(port)))
        await a.start_machine("record", mac)
        follow = await relay.start()
        options = [*leased(b.files, lease_s), "--delay-us", str(delay_us)]
        try:
            await b.start_agent(network, f"{stem}b", mac, patience_ms, follow, *options)
        except NotReportedError as error:
            raise NotJoinedError(*error.args) from None
        await b.start_machine("replay", mac)
        await until(lambda: a.has_reported("protected") or not b.is_up)
        if not a.has_reported("protected"):
            raise NotJoinedError(f"{a.events} {b.events} {b.errors}")
        pair = Pair(network, stem, place, a, b, relay)
        assert await pair.runs_on()
        yield pair
    finally:
        for half in (a, b):
            await half.end()
        if relay is not None:
            await relay.close()
