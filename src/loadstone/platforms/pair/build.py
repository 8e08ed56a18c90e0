"""Whether the QEMU that is installed is one whose record and replay pairs work with: known, or found out here."""

import json
import subprocess
from functools import cache
from pathlib import Path

from loadstone.host import launch
from loadstone.host.cache import find_cache_folder
from loadstone.platforms.vm.command import QEMU
from loadstone.platforms.vm.host_identity import build_of_qemu

QEMU_VERSION = "7.2.22"
"""Of Debian 12. The log's format and the layout of `ReplayState` were read and tried there; later versions were seen to
stop in the midst of a replay."""
SUPPORTED_QEMU_DIGESTS = frozenset({"1493008ba0036014c727bb23bbe2f399135867e9b5c4fe288ef2b4b816f46b0c"})
"""SHA-256 of the programs that were measured: Debian's 1:7.2+dfsg-7+deb12u18+b3."""
QEMU_VERSION_TIMEOUT_S = 10.0


@cache
def explain_unfit_qemu() -> str:
    """Why this QEMU is refused, with the remedy; empty when it is not, or must first show that it replays."""
    try:
        output = launch.run([QEMU, "--version"], timeout=QEMU_VERSION_TIMEOUT_S, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return f"`{QEMU} --version` does not answer: {error}."
    if f"version {QEMU_VERSION} " in output:
        return ""
    first_line = output.partition("\n")[0]
    return f"Pairs work with QEMU {QEMU_VERSION} of Debian 12 (package qemu-system-x86); this is `{first_line}`."


def is_known_build() -> bool:
    """Whether this build is one that was measured, or has shown here that it replays what it records."""
    return build_of_qemu() in SUPPORTED_QEMU_DIGESTS or build_of_qemu() in _shown()


def remember_build() -> None:
    """Stores that this QEMU has shown that it replays."""
    _file().write_text(json.dumps(sorted(_shown() | {build_of_qemu()})))


def _shown() -> set[str]:
    try:
        return set(json.loads(_file().read_text()))
    except (OSError, ValueError, TypeError):
        return set()


def _file() -> Path:
    return find_cache_folder() / "pair-builds.json"
