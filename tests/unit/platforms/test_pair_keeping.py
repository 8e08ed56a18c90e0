"""When a pair makes a side that follows, and when it must not touch any."""

import asyncio
import signal
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from loadstone.model.errors import PlatformError, UsageError
from loadstone.model.fault import FaultKind
from loadstone.platforms.pair import gate
from loadstone.platforms.pair import machine as pair_machine
from loadstone.platforms.pair.control import require_name
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.pair.side import Side
from loadstone.platforms.pair.status import describe_state, list_status_rows
from loadstone.platforms.vm.agent import Agent


@dataclass(eq=False)
class SaidSide:
    """A side of which the agent's events are known alone."""

    said: list[str]
    is_up: bool = True
    has_ended: bool = False
    is_mute: bool = False

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
    made = PairMachine(parts, parts, parts, sides=held, make_secondary=refuse, lose_store=lose_store)
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
        async with pair.keep_running():
            for _ in range(20):
                await asyncio.sleep(0)

    asyncio.run(keep())
    assert not survivor.has_ended
    assert not pair.failures
    if last == "over":
        with pytest.raises(PlatformError, match="No side of the pair one is active now"):
            asyncio.run(pair.protect())
        assert not survivor.has_ended


@pytest.mark.parametrize("last", ["alone", "live"])
def test_a_side_that_serves_alone_gets_another(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_machine, "KEPT_S", 0.0)
    primary, gone = SaidSide(["ready", "protected", last]), SaidSide(["ready", "over"])
    pair = pair_of(primary, gone)

    async def keep() -> None:
        async with pair.keep_running():
            for _ in range(20):
                await asyncio.sleep(0)

    asyncio.run(keep())
    assert gone.has_ended
    assert "another side is to be made" in pair.failures[0]


def test_a_machine_is_protected_again_however_often_that_failed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_machine, "KEPT_S", 0.0)
    pair = pair_of(SaidSide(["ready", "alone"]))
    attempts = 0

    async def protect() -> float:
        nonlocal attempts
        attempts += 1
        if attempts in (1, 2, 3, 4, 9):
            raise PlatformError(f"attempt {attempts}")
        if attempts == 5:
            raise OSError("No space left on device")
        return 0.0

    monkeypatch.setattr(pair, "_protect", protect)

    async def keep() -> None:
        async with pair.keep_running():
            while attempts < 30:
                await asyncio.sleep(0)

    asyncio.run(keep())
    assert pair.failures == [*(f"attempt {number}" for number in (1, 2, 3, 4)), "No space left on device", "attempt 9"]
    assert pair.failures_in_a_row == 0


@pytest.mark.parametrize(
    ("serving", "follower", "status"),
    [
        (SaidSide(["protected"]), SaidSide(["follows"]), "protected"),
        (SaidSide(["protected"], is_mute=True), SaidSide(["follows"]), "failing over"),
        (SaidSide(["protected"], is_up=False), SaidSide(["follows"]), "failing over"),
        (SaidSide(["protected"]), SaidSide(["follows"], is_mute=True), "starting a secondary"),
        (SaidSide(["alone"]), SaidSide(["ready"]), "starting a secondary"),
        (SaidSide(["protected"], is_up=False), SaidSide(["live"]), "not protected"),
        (SaidSide(["over"], is_up=False), SaidSide(["over"], is_up=False), "gone"),
    ],
)
def test_the_status_says_protected_only_while_both_agents_do(
    serving: SaidSide, follower: SaidSide, status: str
) -> None:
    assert describe_state(pair_of(serving, follower)) == status


@dataclass(eq=False)
class MovableSide(SaidSide):
    """A side whose machine may be killed, which the side that follows hears of."""

    follower: "MovableSide | None" = None

    async def signal(self, number: signal.Signals, *parts: str) -> None:
        assert (number, parts) == (signal.SIGKILL, ("machine",))
        self.is_up = False
        assert self.follower is not None
        self.follower.said.append("live")

    async def wait_event(self, name: str, within_s: float = 1.0) -> None:
        assert self.said[-1] == name


def test_a_moved_primary_leaves_its_place_to_the_secondary_and_another_one_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    secondary = MovableSide(["ready", "follows"])
    primary = MovableSide(["ready", "protected"], follower=secondary)
    pair = pair_of(primary, secondary)

    async def protect() -> float:
        assert pair.serving is cast(Side, secondary)
        return 0.25

    monkeypatch.setattr(pair, "_protect", protect)
    assert asyncio.run(pair.move_primary()) == 0.25
    assert not primary.is_up
    with pytest.raises(PlatformError, match="is not protected, so no side can take over"):
        asyncio.run(pair.move_primary())


