"""A host of a fleet while a run has it: what is asked of its supervisor, and whether that is still there."""

import asyncio
import time
from dataclasses import dataclass, field

from loadstone.fleet.contract import Fleet, FleetError, HostLostError, Json
from loadstone.fleet.messages import Answer, write_message
from loadstone.fleet.remote import RemoteMachine
from loadstone.fleet.requests import Beat, CountHost, DriverState, ForHost
from loadstone.measure.agent import AgentGauge
from loadstone.model.fleet import DEFAULT_SILENCE_S, HostSpec

BEAT_S = 0.5
"""How often the coordinator says that it is there."""
STALL_S = 1.0
"""Lateness of that time-out by which this process knows that it stood still itself."""


@dataclass
class FleetHost:
    """A host that is reserved."""

    name: str
    spec: HostSpec
    engine: Fleet
    number: int
    """Its place in the file, counted from 0."""
    silence_s: float = DEFAULT_SILENCE_S
    """Seconds after its last answer, at most, after which it counts as lost. The run looks twice a second."""
    facts: Json = field(default_factory=dict)
    lost: str = ""
    """That it counts as lost, since when and why; empty while it is there."""
    why: str = ""
    """The reason alone."""
    machines: dict[str, RemoteMachine] = field(default_factory=dict)
    drivers: dict[str, DriverState] = field(default_factory=dict)
    """How its drivers do, by name."""

    async def ask(self, request: ForHost[Answer], timeout_s: float | None = None) -> Answer:
        """Sends its supervisor a message; the answer, within the message's own time limit or another. Raises
        LoadstoneError.
        """
        if self.lost:
            raise HostLostError(self.lost)
        answer = await self.engine.ask(self.name, write_message(request), timeout_s or request.timeout_s)
        return request.read_answer(answer)

    async def beat(self) -> None:
        """Says that the coordinator is there, until the host is lost."""
        timeout_s = self.silence_s - BEAT_S
        while not self.lost:
            asked_s = time.monotonic()
            try:
                state = await self.ask(Beat(), timeout_s)
            except FleetError as error:
                if time.monotonic() - asked_s > timeout_s + STALL_S:
                    continue  # this process stood still, which says nothing of the host
                self.lose(str(error))
                return
            self.drivers = state.drivers
            for name, machine in state.machines.items():
                if name in self.machines:
                    self.machines[name].receive(machine)
            await asyncio.sleep(BEAT_S)

    def lose(self, why: str) -> None:
        """Counts the host as lost from now on."""
        self.why = self.why or why
        self.lost = self.lost or f"the host {self.name} was lost at {time.strftime('%H:%M:%S')}: {why}"

    def create_gauge(self) -> AgentGauge:
        """Returns a gauge of the counters of its kernel, for the monitors."""
        return AgentGauge(self.name, _FactsConnection(self), self.facts["first"], "host of the fleet", None)


@dataclass(frozen=True)
class _FactsConnection:
    """A way to a host's agent by its supervisor."""

    host: FleetHost

    async def ask(self, timeout_s: float) -> Json:
        """Returns the host's counters. Raises OSError if it does not answer."""
        try:
            counters = await self.host.ask(CountHost(), timeout_s)
        except FleetError as error:
            raise OSError(str(error)) from None
        if counters is None:
            raise OSError(f"{self.host.name} counts nothing")
        return counters
