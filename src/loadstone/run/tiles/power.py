"""Power of a run of tiles: meters at work from the first start on, and what they say of the two phases."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from loadstone.measure.power import PowerMeter, PowerScope, Source, source_of, switched_on
from loadstone.model.profile import Phases
from loadstone.model.records.manifest import PowerRecord
from loadstone.run.executor import Executor
from loadstone.run.tiles.spec import TilesSpec
from loadstone.store.folder import LOGS, ResultFolder, RunFolder


@dataclass(frozen=True)
class Powered:
    """Meters at work."""

    meters: tuple[PowerMeter, ...]

    def summary(self, spec: TilesSpec, executors: Sequence[Executor]) -> tuple[PowerRecord, ...]:
        """Mean watts of each meter over the loaded window and over active idle; None where a phase was not reached."""
        phases = (spec.phases_of(1), spec.idle_phases)
        windows = [_window(executor, tile_phases) for executor, tile_phases in zip(executors, phases, strict=False)]
        return tuple(_record(meter, [*windows, None, None]) for meter in self.meters)


def make_meters(spec: TilesSpec) -> list[tuple[PowerScope, Source]]:
    """The power meters that a run asks for; raises UsageError, and PlatformError for one that is not here."""
    return [source_of(text) for text in spec.power]


@contextlib.asynccontextmanager
async def powered(spec: TilesSpec, folder: ResultFolder) -> AsyncIterator[Powered]:
    """The run's meters, sampling into the folder's logs while the block lasts."""
    with contextlib.ExitStack() as files:
        meters = []
        for number, (scope, source) in enumerate(make_meters(spec), start=1):
            file = files.enter_context(RunFolder(folder.path / LOGS).lines(f"power-{number}-{scope}.jsonl"))
            meters.append(PowerMeter(scope, source, file))
        async with switched_on(meters):
            yield Powered(tuple(meters))


def _window(executor: Executor, phases: Phases) -> tuple[float, float] | None:
    """The measured window on the wall clock."""
    if executor.origin_unix_s is None:
        return None
    begin_s = executor.origin_unix_s + phases.ramp_up_s + phases.warm_up_s
    return begin_s, begin_s + phases.steady_s


def _record(meter: PowerMeter, windows: Sequence[tuple[float, float] | None]) -> PowerRecord:
    (loaded_w, loaded), (idle_w, idle) = (meter.mean(window) if window else (None, 0) for window in windows[:2])
    return PowerRecord(meter.scope, meter.source.about, meter.trouble, loaded_w, loaded, idle_w, idle)