@pytest.mark.parametrize("fault", FaultKind)
def test_no_fault_is_injected_while_a_side_is_only_joining(fault: FaultKind) -> None:
    pair = pair_of(SaidSide(["ready", "alone"]), SaidSide(["ready"]))
    with pytest.raises(PlatformError, match="is not protected"):
        asyncio.run(pair.fail(fault))


@pytest.mark.parametrize("name", ["a/b", "", "..", "-x", "é", "a" * 42, "a b"])
def test_a_name_that_no_file_may_have_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid name of a pair"):
        require_name(name)


def test_a_pair_whose_both_sides_are_gone_is_restarted_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_machine, "KEPT_S", 0.0)
    pair = pair_of(SaidSide(["over"], is_up=False), SaidSide(["over"], is_up=False))
    assert pair.end() == "both machines of the pair one are gone"

    async def boot_again(served: Side, number: int) -> list[Side]:
        assert pair._changing.locked()
        assert describe_state(pair) == "restarting"
        assert (served, number) == (pair.sides[0], 2 * pair.restarts)
        raise PlatformError(f"attempt {pair.restarts}")

    pair.boot_again = boot_again
    assert not pair.end()

    async def keep() -> None:
        pair.agent = Agent()
        async with pair.keep_running():
            while not pair.end():
                await asyncio.sleep(0)

    asyncio.run(keep())
    assert pair.failures == ["attempt 1", "attempt 2", "attempt 3"]
    assert describe_state(pair) == "gone"


@dataclass
class PaperGuest:
    """The agent of a guest whose clock is off by so much."""

    ahead_s: float
    within_s: float = 0.001
    shifted_ns: list[int] = field(default_factory=list)

    async def compare_clock(self) -> dict[str, float]:
        return {"ahead_s": self.ahead_s, "within_s": self.within_s}

    async def ask(self, do: str, by_ns: int) -> None:
        assert do == "shift_clock"
        self.shifted_ns.append(by_ns)


@pytest.mark.parametrize(
    ("ahead_s", "within_s", "shifted_ns", "text"),
    [
        (-0.25, 0.001, [250_000_000], "-0.250 s"),
        (-0.25, 0.2, [], "-0.250 s"),
        (-0.004, 0.001, [], "-0.004 s"),
        (0.3, 0.001, [], "+0.300 s"),
        (-139.0, 0.001, [], "-139.000 s: rates measured in the guest are wrong"),
    ],
)
def test_a_small_lag_of_the_guests_clock_is_corrected_and_a_large_one_reported(
    ahead_s: float, within_s: float, shifted_ns: list[int], text: str
) -> None:
    pair, guest = pair_of(SaidSide(["protected"]), SaidSide(["follows"])), PaperGuest(ahead_s, within_s)
    pair.agent = cast(Agent, guest)
    asyncio.run(pair.read_clock())
    assert guest.shifted_ns == shifted_ns
    asyncio.run(pair.read_clock())
    assert pair.guest_lag_s == pytest.approx(-ahead_s + sum(shifted_ns) / 1e9)
    assert pair.facts["clock"] == {"ahead_s": ahead_s, "within_s": within_s}
    figures: dict[str, Any] = dict.fromkeys(
        ("lag_ms", "log_mbit_per_s", "slowed_pct", "held_ms", "serving", "secondary")
    )
    rows = list_status_rows({**figures, "status": "protected", "failures": [], "clock_ahead_s": pair.clock_ahead_s})
    assert ("guest clock", text) in rows


def test_the_log_of_a_status_is_split_by_what_its_events_are_about() -> None:
    figures: dict[str, Any] = dict.fromkeys(("lag_ms", "slowed_pct", "held_ms", "serving", "secondary"))
    kinds = {"network": 0.5, "disk": 0.0, "clock": 0.0625}
    log = {"log_mbit_per_s": 0.5625, "log_mbit_per_s_by_kind": kinds}
    rows = list_status_rows({**figures, **log, "status": "protected", "failures": []})
    assert ("log", "0.5625 Mbit/s: network 0.5000, clock 0.0625") in rows


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (["ready", "protected", "diverged"], "does not replay its record, so it cannot run a pair: .* other data"),
        (["ready", "protected", "lost", "alone"], "has not shown that it replays its record: .* when the host is idle"),
    ],
)
def test_a_build_is_refused_for_good_only_where_both_sides_differ(
    events: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, secondary = SaidSide(events), SaidSide(["follows"], is_up="diverged" in events)
    pair = pair_of(primary, secondary)
    monkeypatch.setattr(gate, "EXCHANGES", 0)
    monkeypatch.setattr(
        SaidSide, "metrics", {"heard_unix_s": float("inf"), "recorded": 7, "executed": 7}, raising=False
    )
    with pytest.raises(PlatformError, match=expected):
        asyncio.run(gate.pass_gate(pair, "0" * 64))
