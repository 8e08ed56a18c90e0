"""What a saved state depends on of its host: the build of QEMU and, under KVM, the processor."""

import hashlib
import os
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from loadstone.platforms.vm.command import QEMU

PROCESSOR_FIELDS = ("vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "flags")


@dataclass(frozen=True)
class HostIdentity:
    """A host, as far as it decides whether a state that was saved elsewhere or earlier can be restored."""

    qemu: str
    """SHA-256 of QEMU's program."""
    processor: str
    """Model, features and microcode of its processors, and its kernel: what a state under KVM depends on."""


def read_host_identity() -> HostIdentity:
    """Returns the identity of this host. Raises OSError where QEMU cannot be read."""
    return HostIdentity(build_of_qemu(), _processor())


def build_of_qemu() -> str:
    """Which build is installed: SHA-256 of its program."""
    program = Path(shutil.which(QEMU) or QEMU)
    state = program.stat()
    return _sha256(program, state.st_size, state.st_mtime_ns)


@cache
def _sha256(program: Path, size: int, modified_ns: int) -> str:
    """Reckoned anew when the file has changed."""
    with program.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _processor() -> str:
    first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    fields = (line.partition(":") for line in first.splitlines())
    known = [f"{name.strip()}={value.strip()}" for name, _, value in fields if name.strip() in PROCESSOR_FIELDS]
    return "; ".join([*known, f"Linux {os.uname().release}"])
