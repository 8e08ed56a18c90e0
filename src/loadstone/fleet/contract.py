"""What holds a fleet together: a few words to an engine that knows hosts, starts one supervisor on each and carries
small messages to it. Load and its figures never go this way: drivers speak to each other themselves.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from loadstone.model.errors import LoadstoneError, PlatformError

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

    async def found(self) -> Mapping[str, FoundHost]:
        """The hosts that are there now, by name. Raises FleetError when there is no engine to ask."""

    async def reserve(self, names: Sequence[str]) -> None:
        """Starts a supervisor on each of these hosts, all or none: nobody else gets them until they are released.
        Raises FleetError that names those it cannot have, and why.
        """

    async def ask(self, name: str, question: str, words: Json, timeout_s: float) -> Any:
        """What a host's supervisor answers, in plain data. Raises HostLostError when there is no answer in time, and
        any other LoadstoneError as the supervisor raised it.
        """

    async def failure(self) -> str:
        """Why the engine itself no longer works; empty while it does. Answers within two seconds."""

    async def release(self) -> None:
        """Ends all supervisors. What they made is gone already, or goes with them."""


def answer_of(told: Any) -> Any:
    """An answer as it came over the wire: a value, or an error to be raised here."""
    if "error" not in told:
        return told["value"]
    kinds = {kind.__name__: kind for kind in _kinds(LoadstoneError)}
    raise kinds.get(told["error"], FleetError)(told["text"])


def _kinds(above: type[LoadstoneError]) -> list[type[LoadstoneError]]:
    """All kinds of errors that a text alone makes."""
    below = [kind for one in above.__subclasses__() for kind in _kinds(one)]
    return [kind for kind in [above, *below] if kind.__init__ in (LoadstoneError.__init__, Exception.__init__)]


async def done_by(known: Mapping[str, Callable[..., Awaitable[Any]]], who: str, what: str, words: Json) -> Any:
    """What comes of a word from another host. Raises FleetError for one that is not known, and what doing it raises."""
    if what not in known:
        raise FleetError(f"{who} do not know `{what}`.")
    return await known[what](**words)
