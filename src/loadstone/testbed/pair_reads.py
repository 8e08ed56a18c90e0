"""The experiment with reads: what the log carries of data that a pair's machine reads from its disk."""

import asyncio
import time
from pathlib import Path

from loadstone.model.errors import PlatformError
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.platforms.pair.disk import Disks, Reads
from loadstone.platforms.pair.experiments import ReadsCost, ReadsReading, compute_reads_cost
from loadstone.platforms.pair.machine import PairMachine
from loadstone.services.registry import get_service_kind
from loadstone.testbed.context import open_testbed
from loadstone.testbed.pair_clients import (
    add_pair,
    count_losses,
    describe_pair,
    wait_agent_report,
    wait_protected,
)
from loadstone.testbed.running import Running
from loadstone.testbed.software import with_software
from loadstone.testbed.start import build_site_on, start_service
from loadstone.tools.kind import ToolTask
from loadstone.tools.registry import find_tool

READ_ARRANGEMENTS = ((Disks.SHARED, Reads.LOG), (Disks.SHARED, Reads.SECONDARY), (Disks.REPLICATED, None))
"""Disks of both sides, with the source of the secondary's data."""
READERS = 16
"""Threads with a request each, as many as a pair's disk has in progress at once."""
READS_TIMEOUT_S = 120.0
"""Longest wait for the first reads: the data is written before, which is a load."""
READS_NOTICED_REPORTS = 3
READS_SPARE_S = 600
"""Time for which the machine reads beyond the measurement; it ends before."""


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
        spec = with_software(describe_pair(memory_mib, **settings), kind)
        machine = await add_pair(base, "pair", spec)
        started = await start_service(Running(base), machine, kind, build_site_on(machine))
        await wait_protected(machine)
        steady_s = seconds + READS_SPARE_S
        task = ToolTask(f"randread {block_kib}k", tool.settings(), READERS, 0, steady_s, started.http, logs)
        _, writer = await asyncio.open_connection(started.http.host, started.http.port)
        try:
            writer.write(f"{tool.request(task)}\n".encode())
            await _wait_reads(machine)
            await wait_protected(machine)
            losses, before = count_losses(machine), await _read_reads(machine)
            await asyncio.sleep(seconds)
            after = await _read_reads(machine)
        finally:
            writer.transport.abort()
        if not machine.is_protected or count_losses(machine) > losses:
            raise PlatformError(
                f"The pair with {' '.join(settings.values())} lost its secondary while it was measured. Repeat it on a "
                "host with free cores."
            )
        return before, after


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
    report = await wait_agent_report(machine)
    usage = await machine.serving.read_outside()
    if usage is None:
        raise PlatformError(f"QEMU of the pair {machine.name} does not answer, so that reads cannot be counted.")
    return ReadsReading(
        float(report["heard_unix_s"]), int(report["log_bytes"]), time.time(), int(usage["disk"]["read_bytes"])
    )
