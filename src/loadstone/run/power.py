"""Power of a run: meters that sample while rounds are played, and their means over the measured windows."""

import contextlib
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadstone.measure.power import PowerMeter, PowerScope, Source, read_source, run_meters
from loadstone.model.profile import Phases
from loadstone.model.records.manifest import PowerRecord
from loadstone.run.executor import Executor
from loadstone.store.folder import RunFolder

Window = tuple[float, float] | None
"""Begin and end of a steady state, in seconds since 1970; None where it never began."""


@dataclass(frozen=True)
class Powered:
    """Meters at work."""

    meters: tuple[PowerMeter, ...]

    def summarize(self, windows: Sequence[Window]) -> tuple[PowerRecord, ...]:
        """Mean watts of each meter over the loaded window and over active idle; None where a phase was not reached."""
        return tuple(_record(meter, [*windows, None, None]) for meter in self.meters)


def make_meters(texts: Iterable[str]) -> list[tuple[PowerScope, Source]]:
    """The power meters that a run asks for; raises UsageError, and PlatformError for one that is not here."""
    return [read_source(text) for text in texts]


@contextlib.asynccontextmanager
async def run_meters_of(texts: Iterable[str], logs: Path) -> AsyncIterator[Powered]:
    """The run's meters, sampling into the logs while the block lasts."""
    with contextlib.ExitStack() as files:
        meters = []
        for number, (scope, source) in enumerate(make_meters(texts), start=1):
            file = files.enter_context(RunFolder(logs).open_lines(f"power-{number}-{scope}.jsonl"))
            meters.append(PowerMeter(scope, source, file))
        async with run_meters(meters):
            yield Powered(tuple(meters))


def compute_window(executor: Executor, phases: Phases) -> Window:
    """The measured window of the round that was played last."""
    if executor.origin_unix_s is None:
        return None
    begin_s = executor.origin_unix_s + phases.lead_s
    return begin_s, begin_s + phases.steady_s


def _record(meter: PowerMeter, windows: Sequence[Window]) -> PowerRecord:
    (loaded_w, loaded), (idle_w, idle) = (meter.compute_mean(window) if window else (None, 0) for window in windows[:2])
    return PowerRecord(meter.scope, meter.source.about, meter.trouble, loaded_w, loaded, idle_w, idle)
