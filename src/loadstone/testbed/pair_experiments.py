"""Experiments on a pair of this host, each on a machine of its own: what a timer in it costs, what a secondary that
gets a share of a processor does to it, what a longer or slower channel and other pairs do, and what reads of its disk
cost.
"""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from loadstone.fleet.open import OpenFleet
from loadstone.host.http import get
from loadstone.host.tasks import end_tasks
from loadstone.model.errors import PlatformError
from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.target import Endpoint
from loadstone.platforms.pair.disk import Disks, Reads
from loadstone.platforms.pair.experiments import (
    Arrangement,
    ClientWindow,
    CountLoad,
    DelayCost,
    LinkLoad,
    ReadsCost,
    ReadsReading,
    SharePhase,
    TickCost,
    TickReading,
    compute_reads_cost,
    compute_tick_costs,
    explain_unmeasured,
    list_primary_hosts,
    summarize_count,
    summarize_delay,
    summarize_link,
    summarize_phase,
)
from loadstone.platforms.pair.fitness import (
    MOST_PAIRS_A_CORE,
    FitnessFinding,
    compare_memory,
    examine_memory,
    examine_processors,
    explain_refusal,
    read_free_cores,
)
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.pair.side import Side
from loadstone.platforms.registry import read_machine
from loadstone.services import reference
from loadstone.services.registry import get_service_kind
from loadstone.testbed.context import TestbedContext, open_testbed
from loadstone.testbed.running import Running
from loadstone.testbed.software import with_software
from loadstone.testbed.start import build_site_on, start_service
from loadstone.tools.kind import ToolTask
from loadstone.tools.registry import find_tool

SETTLING_S = 2.0
"""Before anything counts: the start of programs is in the log too, and a new secondary catches up."""
REPORT_TIMEOUT_S = 60.0
"""Longest wait for a report of the pair, which comes each second."""
REPORT_POLL_INTERVAL_S = 0.02
EXPERIMENT_ANSWER_TIMEOUT_S = 60.0
SHARE_PERIOD_S = 0.1
"""In each of these the secondary's machine runs for its share, and stands still for the rest."""
ECHO_MESSAGE = bytes(range(64))
"""Request of a client whose connection stays open; the answer is the same."""
LONG_MESSAGE = Random(0).randbytes(4096)
"""The same, to fill a link: it cannot be compressed."""
ClientRequest = Callable[[], Awaitable[object]]
"""Sends a request of a client and waits for its answer. Raises OSError, EOFError and ValueError."""
Client = tuple[PairMachine, ClientRequest]
READ_ARRANGEMENTS = ((Disks.SHARED, Reads.LOG), (Disks.SHARED, Reads.SECONDARY), (Disks.REPLICATED, None))
"""Disks of both sides, with the source of the secondary's data."""
READERS = 16
"""Threads with a request each, as many as a pair's disk has in progress at once."""
READS_TIMEOUT_S = 120.0
"""Longest wait for the first reads, and for a secondary that follows: the data is written before, which is a load."""
READS_NOTICED_REPORTS = 3
READS_SPARE_S = 600
"""Time for which the machine reads beyond the measurement; it ends before."""
UNPROTECTED_EVENTS = ("alone", "live")
"""Events of a side that has no secondary from then on."""
SIDES = 2
"""Sides of a pair on this host."""


@asynccontextmanager
async def _start_pair(logs: Path, memory_mib: int, **settings: float) -> AsyncIterator[PairMachine]:
    async with open_testbed(logs) as base:
        yield await _add_pair(base, "pair", _describe_pair(memory_mib, **settings))


def _describe_pair(memory_mib: int, **settings: float | str) -> MachineSpec:
    return read_machine({"platform": "pair", "memory": memory_mib, **settings})


async def _add_pair(base: TestbedContext, name: str, spec: MachineSpec) -> PairMachine:
    machine = await base.start_machine(name, spec, (PUBLIC,))
    if not isinstance(machine, PairMachine):
        raise PlatformError("The machine of the experiment is not a pair of this host.")
    return machine


