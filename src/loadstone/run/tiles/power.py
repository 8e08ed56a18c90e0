"""Power of a run of tiles: meters at work from the first start on, and what they say of the two phases."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.measure.power import PowerMeter, switched_on
from loadstone.model.profile import Phases
from loadstone.run.tiles.ensemble import Ensemble
from loadstone.run.tiles.spec import TilesOrder
from loadstone.store.folder import LOGS, ResultFolder, RunFolder

Json = dict[str, Any]


@dataclass(frozen=True)
class Powered:
    """Meters at work."""

    meters: tuple[PowerMeter, ...]

    def summary(self, order: TilesOrder, ensembles: Sequence[Ensemble]) -> list[Json]:
        """Mean watts of each meter over the loaded window and over active idle; None where a phase was not reached."""
        phases = (order.phases_of(1), order.idle_phases)
        windows = [_window(ensemble, of) for ensemble, of in zip(ensembles, phases, strict=False)]
        return [_said(meter, windows) for meter in self.meters]


@contextlib.asynccontextmanager
async def powered(order: TilesOrder, folder: ResultFolder) -> AsyncIterator[Powered]:
    """The order's meters, sampling into the folder's logs while the block lasts."""
    with contextlib.ExitStack() as files:
        meters = []
        for number, (scope, source) in enumerate(order.meters(), start=1):
            file = files.enter_context(RunFolder(folder.path / LOGS).lines(f"power-{number}-{scope}.jsonl"))
            meters.append(PowerMeter(scope, source, file))
        async with switched_on(meters):
            yield Powered(tuple(meters))


def _window(ensemble: Ensemble, phases: Phases) -> tuple[float, float] | None:
    """The measured window on the wall clock."""
    if ensemble.origin_unix_s is None:
        return None
    begin_s = ensemble.origin_unix_s + phases.ramp_up_s + phases.warm_up_s
    return begin_s, begin_s + phases.steady_s


def _said(meter: PowerMeter, windows: Sequence[tuple[float, float] | None]) -> Json:
    found: Json = {"scope": meter.scope, "about": meter.source.about, "trouble": meter.trouble}
    for name, window in zip(("loaded", "idle"), [*windows, None, None], strict=False):
        watts, count = meter.mean(window) if window else (None, 0)
        found |= {f"{name}_w": watts, f"{name}_samples": count}
    return found
