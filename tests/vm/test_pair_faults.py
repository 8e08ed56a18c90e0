"""What else befalls a pair: a guest that powers off, and a program that is no QEMU which pairs work with."""

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benches.boundaries import Cut, cut_often
from benches.failovers import serving

from loadstone.host.programs import preload
from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.side import MEMORY
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.vm.test_pairs import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
]


def test_a_pairs_memory_is_locked(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path) as (machine, _, _):
            for side in machine.sides:
                told = Path(f"/proc/{side.pid}/status").read_text()
                locked_kib = next(int(line.split()[1]) for line in told.splitlines() if line.startswith("VmLck"))
                assert locked_kib >= machine.layout.spec.memory << 10

    asyncio.run(play())


@pytest.mark.parametrize("how", ["off", "reset"])
def test_a_guest_that_ends_itself_ends_both_machines_and_nobody_goes_live(how: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(tmp_path) as (machine, _, _):
            machine.may_be_kept = False
            if how == "off":
                with contextlib.suppress(PlatformError):
                    await machine.agent.ask("off", timeout_s=5)
            else:
                await machine.sides[0].execute("system_reset")
            for side in machine.sides:
                await side.event("over")
            await until(lambda: not any(side.pid for side in machine.sides))
            told = [event["event"] for side in machine.sides for event in side.events]
            assert not {"live", "alone", "claim", "diverged"} & set(told)
            assert "both machines of the pair" in machine.end()

    asyncio.run(play())


def test_a_program_without_what_is_used_of_qemu_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    opening = f"import ctypes; ctypes.CDLL(None).fopen64({log.encode()!r}, b'rb')"
    environment = os.environ | {"LD_PRELOAD": preload(), MEMORY: log}
    done = subprocess.run([sys.executable, "-c", opening], env=environment, capture_output=True, text=True, check=True)
    assert "does not export replay_mode, replay_state" in done.stderr


BOUNDARIES = 200
"""Places in the log that survivors go on from."""
AT_ONCE = 2
"""Pairs that this is tried on."""


def test_a_survivor_goes_on_from_any_event_that_it_was_left_at(tmp_path: Path) -> None:
    async def cut(at: int) -> list[Cut]:
        folder = tmp_path / str(at)
        folder.mkdir()
        return await cut_often(seed=5 + at, count=BOUNDARIES // AT_ONCE, folder=folder)

    async def play() -> list[Cut]:
        return [one for cuts in await asyncio.gather(*map(cut, range(AT_ONCE))) for one in cuts]

    cuts = asyncio.run(play())
    assert len(cuts) == BOUNDARIES
    assert all(cut.went_on for cut in cuts), cuts
    assert len({cut.position for cut in cuts}) > BOUNDARIES * 0.9