async def _serve(machine: PairMachine, name: str, role: str, *options: str) -> Endpoint:
    """Starts a role of the reference server in the machine; where it answers."""
    service = await machine.start(name, reference.build_plain_command(role, machine.listen, 1, *options))
    ready = reference.read_ready(service.first_line)
    assert ready.http is not None  # every role without TLS reports it
    return Endpoint(machine.address, ready.http.port)


async def measure_timers(logs: Path, rates: Sequence[int], seconds: float, memory_mib: int) -> list[TickCost]:
    """Measures the log of an idle pair without a timer, then with a program in it that sleeps so many times a second,
    for each rate. Raises PlatformError and ServiceError.
    """
    readings = []
    async with _start_pair(logs, memory_mib) as machine:
        for rate in (0, *rates):
            name = f"idle-{rate}"
            options = ("--ticks-per-s", str(rate)) if rate else ()
            endpoint = await _serve(machine, name, "idle", *options)
            await asyncio.sleep(SETTLING_S)
            before = await _read_ticks(machine, endpoint)
            await asyncio.sleep(seconds)
            readings.append((rate, before, await _read_ticks(machine, endpoint)))
            await machine.services[name].stop()
    return compute_tick_costs(readings)


async def _read_ticks(machine: PairMachine, endpoint: Endpoint) -> TickReading:
    report = await _wait_report(machine.serving)
    ticks = int(await get(endpoint, "/ticks", EXPERIMENT_ANSWER_TIMEOUT_S))
    return TickReading(report["heard_unix_s"], int(report["log_bytes"]), time.time(), ticks)


async def _wait_report(side: Side) -> dict[str, Any]:
    """Waits for the agent's next report. Raises PlatformError where none comes."""
    seen, until = side.metrics, time.monotonic() + REPORT_TIMEOUT_S
    while side.metrics is seen:
        if time.monotonic() > until:
            raise PlatformError(f"The agent {side.files.name} reported nothing for {REPORT_TIMEOUT_S:g} s.")
        await asyncio.sleep(REPORT_POLL_INTERVAL_S)
    return side.metrics


async def measure_slow_secondary(logs: Path, share: float, seconds: float, memory_mib: int) -> list[SharePhase]:
    """Measures a pair under one client that asks without pauses: whole, with its secondary's machine running for a
    share of the time, and whole again. Raises PlatformError and ServiceError.
    """
    async with _start_pair(logs, memory_mib) as machine:
        endpoint = await _serve(machine, "idle", "idle")

        def request() -> Awaitable[bytes]:
            return get(endpoint, "/heartbeat", EXPERIMENT_ANSWER_TIMEOUT_S)

        phases = []
        for title, phase_share in (("whole", 1.0), ("slowed", share), ("whole again", 1.0)):
            async with _limit_secondary(machine, phase_share):
                (window,) = await _measure_clients([(machine, request)], seconds)
            phases.append(summarize_phase(title, phase_share, window))
        return phases


@asynccontextmanager
async def _limit_secondary(machine: PairMachine, share: float) -> AsyncIterator[None]:
    """Has the secondary's machine run for a share of the time while the block runs."""
    follower = machine.follower
    if follower is None:
        raise PlatformError(f"The pair {machine.name} has no secondary to slow.")
    if share >= 1:
        yield
        return
    limiting = asyncio.create_task(_alternate(follower, share))
    try:
        yield
    finally:
        await end_tasks([limiting])
        await follower.signal(signal.SIGCONT, "machine")


async def _alternate(side: Side, share: float) -> None:
    while True:
        await side.signal(signal.SIGSTOP, "machine")
        await asyncio.sleep((1 - share) * SHARE_PERIOD_S)
        await side.signal(signal.SIGCONT, "machine")
        await asyncio.sleep(share * SHARE_PERIOD_S)


