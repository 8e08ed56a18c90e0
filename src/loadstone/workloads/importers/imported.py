"""What an importer gives: a workload's text, and what whoever asked for it should know of it."""

from dataclasses import dataclass

from loadstone.workloads.importers.correlated import Correlated, Place, group_places


@dataclass(frozen=True)
class Imported:
    """A workload's text, where it is to be played, what was left out, and what wants another look."""

    text: str
    target: str
    operations: int
    left_out: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    correlated: tuple[Correlated, ...] = ()
    """Values of the recorded visit alone."""
    passwords: tuple[tuple[str, str], ...] = ()
    """Variables of the environment that passwords are read from, with the places where they stand."""
    by_status: int | None = None
    """Operations of which nothing but the status is checked; None where the importer does not know."""

    @property
    def places(self) -> list[Place]:
        """Where they stand."""
        return group_places(self.correlated)
