"""A side on another host, as its coordinator hears it."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from loadstone.fleet.contract import FleetError
from loadstone.fleet.pairs import remote_side
from loadstone.fleet.pairs.remote_side import HalfHost, RemoteSide
from loadstone.fleet.pairs.requests import ReceiveEvents, SideEvents
from loadstone.fleet.remote import Supervised
from loadstone.platforms.pair.command import PairLayout, SideFiles


class _SilentHost:
    """A host that answers nothing."""

    name, lost = "s1", ""


class _ScriptedSide(RemoteSide):
    """A side whose host answers from a list, or not for so many seconds; the metrics before each are collected."""

    def __init__(self, answers: list[SideEvents | float]) -> None:
        home = HalfHost(cast(Supervised, _SilentHost()), "pair", "10.0.0.2")
        super().__init__(cast(PairLayout, None), SideFiles(Path("/nowhere"), "a"), "tap0", home=home)
        self._answers: Iterator[SideEvents | float] = iter(answers)
        self.collected: list[dict[str, Any]] = []
        self.now_s = 0.0

    async def ask(self, request: Any, timeout_s: float | None = None) -> Any:
        assert isinstance(request, ReceiveEvents)
        self.collected.append(self.metrics)
        answer = next(self._answers)
        if isinstance(answer, float):
            self.now_s += answer
            raise FleetError(f"no answer for {answer} s")
        return answer

    async def listen(self) -> None:
        """Hears all answers."""
        await self._hear()
        self.collected.append(self.metrics)


def answer(log_bytes: int, is_last: bool = False) -> SideEvents:
    """A report that is a second old, from a host whose clock is 50 s ahead."""
    return SideEvents([], {"log_bytes": log_bytes, "heard_unix_s": 100.0}, True, is_last, time.time() + 50)


def test_a_report_that_is_received_twice_stays_the_same_object() -> None:
    side = _ScriptedSide([answer(1), answer(1), answer(2, is_last=True)])
    asyncio.run(side.listen())
    begin, first, again, second = side.collected
    assert begin == {} and first["log_bytes"] == 1 and second["log_bytes"] == 2
    assert again is first, "who waits for a new report would take the old one"
    assert abs(first["heard_unix_s"] - 50) < 10, "by this host's clock"


@pytest.mark.parametrize(
    ("waited_s", "log_bytes"),
    [
        (ReceiveEvents.timeout_s, 2),  # its host stood still, and is not lost
        (60.0, 2),  # this process did
        (0.1, 1),  # refused: there is no such side any more
    ],
)
def test_a_side_is_heard_again_after_its_host_stood_still(
    waited_s: float, log_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = _ScriptedSide([answer(1), waited_s, answer(2, is_last=True)])
    monkeypatch.setattr(remote_side, "time", SimpleNamespace(monotonic=lambda: side.now_s, time=time.time))
    asyncio.run(side.listen())
    assert side.metrics["log_bytes"] == log_bytes
