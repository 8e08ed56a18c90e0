"""Does a pair stay one? A machine with a disk under a web client and a client that writes rows, for an hour.

`python -m benches.pair_soak --minutes 60` looks every minute at both sides: do they still do the same, is the secondary
near, how much memory do the agents take. The rows are counted at the end. What was found is kept in
benches/results/pair-soak.jsonl, a line a minute.
"""

import argparse
import asyncio
import json
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benches.failovers import KEPT, Client, Writer, database_of, serving
from loadstone.platforms.pair.machine import PairMachine

KEPT_AS = KEPT / "pair-soak.jsonl"
DISK_MIB = 256
FLAT_MIB = 1.0
"""By how much an agent may grow between the first look and the last."""


@dataclass(frozen=True)
class Look:
    """One minute."""

    minute: int
    pages: int
    rows: int
    agents_mib: tuple[float, float]
    lag_ms: float
    log_bytes: int
    is_protected: bool
    diverged: bool


def look(minute: int, machine: PairMachine, client: Client, writer: Writer) -> Look:
    """How it is now."""
    agents = [memory_mib(side.processes["agent"]) for side in machine.sides]
    metrics = machine.serving.metrics
    return Look(
        minute,
        len(client.answers),
        len(writer.answers),
        (round(agents[0], 2), round(agents[1], 2)),
        round(metrics["lag_ms"], 1),
        metrics["log_bytes"],
        machine.is_protected,
        any(event["event"] == "diverged" for side in machine.sides for event in side.events),
    )


def memory_mib(pid: int) -> float:
    """What a process takes for itself, without what it shares with QEMU; nothing where it is gone."""
    if not pid:
        return 0.0
    memory = psutil.Process(pid).memory_info()
    return float(memory.rss - memory.shared) / (1 << 20)


async def soak(minutes: int, folder: Path) -> tuple[list[Look], list[str]]:
    """Looks every minute; what went wrong, as clients saw it."""
    looks = []
    async with serving(folder, disk=DISK_MIB) as (machine, host, port):
        machine.may_be_kept = False
        client, writer = Client(host, port), Writer(*await database_of(machine))
        asking = [asyncio.create_task(asyncio.to_thread(one.ask)) for one in (client, writer)]
        began = time.monotonic()
        for minute in range(1, minutes + 1):
            await asyncio.sleep(max(0.0, began + 60 * minute - time.monotonic()))
            looks.append(look(minute, machine, client, writer))
            print(looks[-1], flush=True)
            with KEPT_AS.open("a") as file:
                file.write(json.dumps(asdict(looks[-1])) + "\n")
            if not looks[-1].is_protected:
                break
        client.end()
        writer.end()
        await asyncio.gather(*asking)
    wrong = [*client.errors, *writer.errors]
    return looks, [
        *wrong,
        f"{writer.lost} rows lost, {writer.repeated} twice",
    ] if writer.lost + writer.repeated else wrong


def main() -> None:
    """Runs it, and says what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=int, default=60)
    options = parser.parse_args()
    KEPT_AS.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="loadstone-soak-") as folder:
        looks, wrong = asyncio.run(soak(options.minutes, Path(folder)))
    grown = [last - first for first, last in zip(looks[0].agents_mib, looks[-1].agents_mib, strict=True)]
    ended = "; ".join(wrong) or "nothing went wrong for clients"
    kept = all(one.is_protected and not one.diverged for one in looks)
    print(f"{len(looks)} minutes, {'protected throughout' if kept else 'NOT protected throughout'}; {ended}")
    print(f"{looks[-1].pages} pages, {looks[-1].rows} rows; lag at most {max(one.lag_ms for one in looks):.0f} ms")
    print(f"agents grew by {grown[0]:.2f} and {grown[1]:.2f} MiB; flat is at most {FLAT_MIB:g}")


if __name__ == "__main__":
    main()
