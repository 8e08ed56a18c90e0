"""What happens to machines, done on purpose: to processes by their ids."""

import contextlib
import os
import signal
from collections.abc import Iterable

from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultKind

SIGNALS = {FaultKind.KILL_PRIMARY: signal.SIGKILL, FaultKind.FREEZE_PRIMARY: signal.SIGSTOP}
"""The faults that any machine can have."""


def fail_processes(pids: Iterable[int], fault: FaultKind, about: str) -> None:
    """Kills or stops these processes. Raises PlatformError for what only pairs can have."""
    if fault not in SIGNALS:
        raise PlatformError(f"Only pairs can have the fault `{fault}`; this is {about}.")
    send(pids, SIGNALS[fault])


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Sends a signal to those that are still there."""
    for pid in filter(None, pids):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
