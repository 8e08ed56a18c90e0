"""On which host machines come that name none. Pure."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from loadstone.fleet.contract import FleetError
from loadstone.model.fleet import Dealing


@dataclass(frozen=True)
class Room:
    """What a host has for machines, or what they take."""

    cores: int
    memory_mib: int

    def subtract(self, taken: Sequence["Room"]) -> "Room":
        """Returns the room that is left when others are taken from it."""
        cores, memory_mib = sum(reserved.cores for reserved in taken), sum(reserved.memory_mib for reserved in taken)
        return Room(self.cores - cores, self.memory_mib - memory_mib)

    def __str__(self) -> str:
        return f"{self.cores} cores and {self.memory_mib} MiB"


@dataclass
class Dealer:
    """Deals machines to hosts."""

    dealing: Dealing
    rooms: Mapping[str, Room]
    """By host, in the order in which they are dealt to."""
    taken: dict[str, list[Room]] = field(default_factory=dict)
    turn: int = 0

    def choose_host(self, sizes: Sequence[Room], but: Container[str] = ()) -> str:
        """The host for machines that come together, which they take room of, but for some; raises FleetError when none
        has room.
        """
        host = self._next(sizes, but)
        self.taken.setdefault(host, []).extend(sizes)
        return host

    def _next(self, sizes: Sequence[Room], but: Container[str]) -> str:
        if self.dealing is Dealing.SPREAD:
            return self._in_turn(but)
        names = [name for name in self.rooms if name not in but]
        for name in names:
            left = self._left(name).subtract(sizes)
            if left.cores >= 0 and left.memory_mib >= 0:
                return name
        wanted = Room(0, 0).subtract(sizes)
        lefts = "; ".join(f"{name} has {self._left(name)}" for name in names)
        raise FleetError(f"No host has {-wanted.cores} cores and {-wanted.memory_mib} MiB left: {lefts}.")

    def _in_turn(self, but: Container[str]) -> str:
        """The next host but for some, of which there is one at least."""
        names = list(self.rooms)
        position = next(
            position for position in range(self.turn, self.turn + len(names)) if names[position % len(names)] not in but
        )
        self.turn = position + 1
        return names[position % len(names)]

    def _left(self, name: str) -> Room:
        return self.rooms[name].subtract(self.taken.get(name, []))
