"""A process that another one has started: looked after by its number and its start."""

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from loadstone.host.identity import is_still

ADOPTED_POLL_INTERVAL_S = 0.01
UNKNOWN_CODE = -1
"""The code of a process is for its parent alone."""


@dataclass(frozen=True)
class AdoptedProcess:
    """With what is used of `asyncio.subprocess.Process`."""

    pid: int
    start: str
    """As `identity.start_of` has it."""

    @property
    def returncode(self) -> int | None:
        """None while it runs."""
        return None if is_still(self.pid, self.start) and not _is_zombie(self.pid) else UNKNOWN_CODE

    async def wait(self) -> int:
        """Waits for its end."""
        while (code := self.returncode) is None:
            await asyncio.sleep(ADOPTED_POLL_INTERVAL_S)
        return code

    def kill(self) -> None:
        """Kills it, where it runs."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in ("Z", "X")
    except OSError:
        return True
