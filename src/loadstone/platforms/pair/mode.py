"""What the QEMU of a side does with its log. Messages between hosts name it without the rest of a pair."""

from enum import Enum


class Mode(Enum):
    """What QEMU does with its log."""

    NONE = ""
    """Boots: its state is what both sides begin with."""
    ALONE = "alone"
    """Runs beside its agent as a protected machine does, counts instructions too, and keeps no log."""
    RECORD = "record"
    REPLAY = "replay"

    @property
    def is_logged(self) -> bool:
        """Whether QEMU records or replays."""
        return self in (Mode.RECORD, Mode.REPLAY)
