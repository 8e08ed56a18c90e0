"""Whether the QEMU that is installed is one whose record and replay pairs are known to work with."""

import subprocess
from functools import cache

from loadstone.platforms.vm.command import QEMU

VERSION = "7.2.22"
"""Of Debian 12. The log's format and the layout of `ReplayState` were read and tried there; later
ones were seen to stop in the midst of a replay."""
ANSWER_S = 10.0


@cache
def unfit_qemu() -> str:
    """Why this QEMU is refused, with the remedy; empty when it is not."""
    try:
        said = subprocess.run([QEMU, "--version"], capture_output=True, text=True, timeout=ANSWER_S, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return f"`{QEMU} --version` does not answer: {error}."
    if f"version {VERSION} " in said:
        return ""
    found = said.partition("\n")[0]
    return f"Pairs work with QEMU {VERSION} of Debian 12 (package qemu-system-x86); this is `{found}`."
