"""An unknown build of QEMU shows that it replays what it records before a pair of it serves: on its first pair here."""

import asyncio
import time

from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultKind
from loadstone.platforms.pair.build import QEMU_VERSION
from loadstone.platforms.pair.machine import PairMachine

EXCHANGES = 50
REPLAYED_S = 20.0
LIVE_S = 10.0
GATE_POLL_INTERVAL_S = 0.1


async def pass_gate(machine: PairMachine, build: str) -> None:
    """Has the machine talk, compares both sides, makes a new side of it while it runs, kills the one that serves, and
    has it talk again. Raises PlatformError: a side that sent other data shows that the build does not replay; one that
    was lost or late may also show that the host was busy.
    """
    try:
        await _both_do_the_same(machine)
        await machine.unprotect()
        await machine.protect()
        await _both_do_the_same(machine)
        follower = machine.follower
        assert follower is not None
        await machine.fail(FaultKind.KILL_PRIMARY)
        await follower.wait_event("live", within_s=LIVE_S)
        await machine.protect()
        await _both_do_the_same(machine)
    except PlatformError as error:
        raise PlatformError(_explain(error, build, has_diverged=_has_diverged(machine))) from None


def _explain(error: PlatformError, build: str, *, has_diverged: bool) -> str:
    subject = f"This build of QEMU {QEMU_VERSION} ({build[:12]})"
    remedy = "Debian 12's package qemu-system-x86 works."
    if has_diverged:
        return f"{subject} does not replay its record, so it cannot run a pair: {error} {remedy}"
    return (
        f"{subject} has not shown that it replays its record: {error} A busy host delays a replay too: "
        f"try again when the host is idle. {remedy}"
    )


async def _both_do_the_same(machine: PairMachine) -> None:
    primary, secondary = machine.serving, machine.follower
    for _ in range(EXCHANGES):
        await machine.agent.ask("clock")
    talked_unix_s = time.time()
    until, recorded = time.monotonic() + REPLAYED_S, None
    while time.monotonic() < until:
        metrics = primary.metrics
        if recorded is None and metrics.get("heard_unix_s", 0.0) > talked_unix_s:
            recorded = metrics["recorded"]
        if recorded is not None and metrics["executed"] >= recorded:
            break
        await asyncio.sleep(GATE_POLL_INTERVAL_S)
    else:
        raise PlatformError(f"the log was not replayed within {REPLAYED_S:g} s.")
    if _has_diverged(machine):
        raise PlatformError("the second machine sent other data than the first.")
    if secondary is None or not secondary.is_up:
        raise PlatformError("the second machine was lost.")


def _has_diverged(machine: PairMachine) -> bool:
    return any(event["event"] == "diverged" for side in machine.sides for event in side.events)
