"""Is a killed primary always survived? Pairs under two clients on a connection each, their primaries killed at random.

`python -m benches.failovers --trials 200` makes pairs and kills QEMU on the side that serves between half a second and
two seconds after the clients began: one asks for pages, the other writes rows to a SQLite file and counts them. Ten
times for each pair, which is protected anew every time. `--fault cut-channel` does something else to them. What was
found is kept in benches/results/failovers-FAULT.jsonl, and with `--disk 64` apart; a bench that was interrupted goes on
there.
"""

import argparse
import asyncio
import http.client
import io
import json
import random
import socket
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from loadstone.fleet.open import OpenFleet
from loadstone.model.fault import FaultKind
from loadstone.model.machine import PUBLIC
from loadstone.platforms.pair.disk import Disks, Reads
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.registry import read_machine
from loadstone.services import reference
from loadstone.study.kinds.failover.answer import compute_failing_at_most
from loadstone.testbed.context import open_testbed

KEPT = Path(__file__).parent / "results"
PAUSE_S = 0.01
AFTER_S = 1.5
"""How long clients go on after the failover."""
FAULTS = 10
"""Of one machine."""
TABLES = ("CREATE TABLE IF NOT EXISTS rows (number INTEGER)", "CREATE TABLE IF NOT EXISTS counter (count INTEGER)")


