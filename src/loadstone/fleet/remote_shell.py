"""Commands on other hosts by the system's ssh, and on this machine by its shell; nothing is asked of a person."""

import asyncio
import os
import shlex
from dataclasses import dataclass

from loadstone.fleet.contract import FleetError
from loadstone.host import launch

VARIABLE = "LOADSTONE_SSH"
"""Names another ssh, with options: `ssh -F FILE`."""
OPTIONS = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5")


@dataclass(frozen=True)
class Shell:
    """A shell on one host."""

    host: str
    """The host's name, for errors."""
    ssh: str
    """How ssh names it; empty for this machine."""

    async def run(self, script: str, standard_input: bytes = b"", timeout_s: float = 60.0) -> str:
        """Runs a script of a POSIX shell, which reads `told`, and returns its output. Raises FleetError
        when it fails.
        """
        argv = ["sh", "-c", script] if not self.ssh else [*_ssh(), "--", self.ssh, f"sh -c {shlex.quote(script)}"]
        try:
            process = await launch.start(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                also=launch.OF_SSH if self.ssh else launch.OF_ENGINE,
            )
        except FileNotFoundError:
            raise FleetError("`ssh` is not installed. Run `apt-get install openssh-client`.") from None
        try:
            out, errors = await asyncio.wait_for(process.communicate(standard_input), timeout_s)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise FleetError(f"{self.host} did not answer within {timeout_s:g} s.") from None
        if process.returncode:
            message = errors.decode(errors="replace").strip() or out.decode(errors="replace").strip()
            raise FleetError(f"{self.host}: {message[-500:] or f'code {process.returncode}'}")
        return out.decode(errors="replace")


def _ssh() -> list[str]:
    return [*shlex.split(os.environ.get(VARIABLE, "ssh")), *OPTIONS]
