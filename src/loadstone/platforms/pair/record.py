"""What the next keeper of a pair must know when the process that created it is gone: one document for the pair, and
one for each side. Pure but for its files.
"""

import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from loadstone.host.identity import start_of
from loadstone.platforms.fabric import NetworkInterface


class PairDocument(BaseModel):
    """A document that is replaced as a whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def write(self, path: Path) -> None:
        """Replaces the file, which a reader finds whole at any time. Raises OSError."""
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_text(self.model_dump_json())
        new.replace(path)


class ProcessRecord(PairDocument):
    """A process, which its number and its start name for ever."""

    pid: int
    start: str

    @staticmethod
    def read(pid: int) -> "ProcessRecord":
        """That of a process that runs. Raises ProcessLookupError."""
        return ProcessRecord(pid=pid, start=start_of(pid))


class SideRecord(PairDocument):
    """One side."""

    name: str
    tap: str
    started: str
    agent: ProcessRecord
    machine: ProcessRecord | None = None
    """None before it was started."""


class PairRecord(PairDocument):
    """A pair of this host."""

    name: str
    machine: dict[str, Any]
    """As it is declared."""
    folder: Path
    """Of the journal."""
    logs: Path
    nic: NetworkInterface
    serves: str
    """What it serves and where, for people."""
    fleet: dict[str, Any] | None = None
    """The fleet as it is declared, whose hosts have the sides; None where this host has both."""
    may_be_kept: bool = True
    """Whether a secondary is made whenever there is none."""
    failed_end: str = ""
    """What was left when it was ended, with the reason and the remedy; empty for a pair that was not ended."""


def read_pair(path: Path) -> PairRecord | None:
    """Reads the document of a pair; None where there is none that can be read."""
    try:
        return PairRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def read_sides(folder: Path) -> list[SideRecord]:
    """Reads the documents of all sides whose files are in this folder, in the order in which the sides came."""
    sides = []
    for path in folder.glob("*.side"):
        try:
            sides.append(SideRecord.model_validate_json(path.read_bytes()))
        except (OSError, ValidationError):
            continue  # of a side that is just ended
    return sorted(sides, key=lambda side: (read_number(side.name), side.name))


def locate_sides(above: Path, pair: str) -> Path:
    """Returns the folder of the sides of a pair of this host, below that of a journal."""
    return above / f"{pair}-pair"


def read_number(side: str) -> int:
    """The number in the name of a side: 0 of the two that a pair begins with."""
    return int(side.rpartition("-")[2]) if "-" in side else 0
