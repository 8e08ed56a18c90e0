"""Which process a number is of: numbers are given anew, and the clock may be set, so neither tells alone."""

import contextlib
from pathlib import Path

import psutil

STARTTIME = 19
"""Place of the start, in ticks, among the fields of /proc/PID/stat after the program's name (proc(5))."""


def start_of(pid: int) -> str:
    """When the process of a number started: the boot, and ticks since it. With its number this names a process for
    ever, whatever the clock is set to. Raises ProcessLookupError where there is none.
    """
    try:
        state = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        raise ProcessLookupError(pid) from None
    ticks = state.rpartition(")")[2].split()[STARTTIME]  # a program's name may hold anything, also parentheses
    return f"{boot} {ticks}"


def read_boot_id() -> str:
    """Returns a name for the time since this host booted."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:  # sandboxes hide it
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # and /proc/stat
            return str(int(psutil.boot_time()))
    return "unknown"


def is_still(pid: int, start: str) -> bool:
    """Whether the process that started then lives."""
    try:
        return start_of(pid) == start
    except ProcessLookupError:
        return False
