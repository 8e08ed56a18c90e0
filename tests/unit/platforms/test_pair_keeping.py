"""When a pair makes a side that follows, and when it must not touch any."""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

import pytest

from loadstone.model.errors import PlatformError
from loadstone.platforms.pair import machine as pair_machine
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.pair.side import Side


@dataclass(eq=False)
class SaidSide:
    """A side of which the agent's events are known alone."""

    said: list[str]
    is_up: bool = True
    has_ended: bool = False

    @property
    def events(self) -> list[dict[str, Any]]:
        return [{"event": event} for event in self.said]

    async def end(self) -> None:
        self.has_ended, self.is_up = True, False


def pair_of(*sides: SaidSide) -> PairMachine:
    def refuse(*_: object) -> Side:
        raise PlatformError("another side is to be made")

    async def lose_store() -> None:
        """Nothing is there to lose."""

    parts: Any = None
    held = [cast(Side, side) for side in sides]
    made = PairMachine(parts, parts, parts, sides=held, beside=refuse, lose_store=lose_store)
    made.__dict__["context"] = type("Context", (), {"name": "one"})
    return made


@pytest.mark.parametrize("last", ["over", "protected", "lost"])
def test_a_survivor_is_not_ended_while_the_primary_that_is_gone_seems_to_be_up(
    last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_machine, "KEPT_S", 0.0)
    primary, survivor = SaidSide(["ready", "protected", last]), SaidSide(["ready", "follows"])
    pair = pair_of(primary, survivor)

    async def keep() -> None:
        async with pair.kept():
            for _ in range(20):
                await asyncio.sleep(0)

    asyncio.run(keep())
    assert not survivor.has_ended
    assert not pair.failures
    if last == "over":
        with pytest.raises(PlatformError, match="No side of the pair one serves at this moment"):
            asyncio.run(pair.protect())
        assert not survivor.has_ended


@pytest.mark.parametrize("last", ["alone", "live"])
def test_a_side_that_serves_alone_gets_another(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_machine, "KEPT_S", 0.0)
    primary, gone = SaidSide(["ready", "protected", last]), SaidSide(["ready", "over"])
    pair = pair_of(primary, gone)

    async def keep() -> None:
        async with pair.kept():
            for _ in range(20):
                await asyncio.sleep(0)

    asyncio.run(keep())
    assert gone.has_ended
    assert "another side is to be made" in pair.failures[0]
