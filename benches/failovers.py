"""Is a killed primary always survived? Pairs under a client on one connection, their primaries killed at random.

`python -m benches.failovers --trials 200` makes a pair for each trial, kills QEMU on the side that records between
half a second and two and a half after the client began, and notes the longest time without an answer. What was found is
kept line by line in benches/results/failovers.jsonl; a bench that was interrupted goes on there.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median

from loadstone.model.machine import PUBLIC
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.registry import read_machine
from loadstone.services import reference
from loadstone.testbed.context import open_testbed

KEPT = Path(__file__).parent / "results" / "failovers.jsonl"
PAUSE_S = 0.01
AFTER_S = 1.5
"""How long the client goes on after the failover."""


@dataclass
class Client:
    """Asks over one connection, again and again; notes when it was answered, and what went wrong."""

    host: str
    port: int
    answers: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def ask(self) -> None:
        """Until it is told to end, or the connection breaks."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.connect()
            while not self._over.is_set():
                connection.request("GET", "/")
                connection.getresponse().read()
                self.answers.append(time.monotonic())
                time.sleep(PAUSE_S)
        except (OSError, http.client.HTTPException) as error:
            self.errors.append(repr(error))
        finally:
            connection.close()

    def end(self) -> None:
        """Asks no more."""
        self._over.set()

    def longest_gap_s(self, since: float) -> float:
        """Between two answers, from the last one before an instant on; infinite where none came after it."""
        before = max((at for at in self.answers if at <= since), default=since)
        after = [before, *(at for at in self.answers if at > before)]
        return max((late - early for early, late in pairwise(after)), default=float("inf"))


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[PairMachine, str, int]]:
    """A pair with a web service; where that is reached."""
    async with open_testbed(folder) as base:
        machine = await base.machine("one", read_machine({"platform": "pair", "memory": 192}), (PUBLIC,))
        assert isinstance(machine, PairMachine)
        service = await machine.start("backend", reference.backend_command(machine.listen, 1))
        ready = reference.read_ready(service.first_line)
        assert ready.http is not None
        to = await machine.reach(ready.http.port)
        yield machine, to.host, to.port


@dataclass(frozen=True)
class Trial:
    """What came of one."""

    seed: int
    survived: bool
    """Whether the connection went on and was answered."""
    gap_s: float | None
    """Longest time without an answer after the kill."""
    answers: int
    errors: list[str]
    diverged: bool


async def trial(seed: int, folder: Path) -> Trial:
    """Makes a pair, kills its primary, looks at what its client sees."""
    chance = random.Random(seed)
    async with serving(folder) as (machine, host, port):
        client = Client(host, port)
        asking = asyncio.create_task(asyncio.to_thread(client.ask))
        await asyncio.sleep(chance.uniform(0.5, 2.5))
        killed = time.monotonic()
        os.kill(machine.sides[0].pid, signal.SIGKILL)
        await asyncio.sleep(AFTER_S)
        client.end()
        await asking
        gap_s = client.longest_gap_s(killed)
        has_gone_on = max(client.answers, default=0.0) > killed + gap_s
        diverged = any(event["event"] == "diverged" for side in machine.sides for event in side.events)
        survived = has_gone_on and not client.errors
        return Trial(seed, survived, round(gap_s, 4), len(client.answers), client.errors, diverged)


def main() -> None:
    """Makes the trials that are missing, and prints what all came to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    options = parser.parse_args()
    known = [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.is_file() else []
    for seed in range(len(known), options.trials):
        with tempfile.TemporaryDirectory(prefix="loadstone-failovers-") as folder:
            known.append(asdict(asyncio.run(trial(seed, Path(folder)))))
        with KEPT.open("a") as file:
            file.write(json.dumps(known[-1]) + "\n")
        print(f"{seed + 1} of {options.trials}: {known[-1]}", flush=True)
    gaps = [one["gap_s"] for one in known if one["survived"]]
    print(
        f"{len(gaps)} of {len(known)} survived; without an answer for {median(gaps):.3f} s, at most {max(gaps):.3f} s"
    )


if __name__ == "__main__":
    main()
