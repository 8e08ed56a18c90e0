"""For how long do clients wait while a machine is protected anew, in the midst of their requests?

A pair is unprotected and protected again and again, under a client that asks over one connection. What counts is the
client's longest wait from then on: the machine stands still to be saved, its log begins, and it shares the host with a
side that loads its state.
"""

import asyncio
import random
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benches.failovers import Client, serving

BEFORE_S, AFTER_S = 1.0, 0.5
"""How long the client asks before the machine is protected, at most, and afterwards."""


@dataclass(frozen=True)
class Protection:
    """How a machine was protected once."""

    silence_s: float
    """Longest time between two answers to the client, from the order on."""
    usual_s: float
    """The same before the order."""
    paused_s: float
    """For how long the machine stood still, as the pair reports it."""
    answers_while_written: int
    """Answers to the client from the instant that was saved until its state was in its file: the machine runs on."""
    errors: list[str]


async def protect_often(seed: int, count: int, folder: Path, **settings: Any) -> list[Protection]:
    """Makes a pair, with further settings of its machine, and protects it anew so many times."""
    chance = random.Random(seed)
    async with serving(folder, **settings) as (machine, host, port):
        machine.may_be_kept = False  # the bench protects it
        return [await protect_once(machine, Client(host, port), chance.uniform(0.5, BEFORE_S)) for _ in range(count)]


async def protect_once(machine: Any, client: Client, after_s: float) -> Protection:
    """Unprotects a machine, and protects it under a client that began so many seconds before."""
    await machine.unprotect()
    asking = asyncio.create_task(asyncio.to_thread(client.ask))
    await asyncio.sleep(after_s)
    began, seen = time.monotonic(), len(machine.serving.events)
    usual = [late - early for early, late in pairwise(client.answers)]
    paused_s = await machine.protect()
    await asyncio.sleep(AFTER_S)
    client.end()
    await asking
    at_unix_s = {event["event"]: event["heard_unix_s"] for event in machine.serving.events[seen:]}
    ahead_s = time.time() - time.monotonic()
    meanwhile = [at for at in client.answers if at_unix_s["saved"] < at + ahead_s < at_unix_s["written"]]
    return Protection(
        silence_s=client.longest_gap_s(began),
        usual_s=max(usual, default=float("inf")),
        paused_s=paused_s,
        answers_while_written=len(meanwhile),
        errors=client.errors,
    )
