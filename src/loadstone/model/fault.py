"""What may be done to a system under test on purpose while it is measured. Pure."""

import math
from dataclasses import dataclass
from enum import StrEnum

from loadstone.model.errors import UsageError
from loadstone.model.selector import normalize_selector


class FaultKind(StrEnum):
    """A fault. Of machines that are no pair the one that there is counts as the primary."""

    KILL_PRIMARY = "kill-primary"
    KILL_SECONDARY = "kill-secondary"
    CUT_CHANNEL = "cut-channel"
    """The line between both sides of a pair breaks."""
    FREEZE_PRIMARY = "freeze-primary"
    """Machine and agent stand still, as on a host that hangs."""
    FREEZE_SECONDARY = "freeze-secondary"
    FILL_BUFFER = "fill-buffer"
    """The secondary takes no more log, and all that it could be kept in meanwhile fills up."""
    KILL_AGENTS = "kill-agents"
    LOSE_STORE = "lose-store"
    """The storage that decides who goes on is gone, then the primary is."""


@dataclass(frozen=True)
class PlannedFault:
    """A fault and when: so many seconds after the steady state begins."""

    kind: FaultKind
    at_s: float
    machine: str = ""
    """Selector of the machine, as `db` or `2.web`; empty for the first that users reach."""

    def __str__(self) -> str:
        machine = f"{self.machine}:" if self.machine else ""
        return f"{machine}{self.kind}@{self.at_s:g}"


def read_fault(text: str) -> PlannedFault:
    """Reads `kill-primary@12.5`, or `2.web:kill-primary@12.5` for one machine; raises UsageError."""
    machine, _, rest = text.rpartition(":")
    kind, _, instant = rest.partition("@")
    try:
        planned = PlannedFault(FaultKind(kind), float(instant), normalize_selector(machine))
    except ValueError:
        kinds = ", ".join(FaultKind)
        example = "KIND@SECONDS or MACHINE:KIND@SECONDS"
        raise UsageError(f"`{text}` is not a valid fault. Use {example} with one of {kinds}.") from None
    if not 0 <= planned.at_s < math.inf:
        raise UsageError(f"`{text}` is not a valid fault. Use 0 or more seconds after the steady state begins.")
    return planned


@dataclass(frozen=True)
class FaultRecord:
    """What was done, and what became of the machine; times in seconds since 1970."""

    kind: FaultKind
    at_unix_s: float
    refused: str = ""
    """Why it could not be done; empty when it was."""
    live_unix_s: float | None = None
    """When a machine served again: the other side of a pair, or one that was started anew."""
    protected_unix_s: float | None = None
    """When a pair was complete again."""
    machine: str = ""
    """Name of the machine; empty in results of versions before."""
