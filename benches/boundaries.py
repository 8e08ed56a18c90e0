"""Does a survivor go on from every place of the log? One is left at an event, its primary killed, and it has to live.

`python -m benches.boundaries --cuts 200` has secondaries take no more log from a place on that is drawn among the next
20,000 bytes, up to the end of the event there, kills the primary as soon as they have received that, and asks the
machine for a page afterwards; then it is protected anew, and so on. What was found is kept in
benches/results/boundaries.jsonl; a bench that was interrupted goes on there.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import signal
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benches.failovers import FAULTS, KEPT, Client, serving
from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.machine import PairMachine
from loadstone.study.kinds.failover.answer import compute_failing_at_most

FARTHEST = 20_000
"""Bytes of log from which on places are drawn; a page takes about a thousand."""
ANSWER_S = 10.0


@dataclass(frozen=True)
class Cut:
    """One place, and what came of it."""

    seed: int
    number: int
    position: int
    """Length of the log that the survivor went on from."""
    went_on: bool
    """Whether it went live there and answered afterwards."""
    live_ms: float
    """From being told to go live to being live."""


async def cut_often(seed: int, count: int, folder: Path) -> list[Cut]:
    """Makes a pair and leaves one side after the other at a place of its own."""
    chance, cuts = random.Random(seed), []
    async with serving(folder) as (machine, host, port):
        machine.may_be_kept = False
        for number in range(1, count + 1):
            cuts.append(await _cut((seed, number), chance.randrange(FARTHEST), machine, (host, port)))
            if not cuts[-1].went_on:
                break
            await machine.protect()
    return cuts


async def _cut(at: tuple[int, int], after: int, machine: PairMachine, web: tuple[str, int]) -> Cut:
    primary, secondary = machine.serving, machine.follower
    assert secondary is not None
    client, seen = Client(*web), len(secondary.events)
    asking = asyncio.create_task(asyncio.to_thread(client.ask))
    await secondary.order("stall", after=after)
    position = (await secondary.wait_event("stalled", after=seen))["position"]
    os.kill(primary.processes["machine"], signal.SIGKILL)
    try:
        live_ms = (await secondary.wait_event("live", after=seen))["after_ms"]
    except PlatformError:
        live_ms = float("inf")
    client.end()
    await asking
    answered = await asyncio.to_thread(_answers, *web)
    return Cut(*at, position=position, went_on=answered and not client.errors, live_ms=round(live_ms, 2))


def _answers(host: str, port: int) -> bool:
    """Whether the machine gives a page within a while."""
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_S)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def main() -> None:
    """Makes the cuts that are missing, and prints what all came to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuts", type=int, default=20)
    options = parser.parse_args()
    kept, began = KEPT / "boundaries.jsonl", time.monotonic()
    known = [json.loads(line) for line in kept.read_text().splitlines()] if kept.is_file() else []
    while len(known) < options.cuts:
        seed = known[-1]["seed"] + 1 if known else 1
        with tempfile.TemporaryDirectory(prefix="loadstone-boundaries-") as folder:
            made = asyncio.run(cut_often(seed, min(2 * FAULTS, options.cuts - len(known)), Path(folder)))
        known += map(asdict, made)
        with kept.open("a") as file:
            file.writelines(json.dumps(asdict(one)) + "\n" for one in made)
        print(f"{len(known)} of {options.cuts}, {time.monotonic() - began:.0f} s: {known[-1]}", flush=True)
    went_on = sum(one["went_on"] for one in known)
    print(
        f"{went_on} of {len(known)} went on; up to {100 * compute_failing_at_most(went_on, len(known)):.1f} % may not"
    )


if __name__ == "__main__":
    main()
