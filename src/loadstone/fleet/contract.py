"""What holds a fleet together: a few words to an engine that knows hosts, starts one supervisor on each and carries
small messages to it. Load and its figures never go this way: drivers speak to each other themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from loadstone.model.errors import PlatformError

Json = dict[str, Any]


class FleetError(PlatformError):
    """A fleet, or a host of it, cannot be used."""


class HostLostError(FleetError):
    """A host, or what supervises it, is gone or out of reach."""


@dataclass(frozen=True)
class FoundHost:
    """A host as the engine knows it."""

    is_alive: bool
    address: str
    detail: str = ""
    """For people: what it is made of, or how it ended."""


class Fleet(Protocol):
    """An engine. Whoever uses it asks every host for itself, so that one that hangs holds up no other."""

    async def list_hosts(self) -> Mapping[str, FoundHost]:
        """The hosts that are there now, by name. Raises FleetError when there is no engine to ask."""

    async def reserve(self, names: Sequence[str]) -> None:
        """Starts a supervisor on each of these hosts, all or none: nobody else gets them until they are released.
        Raises FleetError that names those it cannot have, and why.
        """

    async def ask(self, name: str, document: Json, timeout_s: float) -> Any:
        """Sends a message in plain data to a host's supervisor; its answer in plain data. Raises HostLostError when
        there is no answer in time, and any other LoadstoneError as the supervisor raised it.
        """

    async def describe_failure(self) -> str:
        """Why the engine itself no longer works; empty while it does. Answers within two seconds."""

    async def release(self) -> None:
        """Ends all supervisors. What they made is gone already, or goes with them."""