@dataclass
class Client:
    """Asks over one connection, again and again; notes when it was answered, and what went wrong."""

    host: str
    port: int
    patience_s: float = 30.0
    answers: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def ask(self) -> None:
        """Until it is told to end, or the connection breaks."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self.patience_s)
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


@dataclass
class Writer(Client):
    """Writes rows over one connection, and counts them in the same transaction; then looks at what is there."""

    lost: int = 0
    repeated: int = 0
    acknowledged: list[int] = field(default_factory=list)

    def ask(self) -> None:
        """Until it is told to end, or the connection breaks."""
        try:
            with (
                socket.create_connection((self.host, self.port), timeout=self.patience_s) as line,
                line.makefile("rwb") as file,
            ):
                for table in TABLES:
                    run(file, table)
                run(file, "DELETE FROM rows")
                run(file, "DELETE FROM counter")
                run(file, "INSERT INTO counter VALUES (0)")
                self._write(file)
                self._compare(file)
        except (OSError, ValueError) as error:
            self.errors.append(repr(error))

    def _write(self, file: io.BufferedRWPair) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            _say(file, {"begin": "write"})
            run(file, "INSERT INTO rows VALUES ($1)", number)
            run(file, "UPDATE counter SET count = count + 1")
            _say(file, "commit")
            self.acknowledged.append(number)
            self.answers.append(time.monotonic())
            time.sleep(PAUSE_S)

    def _compare(self, file: io.BufferedRWPair) -> None:
        rows = [row[0] for row in run(file, "SELECT number FROM rows")]
        ((count,),) = run(file, "SELECT count FROM counter")
        self.lost = len(set(self.acknowledged) - set(rows))
        self.repeated = len(rows) - len(set(rows)) + abs(count - len(rows))


def run(file: io.BufferedRWPair, sql: str, *values: int) -> list[list[Any]]:
    """What the database at the other end says to a statement."""
    return _say(file, {"run": {"sql": sql, "values": values}})


def _say(file: io.BufferedRWPair, word: Any) -> list[list[Any]]:
    file.write(json.dumps(word).encode() + b"\n")
    file.flush()
    said = json.loads(file.readline() or "null")
    if not isinstance(said, dict) or "Ok" not in said:
        raise ValueError(f"the database says {said}")
    rows: list[list[Any]] = said["Ok"]
    return rows


@asynccontextmanager
async def serving(
    folder: Path, fleet: OpenFleet | None = None, **settings: Any
) -> AsyncIterator[tuple[PairMachine, str, int]]:
    """A pair, with further settings of its machine, and with a web service; where that is reached."""
    async with open_testbed(folder, fleet) as base:
        wanted = read_machine({"platform": "pair", "memory": 192, **settings})
        machine = await base.start_machine("one", wanted, (PUBLIC,))
        assert isinstance(machine, PairMachine)
        service = await machine.start("backend", reference.build_backend_command(machine.listen, 1))
        ready = reference.read_ready(service.first_line)
        assert ready.http is not None
        to = await machine.find_endpoint(ready.http.port)
        yield machine, to.host, to.port


@dataclass(frozen=True)
class Trial:
    """What came of one."""

    seed: int
    number: int
    """Among those of one machine."""
    survived: bool
    """Whether both connections went on and were answered, one machine is left, and all writes are there that were
    acknowledged, once."""
    gap_s: float
    """Longest time without an answer after the kill."""
    write_gap_s: float
    """The same of the client that writes."""
    answers: int
    writes: int
    lost: int
    """Writes that were acknowledged and are not there."""
    repeated: int
    """Rows that are there twice, and by how much the counter is beyond the rows."""
    errors: list[str]
    diverged: bool
    live: int
    """Machines that there are afterwards."""
    paused_s: float
    """For how long the machine stood still to be protected anew."""
    protected_after_s: float
    """From the kill."""


async def database_of(machine: PairMachine) -> tuple[str, int]:
    """Starts a database on the machine; where it is reached."""
    await machine.write("database.txt", "The rows are beside this file.\n")
    command = reference.build_plain_command("database", machine.listen, 1, "--file", f"{machine.files}/rows.db")
    ready = reference.read_ready((await machine.start("database", command)).first_line)
    assert ready.http is not None
    return machine.address, ready.http.port


async def chain(
    seed: int, faults: int, folder: Path, fault: FaultKind = FaultKind.KILL_PRIMARY, **settings: Any
) -> list[Trial]:
    """Makes a pair and injects a fault, again and again, each time once it is whole again."""
    chance, trials = random.Random(seed), []
    async with serving(folder, **settings) as (machine, host, port):
        machine.may_be_kept = False  # the bench protects it, and looks how long that takes
        database = await database_of(machine)
        for number in range(1, faults + 1):
            after_s = chance.uniform(0.5, 2.0)
            trials.append(await trial((seed, number), (fault, after_s), machine, (host, port), database))
            if not trials[-1].survived:
                break
    return trials


async def trial(
    at: tuple[int, int],
    planned: tuple[FaultKind, float],
    machine: PairMachine,
    web: tuple[str, int],
    database: tuple[str, int],
) -> Trial:
    """Injects a fault, so many seconds after clients began, and looks at what they see."""
    fault, after_s = planned
    client, writer = Client(*web), Writer(*database)
    asking = [asyncio.create_task(asyncio.to_thread(one.ask)) for one in (client, writer)]
    await asyncio.sleep(after_s)
    killed = time.monotonic()
    await machine.fail(fault)
    await asyncio.sleep(AFTER_S)
    client.end()
    writer.end()
    await asyncio.gather(*asking)
    live = sum(side.pid != 0 for side in machine.sides)
    paused_s = await machine.protect()
    protected_s = time.monotonic() - killed - AFTER_S
    gaps = [one.longest_gap_s(killed) for one in (client, writer)]
    gone_on = all(max(one.answers, default=0.0) > killed + gap for one, gap in zip((client, writer), gaps, strict=True))
    errors = [*client.errors, *writer.errors]
    diverged = any(event["event"] == "diverged" for side in machine.sides for event in side.events)
    survived = gone_on and not errors and not diverged and live == 1 and not (writer.lost or writer.repeated)
    return Trial(
        seed=at[0],
        number=at[1],
        survived=survived,
        gap_s=round(gaps[0], 4),
        write_gap_s=round(gaps[1], 4),
        answers=len(client.answers),
        writes=len(writer.answers),
        lost=writer.lost,
        repeated=writer.repeated,
        errors=errors,
        diverged=diverged,
        live=live,
        paused_s=round(paused_s, 4),
        protected_after_s=round(protected_s, 4),
    )


def main() -> None:
    """Makes the trials that are missing, and prints what all came to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--fault", type=FaultKind, choices=list(FaultKind), default=FaultKind.KILL_PRIMARY)
    parser.add_argument("--disk", type=int, default=0, help="MiB of a disk that the rows are written to")
    parser.add_argument("--disks", choices=list(Disks), default=Disks.REPLICATED, help="one for each side, or shared")
    parser.add_argument("--reads", choices=list(Reads), default=Reads.LOG, help="of a shared disk, to the secondary")
    options = parser.parse_args()
    disk = {"disk": options.disk, "disks": options.disks, "reads": options.reads} if options.disk else {}
    kept = KEPT / "-".join(["failovers", options.fault, *([options.disks, options.reads] if disk else [])])
    kept = kept.with_suffix(".jsonl")
    known = [json.loads(line) for line in kept.read_text().splitlines()] if kept.is_file() else []
    while len(known) < options.trials:
        seed = known[-1]["seed"] + 1 if known else 1
        with tempfile.TemporaryDirectory(prefix="loadstone-failovers-") as folder:
            faults = min(FAULTS, options.trials - len(known))
            made = asyncio.run(chain(seed, faults, Path(folder), options.fault, **disk))
        known += map(asdict, made)
        with kept.open("a") as file:
            file.writelines(json.dumps(asdict(one)) + "\n" for one in made)
        print(f"{len(known)} of {options.trials}: {known[-1]}", flush=True)
    conclude(known)


def conclude(known: list[dict[str, Any]]) -> None:
    """Prints what all trials came to."""
    gaps, writes = ([one[name] for one in known if one["survived"]] for name in ("gap_s", "write_gap_s"))
    print(
        f"{len(gaps)} of {len(known)} survived; "
        f"up to {100 * compute_failing_at_most(len(gaps), len(known)):.1f} % may fail"
    )
    print(f"lost {sum(one['lost'] for one in known)}, repeated {sum(one['repeated'] for one in known)} writes")
    for what, found in (("an answer", gaps), ("a write", writes)):
        print(f"without {what} for {median(found):.3f} s, at most {max(found):.3f} s")
    paused, again = ([one[name] for one in known] for name in ("paused_s", "protected_after_s"))
    print(f"stood still for {median(paused):.2f} s, at most {max(paused):.2f} s; whole again in {median(again):.2f} s")


if __name__ == "__main__":
    main()
