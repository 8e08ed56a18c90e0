"""Services while they are put up on their machines, and the waiting for them."""

import asyncio
import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from loadstone.host.http import read_first_line
from loadstone.host.process import Readiness
from loadstone.measure.status import StatusMeter
from loadstone.model.errors import ServiceError
from loadstone.model.role import ProcessRole
from loadstone.model.target import DeliveryProtocol, Endpoint, MailDelivery, Target
from loadstone.platforms.contract import Machine, MachineNetwork, Service
from loadstone.services import reference
from loadstone.testbed.context import TestbedContext

FILES_S = 1800.0
"""Longest time for writing a workload's files, or for making a database."""
ANSWER_S, EMULATED_ANSWER_S = 180.0, 1200.0
"""Longest time a server that says nothing may take to answer; the same in a machine that is emulated, where a Java
server starts ten times slower, and slower yet on a busy host.
"""
EMULATED = "tcg"
"""Accelerator of a machine whose processor is emulated, as its facts name it."""
NOT_FOUND = "code 127"
"""End of a shell that does not find a program (POSIX.1, shell command language, section 2.8.2)."""
FAILING = re.compile(rb"HTTP/[0-9.]+ 5")
"""How the answer begins of a server that is not ready, or never will be."""
POLL_INTERVAL_S, RESTART_PAUSE_S = 2.0, 0.05
"""Longest wait for one answer, and between two questions."""


@dataclass
class Running:
    """What runs where, while a testbed is put up."""

    base: TestbedContext
    services: dict[ProcessRole, Service] = field(default_factory=dict)
    machines: dict[ProcessRole, Machine] = field(default_factory=dict)
    """Machine that each service runs on."""
    status: dict[str, StatusMeter] = field(default_factory=dict)
    """What services report of themselves."""

    async def start(
        self, machine: Machine, process: ProcessRole, command: list[str], readiness: Readiness = Readiness.LINE
    ) -> Service:
        """Starts a service that is to run as long as the testbed. A process of this host is stopped before whatever it
        may ask, which started earlier: a database that is stopped first waits for its clients.
        """
        service = self.services[process] = await machine.start(str(process), command, readiness)
        self.machines[process] = machine
        if service.pid:
            self.base.stack.push_async_callback(service.stop)
        return service

    def list_processes(self) -> dict[str, int]:
        """Process ids by role, as they are now: whoever serves in another's place has its role. All programs of a
        virtual machine are one process of this host, which counts once.
        """
        pids: dict[ProcessRole, int] = {}
        for process, machine in self.machines.items():
            pid = self.services[process].pid
            role = process if pid else ProcessRole(process.machine)
            pids[role] = pid or machine.pid
            pids |= {replace(role, companion=name): pid for name, pid in machine.companions.items()}
        return {str(process): pid for process, pid in pids.items() if pid}

    async def start_ready(self, machine: Machine, process: ProcessRole, command: list[str]) -> reference.ServerReady:
        """Starts one of our servers; returns where it says that it answers."""
        return reference.read_ready((await self.start(machine, process, command)).first_line)

    def describe_dead(self) -> str:
        """Which services and machines have ended, and how."""
        ends = [(str(process), service.end()) for process, service in self.services.items()]
        ends += [(name, machine.end()) for name, machine in self.base.machines.items()]
        return ", ".join(f"{name} ({outcome})" for name, outcome in ends if outcome)


async def build_target(machine: MachineNetwork, ready: reference.ServerReady) -> Target:
    """Returns the address at which the driver reaches a server that is ready."""
    sides = [None if side is None else await machine.find_endpoint(side.port) for side in (ready.http, ready.https)]
    delivery = None
    if ready.lmtp is not None:
        delivery = MailDelivery(DeliveryProtocol.LMTP, await machine.find_endpoint(ready.lmtp.port))
    return Target(sides[0], sides[1], ready.authority_pem, delivery=delivery)


async def wait_until_done(
    service: Service, subject: str, timeout_s: float = FILES_S, required_services: Mapping[str, Service] | None = None
) -> None:
    """Waits until a program has done its work. Raises ServiceError when it failed or takes too long, or when a required
    service has ended meanwhile.
    """
    deadline_s = asyncio.get_running_loop().time() + timeout_s
    while not service.end():
        if asyncio.get_running_loop().time() > deadline_s:
            raise ServiceError(f"{subject} could not be prepared within {timeout_s:g} s.")
        _refuse_ended(required_services or {})
        await asyncio.sleep(RESTART_PAUSE_S)
    if service.end().startswith(NOT_FOUND):
        remedy = "Remove `image` of the machine, or add the program's package to it"
        raise ServiceError(f"{subject} could not be prepared: a program is missing there, as its log says. {remedy}.")
    if not service.end().startswith("code 0"):
        raise ServiceError(f"{subject} could not be prepared: {service.end()}")


def choose_answer_timeout_s(machine: Machine) -> float:
    """Returns how long a server of a machine may take to answer."""
    return EMULATED_ANSWER_S if machine.facts.get("accelerator") == EMULATED else ANSWER_S


async def wait_until_answered(
    endpoint: Endpoint,
    service: Service,
    first_words: bytes = b"",
    timeout_s: float = ANSWER_S,
    required_services: Mapping[str, Service] | None = None,
) -> None:
    """Waits until a service that does not say when it is ready answers these words, or over HTTP, and not that it
    fails. Raises ServiceError, also when a required service has ended meanwhile.
    """
    deadline_s = asyncio.get_running_loop().time() + timeout_s
    answer = b""
    while asyncio.get_running_loop().time() < deadline_s:
        with contextlib.suppress(OSError, TimeoutError):
            answer = await asyncio.wait_for(read_first_line(endpoint, first_words), POLL_INTERVAL_S)
            if answer and not FAILING.match(answer):
                return
        if service.end():
            raise ServiceError(f"The server at {endpoint} ended instead of getting ready: {service.end()}")
        _refuse_ended(required_services or {})
        await asyncio.sleep(RESTART_PAUSE_S)
    outcome = f"says `{answer.decode(errors='replace').strip()}` after" if answer else "did not answer within"
    raise ServiceError(f"The server at {endpoint} {outcome} {timeout_s:g} s.")


def _refuse_ended(services: Mapping[str, Service]) -> None:
    """Raises ServiceError for a service that has ended."""
    for name, service in services.items():
        if service.end():
            raise ServiceError(f"{name} ended instead of getting ready: {service.end()}")