async def measure_round_trips(
    logs: Path, delays_ms: Sequence[float], seconds: float, memory_mib: int
) -> list[DelayCost]:
    """Measures a pair under one client for each time that is added to the round trip between both sides. Every pair is
    a new one, since its agent counts held outputs from its start. Raises PlatformError and ServiceError.
    """
    costs = []
    for delay_ms in delays_ms:
        window = await _measure_echo(logs, ECHO_MESSAGE, seconds, memory_mib, round_trip_ms=delay_ms)
        costs.append(summarize_delay(delay_ms, window))
    return costs


async def _measure_echo(logs: Path, message: bytes, seconds: float, memory_mib: int, **settings: float) -> ClientWindow:
    """Measures a new pair with these settings under one client of a message."""
    async with _start_pair(logs, memory_mib, **settings) as machine:
        endpoint = await _serve(machine, "echo", "echo")
        async with _open_echo(endpoint, message) as request:
            (window,) = await _measure_clients([(machine, request)], seconds)
    return window


async def measure_links(logs: Path, links_mbits: Sequence[float], seconds: float, memory_mib: int) -> list[LinkLoad]:
    """Measures a pair under one client of long messages for each speed of the link between both sides in Mbit/s, 0
    without a limit. Raises PlatformError and ServiceError.
    """
    loads = []
    for link_mbits in links_mbits:
        window = await _measure_echo(logs, LONG_MESSAGE, seconds, memory_mib, link_mbits=link_mbits)
        loads.append(summarize_link(link_mbits, window))
    return loads


@asynccontextmanager
async def _open_echo(endpoint: Endpoint, message: bytes = ECHO_MESSAGE) -> AsyncIterator[ClientRequest]:
    """Connects a client to the echo role; its requests share the connection."""
    try:
        reader, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    except OSError as error:
        raise PlatformError(f"The machine at {endpoint} did not accept a connection: {error}") from None

    async def request() -> None:
        writer.write(message)
        async with asyncio.timeout(EXPERIMENT_ANSWER_TIMEOUT_S):
            if await reader.readexactly(len(message)) != message:
                raise ValueError("the answer differs from the request")

    try:
        yield request
    finally:
        writer.transport.abort()


async def measure_counts(logs: Path, counts: Sequence[int], seconds: float, memory_mib: int) -> list[CountLoad]:
    """Measures so many pairs of this host at once, each under a client of its own. Pairs are added from the smallest
    count to the largest. A count that cannot be measured has its reasons. Raises ServiceError.
    """
    free_cores = await asyncio.to_thread(read_free_cores)

    def examine(count: int, added: int) -> list[FitnessFinding]:
        return [examine_memory(memory_mib, SIDES * added), examine_processors(SIDES * count, free_cores)]

    async with open_testbed(logs) as base, AsyncExitStack() as stack:
        group = _Pairs(base, stack, Arrangement.ONE_HOST, ("",), memory_mib, examine)
        return [await group.measure(count, seconds) for count in sorted(counts)]


async def measure_crossed(
    logs: Path, counts: Sequence[int], seconds: float, memory_mib: int, fleet: OpenFleet, host: str = ""
) -> list[CountLoad]:
    """Measures so many pairs over two hosts of a fleet at once: with all primaries on the first host, then crossed.
    `host` names both as `A+B`. Raises PlatformError where there are no two, and ServiceError.
    """
    hosts = fleet.choose_pair_hosts(_describe_pair(memory_mib, **({"host": host} if host else {})))
    homes = ["+".join(peer.name for peer in order) for order in (hosts, hosts[::-1])]

    def examine(count: int, _: int) -> list[FitnessFinding]:
        """Each host has a side of every pair."""
        free = min(hosts, key=lambda peer: int(peer.facts["free_mib"]))
        cores = min(int(peer.facts["cores"]) for peer in hosts)
        return [
            compare_memory(int(free.facts["free_mib"]), memory_mib, count),
            FitnessFinding("processors", f"{cores} cores on a host, {count} wanted", cores >= count, False),
        ]

    loads = []
    for arrangement in (Arrangement.TOGETHER, Arrangement.CROSSED):
        async with open_testbed(logs, fleet) as base, AsyncExitStack() as stack:
            group = _Pairs(base, stack, arrangement, homes, memory_mib, examine)
            least = 2 if arrangement is Arrangement.CROSSED else 1
            loads += [await group.measure(count, seconds) for count in sorted(counts) if count >= least]
    return sorted(loads, key=lambda load: load.pairs)


