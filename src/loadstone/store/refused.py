"""A note of a command that was refused before it left a result, so that `latest` never stands for an older one."""

import contextlib
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from loadstone.model.errors import StoreError
from loadstone.store.documents import read_raw, write_atomic

NOTE = ".refused.json"


@dataclass(frozen=True)
class Refusal:
    """The command that left no result, when it ended, and with which exit code."""

    command: str
    ended: datetime
    code: int

    def __str__(self) -> str:
        when = f"{self.ended.astimezone():%Y-%m-%d %H:%M:%S}"
        return f"`loadstone {self.command}` ended at {when} with exit code {self.code} and left no result"


def note_refusal(results: Path, command: str, code: int) -> None:
    """Notes it beside the results; where they cannot be written, or there are none, there is nothing to mistake."""
    content = {"command": command, "ended": datetime.now(UTC).isoformat(), "code": code}
    with contextlib.suppress(OSError, StoreError):
        if any(results.iterdir()):
            write_atomic(results / NOTE, json.dumps(content).encode() + b"\n")


def find_refusal_since(results: Path, started: datetime) -> Refusal | None:
    """The refusal that was noted after a result was begun; None where there was none, or the note cannot be read."""
    if not os.path.lexists(results / NOTE):
        return None
    with contextlib.suppress(StoreError, KeyError, TypeError, ValueError):
        content = read_raw(results / NOTE)
        refusal = Refusal(str(content["command"])[:60], datetime.fromisoformat(content["ended"]), int(content["code"]))
        return refusal if refusal.ended > started else None
    return None
