"""Electrical power while a run goes on: by RAPL through powercap, by a command that prints watts, or from a table.

A meter has a scope: the server alone, or the whole system with its storage.
"""

import asyncio
import contextlib
import csv
import io
import json
import shlex
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Protocol

from loadstone.host import launch
from loadstone.host.tasks import end_tasks
from loadstone.model.errors import PlatformError, UsageError
from loadstone.model.files import read_text

POWERCAP = Path("/sys/class/powercap")
POWER_INTERVAL_S = 1.0
"""Time between two samples."""
POWER_TIMEOUT_S = 10.0
"""Longest time a command may take."""


class PowerScope(StrEnum):
    """What a meter measures."""

    SERVER = "server"
    SYSTEM = "system"


class Source(Protocol):
    """Where watts come from."""

    @property
    def about(self) -> str:
        """One line for the disclosure."""

    async def read_watts(self, at_s: float) -> float | None:
        """Power at this moment, `at_s` seconds after the meter was switched on; None where there is none yet.

        Raises PlatformError. Raises PlatformError.
        """


@dataclass
class Rapl:
    """The energy counters of all processor packages: their difference by the time between."""

    root: Path = POWERCAP
    _last: tuple[float, dict[Path, int]] | None = None

    @property
    def about(self) -> str:
        """What it is."""
        return f"RAPL, {len(self._domains())} packages below {self.root}"

    def require(self) -> None:
        """Raises PlatformError where there is nothing to read."""
        if not self._domains():
            raise PlatformError(f"There is no RAPL package below {self.root}. Use another meter: command: or csv:.")

    def _domains(self) -> list[Path]:
        """Packages: zones one level deep, not their parts (docs.kernel.org, powercap); psys would count them twice."""
        zones = [zone for zone in sorted(self.root.glob("*:*")) if zone.name.count(":") == 1]
        return [zone for zone in zones if _text(zone / "name").startswith("package")]

    async def read_watts(self, at_s: float) -> float | None:
        """The mean power since the sample before."""
        self.require()
        now = (at_s, {zone: _number(zone / "energy_uj") for zone in self._domains()})
        before, self._last = self._last, now
        if before is None or at_s <= before[0]:
            return None
        used = sum(self._used(zone, before[1].get(zone, energy), energy) for zone, energy in now[1].items())
        return used / 1e6 / (at_s - before[0])

    def _used(self, zone: Path, before: int, after: int) -> int:
        """Microjoules between two readings of a counter that begins anew at its range."""
        return after - before if after >= before else after - before + _number(zone / "max_energy_range_uj")


@dataclass(frozen=True)
class PowerCommand:
    """A command whose first word on standard output is watts."""

    command: str

    @property
    def about(self) -> str:
        """What it is."""
        return f"command {self.command}"

    async def read_watts(self, at_s: float) -> float | None:
        """Returns the watts that the command prints now."""
        argv = shlex.split(self.command)
        try:
            process = await launch.start(*argv, stdout=asyncio.subprocess.PIPE)
        except OSError as error:
            raise PlatformError(f"The power meter `{self.command}` cannot be started: {error}.") from None
        try:
            # `wait_for` of Python 3.11 loses a cancellation that comes as the command ends: the run would never end.
            async with asyncio.timeout(POWER_TIMEOUT_S):
                out, _ = await process.communicate()
            return float(out.decode().split()[0])
        except (TimeoutError, ValueError, IndexError):
            raise PlatformError(f"The power meter `{self.command}` printed no watts. It must print a number.") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


@dataclass(frozen=True)
class Replay:
    """A table of `seconds,watts`: each value holds until the next."""

    file: Path
    rows: tuple[tuple[float, float], ...]

    @classmethod
    def read(cls, file: Path) -> "Replay":
        """Reads the table; raises UsageError."""
        rows = []
        try:
            for number, row in enumerate(csv.DictReader(io.StringIO(read_text(file), newline="")), start=2):
                try:
                    rows.append((float(row["seconds"]), float(row["watts"])))
                except (KeyError, TypeError, ValueError):
                    raise UsageError(f"{file}:{number}: needs the columns seconds,watts with numbers.") from None
        except csv.Error as error:
            raise UsageError(f"{file} cannot be read: {error}.") from None
        if not rows:
            raise UsageError(f"{file} contains no sample. Add rows of seconds,watts.")
        return cls(file, tuple(sorted(rows)))

    @property
    def about(self) -> str:
        """What it is."""
        return f"replay of {self.file.name}"

    async def read_watts(self, at_s: float) -> float | None:
        """The last value whose time has come."""
        return next((watts for second, watts in reversed(self.rows) if second <= at_s), None)


def read_source(text: str) -> tuple[PowerScope, Source]:
    """Reads `server=rapl`, `server=rapl:FOLDER`, `system=csv:FILE`, `system=command:WORDS`.

    Raises UsageError, and PlatformError where there are no energy counters.
    """
    scope, _, meter = text.partition("=")
    kind, _, rest = meter.partition(":")
    wrong = f"`{text}` is not a valid meter. Use server= or system= with rapl, rapl:FOLDER, csv:FILE or command:WORDS."
    if scope not in set(PowerScope):
        raise UsageError(wrong)
    match kind:
        case "rapl":
            rapl = Rapl(Path(rest)) if rest else Rapl()
            rapl.require()
            return PowerScope(scope), rapl
        case "csv" if rest:
            return PowerScope(scope), Replay.read(Path(rest))
        case "command" if rest:
            return PowerScope(scope), PowerCommand(rest)
    raise UsageError(wrong)


@dataclass
class PowerMeter:
    """Samples a source from when it is switched on until it is switched off."""

    scope: PowerScope
    source: Source
    file: IO[str]
    """Where samples are kept, one JSON document a line."""
    samples: list[tuple[float, float]] = field(default_factory=list)
    """Wall-clock seconds and watts."""
    trouble: str = ""

    async def run(self) -> None:
        """Samples until it is cancelled; a source that fails is noted and not asked again."""
        started = time.monotonic()
        turn = 0
        while True:
            try:
                watts = await self.source.read_watts(time.monotonic() - started)
            except PlatformError as error:
                self.trouble = str(error)
                return
            if watts is not None:
                self.samples.append((time.time(), watts))
                self.file.write(json.dumps({"unix_s": self.samples[-1][0], "watts": watts}) + "\n")
            turn += 1
            await asyncio.sleep(max(0.0, started + turn * POWER_INTERVAL_S - time.monotonic()))

    def compute_mean(self, window: tuple[float, float]) -> tuple[float | None, int]:
        """Mean watts over a window of the wall clock, and of how many samples."""
        inside = [watts for at_s, watts in self.samples if window[0] <= at_s <= window[1]]
        return (sum(inside) / len(inside) if inside else None), len(inside)


@contextlib.asynccontextmanager
async def run_meters(meters: Sequence[PowerMeter]) -> AsyncIterator[None]:
    """All meters at work; off when the block ends."""
    tasks = [asyncio.create_task(meter.run()) for meter in meters]
    try:
        yield
    finally:
        await end_tasks(tasks)


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _number(file: Path) -> int:
    try:
        return int(file.read_text())
    except (OSError, ValueError) as error:
        remedy = "Run as root, or use another meter."
        raise PlatformError(f"The energy counter {file} cannot be read: {error}. {remedy}") from None
