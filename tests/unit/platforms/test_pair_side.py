"""A side of a pair on this host whose processes end at any instant."""

import asyncio
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from loadstone.model.errors import PlatformError
from loadstone.platforms.pair import local_side
from loadstone.platforms.pair.command import SideFiles
from loadstone.platforms.pair.local_side import PairSide, SideProcess
from loadstone.platforms.pair.mode import Mode

NOBODY = 1 << 22
"""Number that no process has: the kernel's largest is one less."""


class EndingProcess:
    """A process that ends after so many looks at it."""

    pid = NOBODY

    def __init__(self, looks: int) -> None:
        self._looks = looks

    @property
    def returncode(self) -> int | None:
        self._looks -= 1
        return None if self._looks >= 0 else -9


def build_side(folder: Path, **changes: Any) -> PairSide:
    """A side in this folder that nothing was started for."""
    layout: Any = SimpleNamespace(name="db")
    journal: Any = SimpleNamespace(note_process=lambda *_: None)
    return PairSide(layout, SideFiles(folder, "a"), "tap0", journal=journal, logs=folder, **changes)


def test_a_process_that_ends_between_two_looks_gets_no_signal_and_raises_nothing(tmp_path: Path) -> None:
    for looks in range(4):
        side = build_side(tmp_path, machine=cast(SideProcess, EndingProcess(looks)))
        asyncio.run(side.signal(signal.SIGKILL, "machine", "agent"))


def test_a_machine_that_ends_as_it_starts_says_how_it_ended_and_what_its_agent_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def start(side: PairSide) -> None:
        side.events.append({"event": "lost", "why": "the channel was closed"})
        try:
            await side.start_machine(Mode.REPLAY, has_state=False)
        finally:
            await side.end()

    monkeypatch.setattr(local_side, "build_qemu_command", lambda *_: ["sh", "-c", "echo no such device; exit 3"])
    monkeypatch.setattr(local_side, "find_preload", lambda: "")
    with pytest.raises(PlatformError) as refused:
        asyncio.run(start(build_side(tmp_path, agent=cast(SideProcess, EndingProcess(0)))))
    assert "QEMU ended before it answered at a.qmp" in str(refused.value)
    assert "The agent a reported lost (the channel was closed)" in str(refused.value)
    assert "QEMU ended with status 3: no such device" in str(refused.value)