@dataclass
class _Pairs:
    """Pairs with a client each, to which others are added."""

    base: TestbedContext
    stack: AsyncExitStack
    arrangement: Arrangement
    homes: Sequence[str]
    """Hosts of a pair, its primary's first: one order for each host that may have the primary; empty for this host."""
    memory_mib: int
    examine: Callable[[int, int], list[FitnessFinding]]
    """Compares memory and cores with those of so many pairs, of which so many are to be added."""
    clients: list[Client] = field(default_factory=list)

    async def measure(self, count: int, seconds: float) -> CountLoad:
        """Adds pairs up to a count and measures all of them, or gives the reasons. Raises ServiceError."""
        findings = self.examine(count, count - len(self.clients))
        warnings = [finding.detail for finding in findings if not finding.is_fit]
        if count > MOST_PAIRS_A_CORE:
            warnings.append(f"more than {MOST_PAIRS_A_CORE} pairs on a host disturb each other")
        if explain_refusal(findings):
            return explain_unmeasured(count, self.arrangement, warnings)
        try:
            for home in list_primary_hosts(self.arrangement, self.homes, count)[len(self.clients) :]:
                self.clients.append(await self._add_client(home))
            return summarize_count(self.arrangement, await _measure_clients(self.clients, seconds), warnings)
        except PlatformError as error:
            return explain_unmeasured(count, self.arrangement, [*warnings, str(error)])

    async def _add_client(self, home: str) -> Client:
        # Hosts keep files of an ended pair by its name until the fleet is released.
        name = f"{'crossed' if self.arrangement is Arrangement.CROSSED else 'pair'}-{len(self.clients) + 1}"
        spec = _describe_pair(self.memory_mib, **({"host": home} if home else {}))
        machine = await _add_pair(self.base, name, spec)
        endpoint = await _serve(machine, f"echo-{name}", "echo")
        return machine, await self.stack.enter_async_context(_open_echo(endpoint))


async def _measure_clients(clients: Sequence[Client], seconds: float) -> list[ClientWindow]:
    """Sends requests without pauses, to all pairs at once. Pairs are protected when it begins. Raises PlatformError
    where an answer is missing.
    """
    for machine, _ in clients:
        await machine.protect()
    await asyncio.sleep(SETTLING_S)
    first_reports = await asyncio.gather(*(_wait_report(machine.serving) for machine, _ in clients))
    windows = [
        asyncio.create_task(_measure_client(client, seconds, first_report))
        for client, first_report in zip(clients, first_reports, strict=True)
    ]
    try:
        return await asyncio.gather(*windows)
    finally:
        await end_tasks(windows)


async def _measure_client(client: Client, seconds: float, first_report: dict[str, Any]) -> ClientWindow:
    machine, request = client
    latencies: list[float] = []
    reports: list[dict[str, Any]] = []
    losses = _count_losses(machine)
    listening = asyncio.create_task(_collect_reports(machine, reports))
    began = time.monotonic()
    try:
        while (sent_s := time.monotonic()) < began + seconds:
            await request()
            latencies.append(time.monotonic() - sent_s)
    except (OSError, EOFError, ValueError) as error:
        raise PlatformError(f"The pair {machine.name} did not answer while it was measured: {error}") from None
    finally:
        took_s = time.monotonic() - began
        await end_tasks([listening])
    is_protected = machine.is_protected and _count_losses(machine) == losses
    return ClientWindow(took_s, latencies, first_report, reports, is_protected)


