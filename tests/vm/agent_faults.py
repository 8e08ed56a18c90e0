"""Faults of a pair of real agents, one or two at a time, and what must hold after them: at most one side sends, nothing
that was sent is lost, and one machine runs on.
"""

import asyncio
import contextlib
import random
import signal
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tests.vm.agents import Half, Network, NotJoinedError, Pair, whole_pair

PAIRS_AT_ONCE = 8
"""Pairs that are tried at once: they wait more than they compute."""
MOST_JOINS = 5
"""Attempts to make a pair on a busy host."""
BEYOND_PATIENCE = ("stop primary's agent for 1.5 s", "stop primary's machine and agent for 1.5 s")
"""Faults after which a primary asks the store before it releases anything."""
MOST_REASONS = 5
"""Of one trial."""
T = TypeVar("T")
Faults = list[tuple[str, float]]
"""Names of faults, each with its time in seconds."""

Fault = Callable[[Pair], Awaitable[None]]


def kill(role: str, *parts: str) -> Fault:
    """Kills parts of the primary or of the secondary."""

    async def fault(pair: Pair) -> None:
        getattr(pair, role).signal(signal.SIGKILL, *parts)

    return fault


def stop(role: str, seconds: float, *parts: str) -> Fault:
    """Stops parts for some time."""

    async def fault(pair: Pair) -> None:
        half: Half = getattr(pair, role)
        half.signal(signal.SIGSTOP, *parts)
        await asyncio.sleep(seconds)
        half.signal(signal.SIGCONT, *parts)

    return fault


def hold_up(seconds: float, *gates: tuple[str, str]) -> Fault:
    """Carries nothing over some connections in some directions for some time."""

    async def fault(pair: Pair) -> None:
        for gate in gates:
            pair.relay.open[gate].clear()
        await asyncio.sleep(seconds)
        for gate in gates:
            pair.relay.open[gate].set()

    return fault


def cut(*roles: str) -> Fault:
    """Breaks the channel."""

    async def fault(pair: Pair) -> None:
        await asyncio.gather(*(getattr(pair, role).order("cut") for role in roles))

    return fault


def together(*faults: Fault) -> Fault:
    """Several at once."""

    async def fault(pair: Pair) -> None:
        await asyncio.gather(*(each(pair) for each in faults))

    return fault


def without_store(seconds: float, then: Fault) -> Fault:
    """Takes the store away for some time, within which something else happens."""

    async def fault(pair: Pair) -> None:
        store = pair.folder / "store"
        away = store.with_suffix(".away")
        if pair.stores_away == 0:
            store.rename(away)
        pair.stores_away += 1
        try:
            await then(pair)
            await asyncio.sleep(seconds)
        finally:
            pair.stores_away -= 1
            if pair.stores_away == 0:
                away.rename(store)

    return fault


ALL_GATES = [(line, way) for line in ("control", "log") for way in ("to a", "to b")]


def single_faults() -> dict[str, Fault]:
    """Every fault by its name."""
    faults: dict[str, Fault] = {}
    for role in ("primary", "secondary"):
        for parts in (("machine",), ("agent",), ("machine", "agent")):
            name = " and ".join(parts)
            faults[f"kill {role}'s {name}"] = kill(role, *parts)
            for seconds in (0.3, 0.7, 1.5):
                faults[f"stop {role}'s {name} for {seconds} s"] = stop(role, seconds, *parts)
        faults[f"cut by {role}"] = cut(role)
        faults[f"no store and kill {role}'s machine"] = without_store(1.0, kill(role, "machine"))
    faults["cut by both"] = cut("primary", "secondary")
    for role in ("primary", "secondary"):
        faults[f"no store and cut by {role}"] = without_store(1.0, cut(role))
    faults["stop both agents for 0.7 s"] = together(stop("primary", 0.7, "agent"), stop("secondary", 0.7, "agent"))
    for line in ("control", "log"):
        for ways in (("to a",), ("to b",), ("to a", "to b")):
            faults[f"hold up {line} {' and '.join(ways)}"] = hold_up(1.2, *((line, way) for way in ways))
    for ways in (("to a",), ("to b",), ("to a", "to b")):
        faults[f"hold up all {' and '.join(ways)}"] = hold_up(1.2, *(gate for gate in ALL_GATES if gate[1] in ways))
    return faults


