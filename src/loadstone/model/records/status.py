"""How far a result got."""

from enum import StrEnum


class Status(StrEnum):
    """How far a result got."""

    RUNNING = "running"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
