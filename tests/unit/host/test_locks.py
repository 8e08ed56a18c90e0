"""Who measures on this machine at the same time is known: other processes, not the other half of a duet."""

import os
import subprocess
import sys

import pytest

from loadstone.host import locks
from loadstone.host.locks import measuring

OURS = f"{locks.MEASURING}-{os.getpid()}"
"""Others may measure on this machine while it is tested."""
OTHER = f"""
from loadstone.host import locks
locks.MEASURING = {OURS!r}
with locks.measuring() as alone:
    print(alone)
"""


def another_is_alone() -> bool:
    """What a process of its own finds."""
    done = subprocess.run([sys.executable, "-c", OTHER], check=True, capture_output=True, text=True)
    return {"True": True, "False": False}[done.stdout.strip()]


def test_another_process_knows_of_a_measurement_and_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "MEASURING", OURS)
    with measuring():
        assert not another_is_alone()
        with measuring() as second:
            assert second  # two runs of one process belong together
        assert not another_is_alone()
