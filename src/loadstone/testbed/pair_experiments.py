"""Experiments on a pair of this host, each on a machine of its own: what a timer in it costs, and what a secondary that
gets a share of a processor, a longer channel and a slower channel do to it.
"""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from loadstone.host.http import get
from loadstone.host.tasks import end_tasks
from loadstone.model.target import Endpoint
from loadstone.platforms.pair.experiments import (
    ClientWindow,
    DelayCost,
    LinkLoad,
    SharePhase,
    TickCost,
    TickReading,
    compute_tick_costs,
    summarize_delay,
    summarize_link,
    summarize_phase,
)
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.pair.side import Side
from loadstone.testbed.pair_clients import (
    ECHO_MESSAGE,
    EXPERIMENT_ANSWER_TIMEOUT_S,
    SETTLING_S,
    measure_clients,
    open_echo,
    serve_role,
    start_pair,
    wait_agent_report,
    wait_protected,
)

SHARE_PERIOD_S = 0.1
"""In each of these the secondary's machine runs for its share, and stands still for the rest."""
LONG_MESSAGE = Random(0).randbytes(4096)
"""A request to fill a link: it cannot be compressed."""


async def measure_timers(logs: Path, rates: Sequence[int], seconds: float, memory_mib: int) -> list[TickCost]:
    """Measures the log of an idle pair without a timer, then with a program in it that sleeps so many times a second,
    for each rate. Raises PlatformError and ServiceError.
    """
    readings = []
    async with start_pair(logs, memory_mib) as machine:
        for rate in (0, *rates):
            name = f"idle-{rate}"
            options = ("--ticks-per-s", str(rate)) if rate else ()
            endpoint = await serve_role(machine, name, "idle", *options)
            await asyncio.sleep(SETTLING_S)
            before = await _read_ticks(machine, endpoint)
            await asyncio.sleep(seconds)
            readings.append((rate, before, await _read_ticks(machine, endpoint)))
            await machine.services[name].stop()
    return compute_tick_costs(readings)


async def _read_ticks(machine: PairMachine, endpoint: Endpoint) -> TickReading:
    report = await wait_agent_report(machine)
    ticks = int(await get(endpoint, "/ticks", EXPERIMENT_ANSWER_TIMEOUT_S))
    return TickReading(report["heard_unix_s"], int(report["log_bytes"]), time.time(), ticks)


async def measure_slow_secondary(logs: Path, share: float, seconds: float, memory_mib: int) -> list[SharePhase]:
    """Measures a pair under one client that asks without pauses: whole, with its secondary's machine running for a
    share of the time, and whole again. Raises PlatformError and ServiceError.
    """
    async with start_pair(logs, memory_mib) as machine:
        endpoint = await serve_role(machine, "idle", "idle")

        def request() -> Awaitable[bytes]:
            return get(endpoint, "/heartbeat", EXPERIMENT_ANSWER_TIMEOUT_S)

        phases = []
        for title, phase_share in (("whole", 1.0), ("slowed", share), ("whole again", 1.0)):
            async with _limit_secondary(machine, phase_share):
                (window,) = await measure_clients([(machine, request)], seconds)
            phases.append(summarize_phase(title, phase_share, window))
        return phases


@asynccontextmanager
async def _limit_secondary(machine: PairMachine, share: float) -> AsyncIterator[None]:
    """Has the secondary's machine run for a share of the time while the block runs. Raises PlatformError where there is
    none.
    """
    if share >= 1:
        yield
        return
    await wait_protected(machine)
    follower = machine.follower
    assert follower is not None  # it is protected
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
    async with start_pair(logs, memory_mib, **settings) as machine:
        endpoint = await serve_role(machine, "echo", "echo")
        async with open_echo(endpoint, message) as request:
            (window,) = await measure_clients([(machine, request)], seconds)
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
