"""Survivors of a pair that are left in the midst of an event, and a program that is no QEMU which pairs work with."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benches.boundaries import cut_often

from loadstone.host.programs import find_preload
from loadstone.platforms.pair.local_side import PAIR_MEMORY_VARIABLE
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.vm.conftest import patient_agents

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
    pytest.mark.slow("virtual machines start, and QEMU emulates them"),
]


def test_a_program_without_what_is_used_of_qemu_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    opening = f"import ctypes; ctypes.CDLL(None).fopen64({log.encode()!r}, b'rb')"
    environment = os.environ | {"LD_PRELOAD": find_preload(), PAIR_MEMORY_VARIABLE: log}
    done = subprocess.run([sys.executable, "-c", opening], env=environment, capture_output=True, text=True, check=True)
    assert "does not export replay_mode, replay_state" in done.stderr


CUTS = 6
"""Places in the log that survivors go on from; the rate `pair-cuts` tries hundreds."""


@pytest.mark.slow("a pair is cut and protected anew six times")
def test_a_survivor_goes_on_from_any_event_that_it_was_left_at(tmp_path: Path) -> None:
    with patient_agents():
        cuts = asyncio.run(cut_often(seed=5, count=CUTS, folder=tmp_path))
    assert len(cuts) == CUTS
    assert all(cut.went_on for cut in cuts), cuts
    assert len({cut.position for cut in cuts}) == CUTS