def _count_losses(machine: PairMachine) -> int:
    """Counts how often a side continued without another; the pair is protected again meanwhile."""
    return sum(event["event"] in UNPROTECTED_EVENTS for side in machine.sides for event in side.events)


async def measure_reads(logs: Path, block_kib: int, seconds: float, memory_mib: int) -> list[ReadsCost]:
    """Measures a pair whose machine reads a file at random, past its page cache: with the data in the log, then read by
    the secondary from the same disk, then from a disk of its own. Raises PlatformError and ServiceError.
    """
    return [
        compute_reads_cost(disks, reads, *await _read_at_random(logs, disks, reads, block_kib, seconds, memory_mib))
        for disks, reads in READ_ARRANGEMENTS
    ]


async def _read_at_random(
    logs: Path, disks: Disks, reads: Reads | None, block_kib: int, seconds: float, memory_mib: int
) -> tuple[ReadsReading, ReadsReading]:
    """Returns the counters before and after."""
    kind, tool = get_service_kind(ServiceRole.FIO, EMBEDDED), find_tool(ServiceRole.FIO)
    assert tool.request is not None  # it runs in the machine, and so is requested there
    settings = {"disks": disks, **({"reads": reads} if reads else {})}
    async with open_testbed(logs) as base:
        spec = with_software(_describe_pair(memory_mib, **settings), kind)
        machine = await _add_pair(base, "pair", spec)
        started = await start_service(Running(base), machine, kind, build_site_on(machine))
        await _wait_protected(machine)
        steady_s = seconds + READS_SPARE_S
        task = ToolTask(f"randread {block_kib}k", tool.settings(), READERS, 0, steady_s, started.http, logs)
        _, writer = await asyncio.open_connection(started.http.host, started.http.port)
        try:
            writer.write(f"{tool.request(task)}\n".encode())
            await _wait_reads(machine)
            await _wait_protected(machine)
            losses, before = _count_losses(machine), await _read_reads(machine)
            await asyncio.sleep(seconds)
            after = await _read_reads(machine)
        finally:
            writer.transport.abort()
        if not machine.is_protected or _count_losses(machine) > losses:
            raise PlatformError(
                f"The pair with {' '.join(settings.values())} lost its secondary while it was measured. Repeat it on a "
                "host with free cores."
            )
        return before, after


async def _wait_protected(machine: PairMachine) -> None:
    """Waits until a secondary follows. Raises PlatformError where none does in time."""
    until = time.monotonic() + READS_TIMEOUT_S
    while not machine.is_protected:
        if time.monotonic() > until:
            failures = "; ".join(machine.failures) or "no attempt has failed"
            raise PlatformError(f"The pair has no secondary after {READS_TIMEOUT_S:g} s: {failures}.")
        await asyncio.sleep(REPORT_POLL_INTERVAL_S)


async def _wait_reads(machine: PairMachine) -> None:
    """Waits until the machine read between reports, several times in a row: it reads its programs too, but for a short
    time. Raises PlatformError where it does not in time.
    """
    until, rising = time.monotonic() + READS_TIMEOUT_S, 0
    last = await _read_reads(machine)
    while rising < READS_NOTICED_REPORTS:
        if time.monotonic() > until:
            raise PlatformError(f"The machine read nothing from its disk for {READS_TIMEOUT_S:g} s.")
        now = await _read_reads(machine)
        rising = rising + 1 if now.read_bytes > last.read_bytes else 0
        last = now


async def _read_reads(machine: PairMachine) -> ReadsReading:
    report = await _wait_report(machine.serving)
    usage = await machine.serving.read_outside()
    if usage is None:
        raise PlatformError(f"QEMU of the pair {machine.name} does not answer, so that reads cannot be counted.")
    return ReadsReading(
        float(report["heard_unix_s"]), int(report["log_bytes"]), time.time(), int(usage["disk"]["read_bytes"])
    )


async def _collect_reports(machine: PairMachine, into: list[dict[str, Any]]) -> None:
    with contextlib.suppress(PlatformError):
        while True:
            into.append(await _wait_report(machine.serving))
