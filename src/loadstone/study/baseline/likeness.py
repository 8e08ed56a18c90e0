"""Whether two series may be compared: the same load, workload and system, for as long, on the same machine. Pure."""

from collections.abc import Mapping

from loadstone.model.errors import UsageError
from loadstone.model.numbers import number
from loadstone.model.records.manifest import Settings, SystemKind, SystemRecord
from loadstone.study.baseline.series import Baseline, KeptSeries

ALIKE = ("cpu_model", "cores", "cores_usable", "architecture")
"""Facts of the host without which figures are of another thing."""


def refuse_unlike(kept: Baseline, new: Baseline, may_be_elsewhere: bool) -> None:
    """Raises UsageError where the figures are of another load, workload or system, other lengths or machines."""
    lengths = [(one.profile.ramp_up_s, one.profile.warm_up_s, one.profile.steady_s) for one in (kept, new)]
    if lengths[0] != lengths[1]:
        told = " and ".join(f"{number(steady_s)} s" for _, _, steady_s in lengths)
        raise UsageError(f"`{kept.name}` and this were not run for the same time ({told} of steady state).")
    for a in kept.series:
        for b in new.series:
            if a.workload == b.workload:
                _refuse_unlike_series(kept.name, a, b)
    if may_be_elsewhere:
        return
    _refuse_unlike_system(kept, new)
    differing = [name for name in ALIKE if getattr(kept.host, name) != getattr(new.host, name)]
    if differing:
        told = ", ".join(f"{name} {getattr(kept.host, name)} and {getattr(new.host, name)}" for name in differing)
        raise UsageError(
            f"`{kept.name}` was made on another machine ({told}): its figures say nothing of this one. Keep one "
            "that was made here; --elsewhere compares all the same."
        )


def _refuse_unlike_series(name: str, a: KeptSeries, b: KeptSeries) -> None:
    """Raises UsageError where two series of one workload had another load, other settings or another declaration."""
    remedy = f"Run this series as `{name}` was run, or keep a new one with `loadstone baseline save`."
    if a.load != b.load:
        raise UsageError(f"{a.workload} was under another load: {a.load} in `{name}`, {b.load} here. {remedy}")
    if a.settings != b.settings:
        told = " and ".join(str(dict(one.settings)) for one in (a, b))
        raise UsageError(f"{a.workload} was in another setting: {told}. {remedy}")
    if a.declaration_sha256 != b.declaration_sha256:
        raise UsageError(f"{a.workload} is another workload now: its file changed after `{name}` was kept. {remedy}")


def _refuse_unlike_system(kept: Baseline, new: Baseline) -> None:
    """Raises UsageError where the system is of another kind, at another host, in other settings or elsewhere placed.

    A station stands for a system of any speed: its parameters may differ, as the versions of a server do.
    """
    remedy = "--elsewhere compares all the same."
    if (kept.system.kind, kept.clock) != (new.system.kind, new.clock):
        told = " and ".join(f"{one.system.kind} in {one.clock} time" for one in (kept, new))
        raise UsageError(f"`{kept.name}` was measured on another kind of system: {told}. {remedy}")
    before, now = (_identity(one.system) for one in (kept, new))
    differing = [name for name in before | now if before.get(name) != now.get(name)]
    if differing:
        told = ", ".join(f"{name} {before.get(name)} and {now.get(name)}" for name in differing)
        raise UsageError(f"`{kept.name}` was measured on another system: {told}. {remedy}")
    if kept.placement != new.placement:
        told = f"{_placed(kept.placement)} and {_placed(new.placement)}"
        raise UsageError(f"`{kept.name}` was measured on another placement: {told}. {remedy}")


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
    parts = [f"{role} {', '.join(f'{key}={value}' for key, value in of.items())}" for role, of in placement.items()]
    return "; ".join(part.strip() for part in parts) or "this host"
