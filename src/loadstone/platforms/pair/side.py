"""One side of a pair, wherever it is: a QEMU and the agent beside it."""

import asyncio
import contextlib
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.command import PairLayout, SideFiles
from loadstone.platforms.pair.mode import Mode

Json = dict[str, Any]

SIDE_READY_TIMEOUT_S = 20.0
"""Longest wait for a program to say that it is there."""
STATE_SAVE_TIMEOUT_S = 60.0
"""Longest time for a state to be written."""
REFUSED = "refused"
"""What an agent says when it does not do what it was told."""


@dataclass(eq=False)
class Side(ABC):
    """A machine and its agent, wherever they are."""

    layout: PairLayout
    files: SideFiles
    """Where its host has them."""
    tap: str
    """The tap that its agent has."""
    events: list[Json] = field(default_factory=list)
    """What the agent said."""
    metrics: Json = field(default_factory=dict)
    """What it measured last."""
    started: str = ""
    """How the machine began whose state this side was given first, for the report."""
    _heard: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    @abstractmethod
    def place(self) -> str:
        """Its host, for people."""

    @property
    @abstractmethod
    def is_up(self) -> bool:
        """Whether its machine is there."""

    @property
    @abstractmethod
    def is_mute(self) -> bool:
        """Whether its agent says nothing any more."""

    @property
    def processes(self) -> Mapping[str, int]:
        """Processes of this host that are its: `machine` and `agent`, as far as they are there."""
        return {}

    @property
    def pid(self) -> int:
        """QEMU's process on this host; 0 where there is none."""
        return self.processes.get("machine", 0)

    @abstractmethod
    async def start_agent(self, follow: str | None) -> None:
        """Starts its agent, which follows the one at that address. Raises PlatformError."""

    @abstractmethod
    async def start_machine(self, mode: Mode, has_state: bool) -> None:
        """Starts QEMU, which goes on from the saved state where there is one. Raises PlatformError."""

    @abstractmethod
    async def execute(self, command: str, **arguments: Any) -> Any:
        """Has QEMU do something. Raises PlatformError."""

    @abstractmethod
    async def order(self, do: str, **details: Any) -> None:
        """Tells the agent to do something."""

    @abstractmethod
    async def signal(self, number: signal.Signals, *whom: str) -> None:
        """Sends a signal to its `machine`, its `agent`, or both."""

    @abstractmethod
    async def read_outside(self) -> Json | None:
        """Returns the cost of its machine on its host, None where that is not known."""

    @abstractmethod
    async def fetch(self, source: "Side", files: Mapping[Path, Path]) -> None:
        """Has files of another side, by where they are there, where it is itself; they are gone there. Raises
        PlatformError.
        """

    @abstractmethod
    async def forget(self, file: Path) -> None:
        """Removes a file on its host."""

    @abstractmethod
    async def describe_log_end(self) -> str:
        """The last words of its agent's log."""

    @abstractmethod
    async def end(self) -> None:
        """Ends both; what they had is gone."""

    async def describe_reports(self) -> str:
        """Names what its agent has reported, with reasons, and how its programs ended; begins with `reported`."""
        events = [
            f"{event['event']} ({why})" if (why := event.get("why") or event.get("came")) else event["event"]
            for event in self.events
        ]
        reported = f"reported {', '.join(events) or 'nothing'}"
        return "; ".join(filter(None, (reported, await self.describe_log_end())))

    async def wait_for(self, is_so: Callable[[], bool], within_s: float) -> None:
        """Until what its agent has said makes something so, or the time is over."""
        with contextlib.suppress(TimeoutError):
            async with self._heard:
                await asyncio.wait_for(self._heard.wait_for(is_so), within_s)

    async def wait_event(self, name: str, after: int = 0, within_s: float = SIDE_READY_TIMEOUT_S) -> Json:
        """Waits for what the agent says, beyond its first `after` events. Raises PlatformError."""

        def latest(kind: str = name) -> Json | None:
            return next((event for event in self.events[after:] if event["event"] == kind), None)

        def is_over() -> bool:
            has_said = latest() is not None or latest(REFUSED) is not None
            return has_said or self.is_mute

        await self.wait_for(is_over, within_s)
        event = latest()
        if event is None and (refused := latest(REFUSED)) is not None:
            raise PlatformError(f"The agent {self.files.name} refused: {refused['why']}")
        if event is None:
            raise PlatformError(
                f"The agent {self.files.name} did not report `{name}` within {within_s:g} s: "
                f"it {await self.describe_reports()}"
            )
        return event
