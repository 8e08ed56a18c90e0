"""Who measures on this machine at the same time is known: other processes, not the other half of a duet."""

import asyncio
import os
import subprocess
import sys
import threading

import pytest

from loadstone.host import locks
from loadstone.host.locks import hold_measuring_sign

OURS = f"{locks.MEASURING}-{os.getpid()}"
"""Others may measure on this machine while it is tested."""
OTHER = f"""
from loadstone.host import locks
locks.MEASURING = {OURS!r}
with locks.hold_measuring_sign() as alone:
    print(alone)
"""


CHOOSING = """
import asyncio
from loadstone.host import locks
async def choose():
    async with locks.lock_addresses():
        print("chosen", flush=True)
        input()
locks.ADDRESSES = {name!r}
asyncio.run(choose())
"""


def another_is_alone() -> bool:
    """What a process of its own finds."""
    done = subprocess.run([sys.executable, "-c", OTHER], check=True, capture_output=True, text=True)
    return {"True": True, "False": False}[done.stdout.strip()]


def test_another_process_knows_of_a_measurement_and_of_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "MEASURING", OURS)
    with hold_measuring_sign():
        assert not another_is_alone()
        with hold_measuring_sign() as second:
            assert second  # two runs of one process belong together
        assert not another_is_alone()


def test_both_halves_say_the_same_and_the_sign_stays_until_the_last_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "MEASURING", OURS)
    together, first_ended = threading.Barrier(2), threading.Event()
    said: list[bool] = []

    def first() -> None:
        together.wait()
        with hold_measuring_sign() as alone:
            said.append(alone)
            together.wait()
        first_ended.set()

    other = threading.Thread(target=first)
    other.start()
    together.wait()
    with hold_measuring_sign() as alone:
        said.append(alone)
        together.wait()
        first_ended.wait(10)
        assert not another_is_alone()
    other.join()
    assert said == [True, True]
    assert another_is_alone()


def test_addresses_are_chosen_by_one_process_at_a_time_wherever_it_keeps_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(locks, "ADDRESSES", f"{locks.ADDRESSES}-{os.getpid()}")
    monkeypatch.setattr(locks, "ADDRESSES_S", 0.1)

    async def choose() -> None:
        async with locks.lock_addresses():
            pass

    command = [sys.executable, "-c", CHOOSING.format(name=locks.ADDRESSES)]
    elsewhere = os.environ | {"LOADSTONE_RUNTIME_DIR": "/nowhere"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=elsewhere) as other:
        assert other.stdin and other.stdout
        assert other.stdout.readline() == "chosen\n"
        with pytest.raises(TimeoutError, match="choosing network addresses"):
            asyncio.run(choose())
        other.communicate("\n", timeout=60)
    asyncio.run(choose())
