"""A side of a pair on this host whose processes end at any instant."""

import asyncio
import signal
from pathlib import Path
from typing import cast

from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.pair.command import PairLayout, SideFiles
from loadstone.platforms.pair.local_side import PairSide, SideProcess

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


def test_a_process_that_ends_between_two_looks_gets_no_signal_and_raises_nothing(tmp_path: Path) -> None:
    for looks in range(4):
        side = PairSide(
            cast(PairLayout, None),
            SideFiles(tmp_path, "a"),
            "tap0",
            journal=cast(ResourceJournal, None),
            logs=tmp_path,
            machine=cast(SideProcess, EndingProcess(looks)),
        )
        asyncio.run(side.signal(signal.SIGKILL, "machine", "agent"))
