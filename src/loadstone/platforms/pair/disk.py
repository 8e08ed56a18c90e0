"""A pair's disk: what can be said of it, and the words that QEMU and the agent beside it are started with. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from loadstone.platforms.vm.settings import RestorableSettings

EXPORT = "rustnbd"
"""What the library that our agents serve disks with calls every disk (crate `nbd`)."""
SECTORS_PER_MIB = 2048
HEADS, SECTORS = 16, 63
MOST_CYLINDERS = 16383
"""Where the geometry is told, QEMU does not read the disk to guess it before the machine runs; the most that a disk has
by ATA/ATAPI-6, as of every larger one."""
LEASE_UNIT_S = 60
SILENCE_MS = 500
"""Usual silence after which a side suspects the other."""
LEAST_SILENCE_MS, MOST_SILENCE_MS = 200, 60_000
MOST_ROUND_TRIP_MS = 100
"""Longest round trip that is added: half of the shortest silence."""
MOST_LINK_MBITS = 100_000
MOST_LEASE_MIN = 365 * 24 * 60
REQUESTS = 16
"""Under way at once, most: QEMU's client of network block devices sends as many in the order in which they were made
(`MAX_NBD_REQUESTS` of its block/nbd.c), and both sides must ask in one order."""


class Disks(StrEnum):
    """What each side of a pair has."""

    REPLICATED = "replicated"
    SHARED = "shared"


class Reads(StrEnum):
    """How the machine that replays gets what was read from a shared disk."""

    LOG = "log"
    SECONDARY = "secondary"


class PairSettings(RestorableSettings):
    """Of pairs."""

    protected: bool = Field(
        default=True,
        description="`false`: the same machine alone, with no secondary and no log, to measure what protection costs",
    )
    disks: Disks = Field(
        default=Disks.REPLICATED,
        description="`replicated` (a disk for each side) or `shared` (one disk, used by one side at a time)",
    )
    reads: Reads = Field(
        default=Reads.LOG,
        description="source of data read from a shared disk, for the secondary: `log`, or `secondary` (its own reads)",
    )
    restart: bool = Field(default=False, description="`true`: restarted with its services when it dies")
    lease: Annotated[int, Field(ge=0, le=MOST_LEASE_MIN)] = Field(
        default=0, description="minutes that the pair continues without the process that created it, 0 to 525600"
    )
    silence_ms: Annotated[int, Field(ge=LEAST_SILENCE_MS, le=MOST_SILENCE_MS)] = Field(
        default=SILENCE_MS,
        description="milliseconds without a sign of life after which a side suspects the other, 200 to 60000",
    )
    round_trip_ms: Annotated[float, Field(ge=0, le=MOST_ROUND_TRIP_MS)] = Field(
        default=0, description="milliseconds added to the round trip between both sides, to measure what distance costs"
    )
    link_mbits: Annotated[float, Field(ge=0, le=MOST_LINK_MBITS)] = Field(
        default=0,
        description="speed of the link between both sides in Mbit/s, to measure what a full one costs; 0: unlimited",
    )

    @property
    def lease_s(self) -> int:
        """Seconds that the pair continues without a keeper."""
        return LEASE_UNIT_S * self.lease


def describe_idle_settings(has_disk: bool, settings: PairSettings) -> str:
    """Lists the disk settings that have no effect for this machine, empty if there are none."""
    if settings.disks is Disks.SHARED and not has_disk:
        return "A shared disk requires a size, such as `disk=64`."
    if settings.reads is Reads.SECONDARY and settings.disks is not Disks.SHARED:
        return "`reads` requires `disks=shared`: a secondary with its own disk always reads it itself."
    return ""


@dataclass(frozen=True)
class PairDisk:
    """The machine's disk: its root, or one for what services keep."""

    mib: int = 0
    """0 for none."""
    disks: Disks = Disks.REPLICATED
    reads: Reads = Reads.LOG

    @property
    def is_shared(self) -> bool:
        """Whether both sides have the same one."""
        return self.disks is Disks.SHARED

    @property
    def has_logged_reads(self) -> bool:
        """Whether the data that is read comes with the log."""
        return self.is_shared and self.reads is Reads.LOG and self.mib > 0

    @property
    def disclosed(self) -> str | None:
        """For the report; none where there is no disk."""
        if not self.mib:
            return None
        way = "comes with the log" if self.reads is Reads.LOG else "is read by the secondary, too"
        return f"shared by both sides; what is read {way}" if self.is_shared else "a replica on each side"


NO_PAIR_DISK = PairDisk()
"""Of a pair that keeps nothing."""


def build_qemu_options(disk: PairDisk, file: Path, socket: Path, is_logged: bool) -> list[str]:
    """Returns QEMU's options for one disk. The log records when each request was done; the agent holds the content of
    the disk. A failed request is passed to the guest, since a machine that stops for it looks the same as one that was
    stopped.
    """
    served = f"nbd+unix:///{EXPORT}?socket={socket}"
    stored = f"file={served},id=stored" if is_logged else f"file={file},id=disk"
    argv = ["-drive", f"{stored},format=raw,if=none"]
    if is_logged:
        argv += ["-drive", "driver=blkreplay,if=none,image=stored,id=disk"]
    cylinders = max(1, min(MOST_CYLINDERS, disk.mib * SECTORS_PER_MIB // (HEADS * SECTORS)))
    geometry = f"cyls={cylinders},heads={HEADS},secs={SECTORS}"
    errors = "werror=report,rerror=report"
    return [*argv, "-device", f"virtio-blk-pci,drive=disk,queue-size={REQUESTS},{geometry},{errors}"]


def build_agent_options(disk: PairDisk, file: Path, socket: Path) -> list[str]:
    """Returns the agent's options for the disk."""
    argv = ["--disk", str(file), "--disk-socket", str(socket)]
    return [*argv, "--shared", "--reads", disk.reads] if disk.is_shared else argv
