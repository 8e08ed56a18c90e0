"""Runs a command and writes what it cost into a file: `spawn.py FILE COMMAND ...`.

The kernel counts the memory that a process had before it became another program. Started from here, a command's peak
is at least the few megabytes of this script, and not the memory of the whole measurement.
"""

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Writes exit code, CPU seconds (user and system, children included) and peak memory in KiB."""
    file, *command = sys.argv[1:]
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    figures = (os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
    Path(file).write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
