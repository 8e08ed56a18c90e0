"""A host of a fleet while a run has it: what is asked of its supervisor, and whether that is still there."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from loadstone.fleet.contract import Fleet, FleetError, HostLostError, Json
from loadstone.fleet.remote import RemoteMachine
from loadstone.measure.agent import AgentGauge
from loadstone.model.fleet import HostSpec

BEAT_S = 0.5
"""How often the coordinator says that it is there."""
ANSWER_S = 1.5
"""Longest wait for one answer to that: a host that gives none counts as lost two seconds after its last at most, and
the run, which looks twice a second, ends within three.
"""


@dataclass
class FleetHost:
    """A host that is reserved."""

    name: str
    spec: HostSpec
    engine: Fleet
    number: int
    """Its place in the file, counted from 0."""
    facts: Json = field(default_factory=dict)
    lost: str = ""
    """That it counts as lost, since when and why; empty while it is there."""
    why: str = ""
    """The reason alone."""
    machines: dict[str, RemoteMachine] = field(default_factory=dict)
    drivers: Json = field(default_factory=dict)
    """How its drivers do, by name."""

    async def ask(self, question: str, timeout_s: float, **words: Any) -> Any:
        """What its supervisor answers. Raises LoadstoneError."""
        if self.lost:
            raise HostLostError(self.lost)
        return await self.engine.ask(self.name, question, words, timeout_s)

    async def beat(self) -> None:
        """Says that the coordinator is there, until the host is lost."""
        while not self.lost:
            try:
                told = await self.ask("beat", ANSWER_S)
            except FleetError as error:
                self.lose(str(error))
                return
            self.drivers = told["drivers"]
            for name, state in told["machines"].items():
                if name in self.machines:
                    self.machines[name].heard(state)
            await asyncio.sleep(BEAT_S)

    def lose(self, why: str) -> None:
        """Counts the host as lost from now on."""
        self.why = self.why or why
        self.lost = self.lost or f"the host {self.name} was lost at {time.strftime('%H:%M:%S')}: {why}"

    def gauge(self) -> AgentGauge:
        """What its kernel counts, for the monitors."""
        return AgentGauge(self.name, _Look(self), self.facts["first"], "host of the fleet", None)


@dataclass(frozen=True)
class _Look:
    """A way to a host's agent by its supervisor."""

    host: FleetHost

    async def ask(self, timeout_s: float) -> Json:
        """What it counts; raises OSError when it does not say."""
        try:
            told: Json | None = await self.host.ask("look", timeout_s)
        except FleetError as error:
            raise OSError(str(error)) from None
        if told is None:
            raise OSError(f"{self.host.name} counts nothing")
        return told
