"""Names of machines and of processes on them: role, replica, tile and program are fields, and text is only rendered.

Results store the text. `ProcessRole.parse` is the one place that reads it back. Pure.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineRole:
    """A machine of a testbed."""

    role: str
    replica: int | None = None
    """Number among machines of one role, counted from 1; None for a machine without replicas."""
    tile: int | None = None
    """Number of the tile, counted from 1; None outside tiles."""

    def __str__(self) -> str:
        tile = "" if self.tile is None else f"tile{self.tile}-"
        return f"{tile}{self.role}" if self.replica is None else f"{tile}{self.role}-{self.replica}"


@dataclass(frozen=True)
class ProcessRole:
    """Processes on a machine whose use of the host is counted together."""

    machine: str
    program: str = ""
    """Program that runs beside the machine's service, such as `php`; empty for the service."""
    companion: str = ""
    """Process of the host that the machine's platform needs, such as `virtiofsd`; empty for none."""

    def __str__(self) -> str:
        program = f" {self.program}" if self.program else ""
        return f"{self.machine}{program}, {self.companion}" if self.companion else f"{self.machine}{program}"

    @classmethod
    def parse(cls, text: str) -> "ProcessRole":
        """Reads a stored name."""
        service, _, companion = text.partition(", ")
        machine, _, program = service.partition(" ")
        return cls(machine, program, companion)
