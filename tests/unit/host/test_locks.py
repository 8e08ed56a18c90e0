"""Who measures on this machine at the same time is known: other processes, not the other half of a duet."""

import os
import subprocess
import sys
import threading

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


def test_both_halves_say_the_same_and_the_sign_stays_until_the_last_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "MEASURING", OURS)
    together, first_ended = threading.Barrier(2), threading.Event()
    said: list[bool] = []

    def first() -> None:
        together.wait()
        with measuring() as alone:
            said.append(alone)
            together.wait()
        first_ended.set()

    other = threading.Thread(target=first)
    other.start()
    together.wait()
    with measuring() as alone:
        said.append(alone)
        together.wait()
        first_ended.wait(10)
        assert not another_is_alone()
    other.join()
    assert said == [True, True]
    assert another_is_alone()
