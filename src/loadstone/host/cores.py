"""Cores of this machine: which there are, which are named, and the words that keep a command on some of them."""

import os
import re

from loadstone.model.errors import PlatformError


def on_cores(pin: str) -> list[str]:
    """Words that keep a command on named cores; raises PlatformError for those that are not here."""
    return ["taskset", "--cpu-list", ",".join(map(str, sorted(read_core_list(pin))))]


def list_first_cores(count: int) -> str:
    """The first so many of the cores this process may use, as a list for taskset; raises PlatformError."""
    there = sorted(os.sched_getaffinity(0))
    if not 1 <= count <= len(there):
        raise PlatformError(f"{count} cores are not available: there are {len(there)} here. Use 1 to {len(there)}.")
    return ",".join(map(str, there[:count]))


def list_free_cores(taken: set[int], needed: int) -> str:
    """The cores that are left beside those taken, as a list for taskset; empty where they are fewer than needed."""
    left = sorted(os.sched_getaffinity(0) - taken)
    return ",".join(map(str, left)) if taken and len(left) >= needed else ""


def read_core_list(text: str) -> set[int]:
    """Reads `0-1` or `0+2` as numbers of cores; raises PlatformError for those that are not here."""
    cores: set[int] = set()
    for part in text.split("+"):
        matched = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", part)
        first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (1, 0)
        if first > last:
            raise PlatformError(f"`{text}` is not a valid list of cores. Use a list such as 0-1 or 0+2.")
        cores |= set(range(first, last + 1))
    there = os.sched_getaffinity(0)
    strange = cores - there
    if strange:
        raise PlatformError(f"There is no core {min(strange)} here. There are {sorted(there)}.")
    return cores
