"""Whether two series may be compared: the same load, workload and system, for as long, on the same machine. Pure."""

from collections.abc import Mapping

from loadstone.model.errors import UsageError
from loadstone.model.numbers import format_number
from loadstone.model.records.manifest import Settings, SystemKind, SystemRecord
from loadstone.study.baseline.series import Baseline, KeptSeries
from loadstone.study.settings import write_settings

ALIKE = ("cpu_model", "cores", "cores_usable", "architecture")
"""Facts of the host without which figures are of another thing."""


def refuse_unlike(baseline: Baseline, new: Baseline, may_be_elsewhere: bool) -> None:
    """Raises UsageError where the figures are of another load, workload or system, other lengths or machines."""
    lengths = [
        (record.profile.ramp_up_s, record.profile.warm_up_s, record.profile.steady_s) for record in (baseline, new)
    ]
    if lengths[0] != lengths[1]:
        details = " and ".join(f"{format_number(steady_s)} s" for _, _, steady_s in lengths)
        raise UsageError(f"`{baseline.name}` and this series have different lengths ({details} of steady state).")
    for a in baseline.series:
        for b in new.series:
            if a.workload == b.workload:
                _refuse_unlike_series(baseline.name, a, b)
    if may_be_elsewhere:
        return
    _refuse_unlike_system(baseline, new)
    differing = [name for name in ALIKE if getattr(baseline.host, name) != getattr(new.host, name)]
    if differing:
        details = ", ".join(
            f"{name} {getattr(baseline.host, name)} and {getattr(new.host, name)}" for name in differing
        )
        raise UsageError(
            f"`{baseline.name}` was made on another machine ({details}): its figures are not comparable. Save one "
            "from this machine, or use --elsewhere to compare anyway."
        )


def _refuse_unlike_series(name: str, a: KeptSeries, b: KeptSeries) -> None:
    """Raises UsageError where two series of one workload had another load, other settings or another declaration."""
    remedy = f"Run this series like `{name}`, or save a new one with `loadstone baseline save`."
    if a.load != b.load:
        raise UsageError(f"{a.workload} had another load: {a.load} in `{name}`, {b.load} here. {remedy}")
    if a.settings != b.settings:
        settings = " and ".join(write_settings(series.settings) or "none" for series in (a, b))
        raise UsageError(f"{a.workload} had other settings: {settings}. {remedy}")
    if a.declaration_sha256 != b.declaration_sha256:
        raise UsageError(f"{a.workload} has changed since `{name}` was saved. {remedy}")


def _refuse_unlike_system(baseline: Baseline, new: Baseline) -> None:
    """Raises UsageError where the system is of another kind, at another host, in other settings or elsewhere placed.

    A station stands for a system of any speed: its parameters may differ, as the versions of a server do.
    """
    remedy = "Use --elsewhere to compare anyway."
    if (baseline.system.kind, baseline.clock) != (new.system.kind, new.clock):
        kinds = " and ".join(f"{record.system.kind} in {record.clock} time" for record in (baseline, new))
        raise UsageError(f"`{baseline.name}` was measured on another kind of system: {kinds}. {remedy}")
    before, now = (_identity(record.system) for record in (baseline, new))
    differing = [name for name in before | now if before.get(name) != now.get(name)]
    if differing:
        kinds = ", ".join(f"{name} {before.get(name)} and {now.get(name)}" for name in differing)
        raise UsageError(f"`{baseline.name}` was measured on another system: {kinds}. {remedy}")
    if baseline.placement != new.placement:
        kinds = f"{_placed(baseline.placement)} and {_placed(new.placement)}"
        raise UsageError(f"`{baseline.name}` was measured on another placement: {kinds}. {remedy}")


def _identity(system: SystemRecord) -> dict[str, object]:
    """The settings that make two systems the same; of a target its host, as ports may change with each start."""
    if system.kind is SystemKind.STATION:
        return {}
    settings: dict[str, object] = dict(system.settings)
    if system.kind is SystemKind.TARGET:
        sides = {side: settings.get(side) for side in ("http", "https")}
        settings = {f"{name} host": side["host"] for name, side in sides.items() if isinstance(side, dict)}
    return settings


def _placed(placement: Mapping[str, Settings]) -> str:
    parts = [
        f"{role} {', '.join(f'{key}={value}' for key, value in place.items())}" for role, place in placement.items()
    ]
    return "; ".join(part.strip() for part in parts) or "this host"
