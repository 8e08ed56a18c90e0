"""Installing the distribution's packages without starting the services in them."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from loadstone.host import launch
from loadstone.model.errors import PlatformError

POLICY_FILE = Path("/usr/sbin/policy-rc.d")
"""Asked by Debian's packages whether they may start what they bring (invoke-rc.d(8)); 101 is a no."""
INSTALLED_S = 1800.0


def install(packages: Sequence[str]) -> None:
    """Installs packages; raises PlatformError where that fails, or nobody here may."""
    if shutil.which("apt-get") is None:
        raise PlatformError(
            f"`apt-get` is missing. Install the equivalents of {', '.join(packages)} with this system's package tool."
        )
    if os.geteuid() != 0:
        raise PlatformError(f"Installing packages requires root. Run `sudo apt-get install {' '.join(packages)}`.")
    argv = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    with _nothing_starts():
        for command in (["apt-get", "update", "-q"], argv):
            extra = {"DEBIAN_FRONTEND": "noninteractive"}
            done = launch.run(command, also=("APT_CONFIG", *launch.OF_PROXIES), extra=extra, timeout=INSTALLED_S)
            if done.returncode:
                output = (done.stderr or done.stdout).strip()[-400:]
                raise PlatformError(f"`{' '.join(command)}` ended with code {done.returncode}: {output}")


@contextlib.contextmanager
def _nothing_starts() -> Iterator[None]:
    """Unless somebody said already what may."""
    if POLICY_FILE.exists():
        yield
        return
    POLICY_FILE.write_text("#!/bin/sh\nexit 101\n")
    POLICY_FILE.chmod(0o755)
    try:
        yield
    finally:
        POLICY_FILE.unlink(missing_ok=True)
