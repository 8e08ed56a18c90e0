"""Pairs of an experiment, and their clients, which send requests without pauses."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from loadstone.host.tasks import end_tasks
from loadstone.model.errors import PlatformError
from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.model.target import Endpoint
from loadstone.platforms.pair.experiments import ClientWindow
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.registry import read_machine
from loadstone.services import reference
from loadstone.testbed.context import TestbedContext, open_testbed

SETTLING_S = 2.0
"""Before anything counts: the start of programs is in the log too, and a new secondary catches up."""
REPORT_TIMEOUT_S = 60.0
"""Longest wait for a report of the pair, which comes each second."""
REPORT_POLL_INTERVAL_S = 0.02
PROTECTED_TIMEOUT_S = 120.0
"""Longest wait for a secondary that follows. What loads the pair may have begun before."""
EXPERIMENT_ANSWER_TIMEOUT_S = 60.0
ECHO_MESSAGE = bytes(range(64))
"""Request of a client whose connection stays open; the answer is the same."""
ClientRequest = Callable[[], Awaitable[object]]
"""Sends a request of a client and waits for its answer. Raises OSError, EOFError and ValueError."""
Client = tuple[PairMachine, ClientRequest]
UNPROTECTED_EVENTS = ("alone", "live")
"""Events of a side that has no secondary from then on."""


@asynccontextmanager
async def start_pair(logs: Path, memory_mib: int, **settings: float) -> AsyncIterator[PairMachine]:
    """A pair of this host with these settings of a machine, in a testbed of its own. Raises PlatformError."""
    async with open_testbed(logs) as base:
        yield await add_pair(base, "pair", describe_pair(memory_mib, **settings))


def describe_pair(memory_mib: int, **settings: float | str) -> MachineSpec:
    """Returns a pair with these settings of a machine."""
    return read_machine({"platform": "pair", "memory": memory_mib, **settings})


async def add_pair(base: TestbedContext, name: str, spec: MachineSpec) -> PairMachine:
    """Starts a pair. Raises PlatformError, also where the machine is no pair."""
    machine = await base.start_machine(name, spec, (PUBLIC,))
    if not isinstance(machine, PairMachine):
        raise PlatformError("The machine of the experiment is not a pair of this host.")
    return machine


async def serve_role(machine: PairMachine, name: str, role: str, *options: str) -> Endpoint:
    """Starts a role of the reference server in the machine; where it answers."""
    service = await machine.start(name, reference.build_plain_command(role, machine.listen, 1, *options))
    ready = reference.read_ready(service.first_line)
    assert ready.http is not None  # every role without TLS reports it
    return Endpoint(machine.address, ready.http.port)


async def wait_agent_report(machine: PairMachine) -> dict[str, Any]:
    """Waits for the next report of the agent that serves then. Raises PlatformError where none comes."""
    seen, until = machine.serving.metrics, time.monotonic() + REPORT_TIMEOUT_S
    while not (report := machine.serving.metrics) or report is seen:
        if time.monotonic() > until:
            name = machine.serving.files.name
            raise PlatformError(f"The agent {name} reported nothing for {REPORT_TIMEOUT_S:g} s.")
        await asyncio.sleep(REPORT_POLL_INTERVAL_S)
    return report


async def wait_protected(machine: PairMachine) -> None:
    """Waits until a secondary follows. Raises PlatformError where none does in time."""
    until = time.monotonic() + PROTECTED_TIMEOUT_S
    while not machine.is_protected:
        if time.monotonic() > until:
            failures = "; ".join(machine.failures) or "no attempt has failed"
            raise PlatformError(f"The pair has no secondary after {PROTECTED_TIMEOUT_S:g} s: {failures}.")
        await asyncio.sleep(REPORT_POLL_INTERVAL_S)


@asynccontextmanager
async def open_echo(endpoint: Endpoint, message: bytes = ECHO_MESSAGE) -> AsyncIterator[ClientRequest]:
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


async def measure_clients(clients: Sequence[Client], seconds: float) -> list[ClientWindow]:
    """Sends requests without pauses, to all pairs at once. Pairs are protected when it begins. Raises PlatformError
    where an answer is missing.
    """
    for machine, _ in clients:
        await wait_protected(machine)
    await asyncio.sleep(SETTLING_S)
    first_reports = await asyncio.gather(*(wait_agent_report(machine) for machine, _ in clients))
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
    losses = count_losses(machine)
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
    is_protected = machine.is_protected and count_losses(machine) == losses
    return ClientWindow(took_s, latencies, first_report, reports, is_protected)


def count_losses(machine: PairMachine) -> int:
    """Counts how often a side continued without another; the pair is protected again meanwhile."""
    return sum(event["event"] in UNPROTECTED_EVENTS for side in machine.sides for event in side.events)


async def _collect_reports(machine: PairMachine, into: list[dict[str, Any]]) -> None:
    with contextlib.suppress(PlatformError):
        while True:
            into.append(await wait_agent_report(machine))
