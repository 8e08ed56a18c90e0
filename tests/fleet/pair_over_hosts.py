"""A pair over the hosts of a fleet whose primary is killed, and then the host of the next cut off, while a client
asks over one connection and another counts what it writes. Runs where commands are given; what came of it is printed.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from benches.failovers import Client, Writer, database_of, serving

from loadstone.fleet.engines import create_engine
from loadstone.fleet.inventory import read_fleet
from loadstone.fleet.open import open_fleet
from loadstone.model.fault import FaultKind
from loadstone.platforms.pair.machine import PairMachine
from tests.waiting import PATIENT_MS, WAIT_S, until

KILLS = 1
ANSWERS = 20
PROTECTED_S = 4 * WAIT_S
"""Longest time until a pair is protected again: its keeper may give each of some attempts a minute."""
SILENT_S = 4.0
"""For so long a client waits for a pair that must not answer."""


async def more_answers(client: Client) -> None:
    """Until it has been answered some more."""
    wanted = len(client.answers) + ANSWERS
    await until(lambda: len(client.answers) >= wanted or client.errors)


async def killed_in_turn(machine: PairMachine, client: Client) -> list[float]:
    """Kills the primary again and again; for how long its client had no answer each time."""
    gaps = []
    for _ in range(KILLS):
        await until(lambda: machine.is_protected, within_s=PROTECTED_S)
        await more_answers(client)
        follower, at = machine.follower, time.monotonic()
        assert follower is not None
        await machine.fail(FaultKind.KILL_PRIMARY)
        await follower.wait_event("live")
        await more_answers(client)
        gaps.append(round(client.longest_gap_s(at), 2))
    await until(lambda: machine.is_protected, within_s=PROTECTED_S)
    return gaps


async def cut_off(machine: PairMachine, client: Client, sign: Path) -> float:
    """Has the host of the primary cut off by whoever reads the sign; for how long its client had no answer."""
    follower = machine.follower
    assert follower is not None
    await more_answers(client)
    sign.write_text(machine.serving.place)
    at = time.monotonic()
    await follower.wait_event("live", within_s=WAIT_S)
    await more_answers(client)
    return round(client.longest_gap_s(at), 2)


async def play(file: Path, sign: Path) -> dict[str, Any]:
    """All of it."""
    spec, logs = read_fleet(file), sign.parent / "pair-logs"
    logs.mkdir()
    async with (
        open_fleet(spec, create_engine(spec), logs) as fleet,
        serving(logs, fleet, disk=64, silence_ms=PATIENT_MS) as (machine, host, port),
    ):
        client, writer = Client(host, port), Writer(*await database_of(machine))
        asking = [asyncio.create_task(asyncio.to_thread(one.ask)) for one in (client, writer)]
        gaps = await killed_in_turn(machine, client)
        await more_answers(writer)
        writer.end()
        await asking[1]
        cut = await cut_off(machine, client, sign)
        client.end()
        await asking[0]
        await until(fleet.describe_dead)
        return {
            "host": machine.facts["host"],
            "witness": machine.facts["witness"],
            "places": [side.place for side in machine.sides[: KILLS + 2]],
            "serving": machine.serving.place,
            "gaps_s": gaps,
            "cut_gap_s": cut,
            "errors": [*client.errors, *writer.errors],
            "answers": len(client.answers),
            "written": len(writer.answers),
            "lost": writer.lost,
            "repeated": writer.repeated,
            "dead": fleet.describe_dead(),
        }


async def without_a_witness(file: Path, logs: Path) -> dict[str, Any]:
    """Takes a pair's witness and its primary away: what its other side says, and whether anybody is answered."""
    spec = read_fleet(file)
    logs.mkdir()
    async with (
        open_fleet(spec, create_engine(spec), logs) as fleet,
        serving(logs, fleet, silence_ms=PATIENT_MS) as (machine, host, port),
    ):
        machine.may_be_kept = False
        client, follower = Client(host, port, patience_s=SILENT_S), machine.follower
        asking = asyncio.create_task(asyncio.to_thread(client.ask))
        await more_answers(client)
        await machine.fail(FaultKind.LOSE_STORE)
        assert follower is not None
        await follower.wait_event("claim")
        answered = len(client.answers)
        await asking
        return {
            "claims": [event["came"] for event in follower.events if event["event"] == "claim"],
            "went_on": [event for event in follower.events if event["event"] == "live"],
            "answers_without": len(client.answers) - answered,
        }


if __name__ == "__main__":
    file, *signs = map(Path, sys.argv[1:])
    asked = play(file, *signs) if signs else without_a_witness(file, Path("/tmp/without-logs"))
    print(json.dumps(asyncio.run(asked)))