async def befall(pair: Pair, faults: list[tuple[float, Fault]]) -> None:
    """Makes faults, each some seconds after now."""

    async def later(after_s: float, fault: Fault) -> None:
        await asyncio.sleep(after_s)
        await fault(pair)

    await asyncio.gather(*(later(after_s, fault) for after_s, fault in faults))


def sample_faults(count: int, at_once: int, seed: int) -> list[Faults]:
    """So many trials of so many faults each, at times within a second: the same for the same seed. Faults come in a
    random order, each as often as any other.
    """
    draw, names = random.Random(seed), sorted(single_faults())
    rounds = -(-count * at_once // len(names))
    drawn = iter([name for _ in range(rounds) for name in draw.sample(names, len(names))])
    return [[(next(drawn), draw.uniform(0.0, 1.0)) for _ in range(at_once)] for _ in range(count)]


def play_trials(network: Network, folder: Path, trials: list[Faults]) -> list[str]:
    """Plays trials, several at a time; what was wrong in any of them."""

    async def play() -> list[str]:
        places = asyncio.Semaphore(PAIRS_AT_ONCE)

        async def play_next(faults: Faults) -> list[str]:
            async with places:
                try:
                    return await joined(partial(trial, network, folder, faults))
                except NotJoinedError as error:
                    return [f"{faults}: {error}, in {MOST_JOINS} attempts"]

        with network.watched():
            wrong = await asyncio.gather(*map(play_next, trials))
        return [reason for reasons in wrong for reason in reasons]

    return asyncio.run(play())


async def joined(play: Callable[[], Awaitable[T]]) -> T:
    """Plays something with a whole pair, and again where a busy host let the pair part by itself. Raises NotJoinedError
    where it did so in `MOST_JOINS` attempts.
    """
    for _ in range(MOST_JOINS - 1):
        with contextlib.suppress(NotJoinedError):
            return await play()
    return await play()


async def trial(network: Network, folder: Path, names: Faults) -> list[str]:
    """Lets faults befall a whole pair; what is wrong with what came of that."""
    faults = single_faults()
    began = time.monotonic()
    async with whole_pair(network, folder) as pair:
        await befall(pair, [(after_s, faults[name]) for name, after_s in names])
        wrong = []
        try:
            await pair.settled()
        except TimeoutError:
            wrong.append("did not settle")
        if len(names) == 1 and any(half.is_killed and half.has_parted for half in pair.halves):
            raise NotJoinedError("the host stood still, and the sides had parted before the fault")
        # Of two faults the second may kill the only machine that the first has left.
        must_survive = len(names) == 1 or not any("kill" in name for name, _ in names)
        survives = any(half.serves and not half.is_killed for half in pair.halves)
        if (must_survive or survives) and not await pair.runs_on():
            wrong.append("no machine runs on")
        is_strict = len(names) == 1 and names[0][0] in BEYOND_PATIENCE
        if is_strict and pair.segments not in ("a", "ab"):
            wrong.append(f"both sides sent: {pair.segments}")
        wrong += (await pair.list_violations())[:MOST_REASONS]
        events: dict[str, Any] = {half.name: half.events for half in pair.halves}
        events["frames"] = pair.summary
        errors = "; ".join(f"{half.name}: {half.errors.strip()}" for half in pair.halves if half.errors.strip())
        return [f"{names} after {time.monotonic() - began:.1f} s: {reason}: {events} {errors}" for reason in wrong]
