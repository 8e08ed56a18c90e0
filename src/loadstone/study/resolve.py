"""From a run as it is written to its specification: what is left out follows from the profile and from this host."""

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from loadstone.model.errors import UsageError
from loadstone.model.fleet import FleetSpec
from loadstone.model.machine import Placement
from loadstone.model.profile import Profile, find_profile
from loadstone.model.reading import FileTable, list_flags
from loadstone.model.system import Clock, Reference, System
from loadstone.model.target import Access
from loadstone.model.topology import list_topologies
from loadstone.model.workload import Workload
from loadstone.model.workload.published import DataScale
from loadstone.platforms.registry import get_platform_kind
from loadstone.platforms.roles import get_role_machine
from loadstone.run.criteria import DriverLimits
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.study.declaration import Declaration
from loadstone.study.sections import DriverSection, LoadEntry, ProfileSection, TargetSection
from loadstone.workloads import load


def resolve(
    declared: Declaration, results: Path, fleet: FleetSpec | None = None, labels: Mapping[str, str] | None = None
) -> RunSpec:
    """The specification of the run; `labels` are disclosed besides its notes. Raises LoadstoneError."""
    return RunSpec(
        name=declared.name,
        parts=_parts(declared),
        profile=resolve_profile(declared.profile),
        seed=declared.driver.seed,
        threads=declared.driver.threads or count_default_threads(),
        system=_system(declared),
        results=results,
        together=declared.together,
        driver_limits=resolve_limits(declared.driver),
        clock=_clock(declared),
        placement=declared.placement,
        agents=declared.target.agents,
        notes={**declared.notes, **(labels or {})},
        fleet=fleet,
    )


def add_usual_loads(declared: Declaration) -> Declaration:
    """Returns the run with the usual number of sessions of each workload that has one and no load. Raises
    LoadstoneError.
    """
    return replace(declared, loads=tuple(map(_add_usual_load, declared.loads)))


def _add_usual_load(entry: LoadEntry) -> LoadEntry:
    sessions = None if entry.is_loaded else load(entry.workload).header.sessions
    return entry if sessions is None else entry.model_copy(update={"sessions": str(sessions)})


def count_default_threads() -> int:
    """Half of the cores this process may use: driver and server share the machine."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


def resolve_profile(section: ProfileSection) -> Profile:
    """The profile with the lengths that are written. Raises UsageError."""
    profile = find_profile(section.name)
    changed = profile.with_phases(**section.model_dump(exclude={"name", "iterations"}))
    return changed.with_iterations(section.iterations or profile.iterations)


def resolve_limits(section: DriverSection) -> DriverLimits:
    """Returns what the driver may use for a run to be fit to be judged."""
    return DriverLimits(section.lag_share_pct / 100, section.cpu_pct, section.foreign_cpu_pct)


def _parts(declared: Declaration) -> tuple[WorkloadLoad, ...]:
    """The workloads with their loads; raises UsageError for a workload that is there twice."""
    parts = tuple(WorkloadLoad(_load_scaled(entry), entry.load()) for entry in declared.loads)
    names = [part.workload.name for part in parts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"`{twice[0]}` is named twice. A run includes each workload once; profiles repeat it.")
    return parts


def _load_scaled(entry: LoadEntry) -> Workload:
    """The workload with the data that are asked for. Raises LoadstoneError."""
    workload = load(entry.workload)
    return workload.with_published_scale() if entry.scale is DataScale.PUBLISHED else workload


def _clock(declared: Declaration) -> Clock:
    if declared.is_virtual and declared.station is None:
        raise UsageError("--virtual requires a modelled server. Add it, such as --station workers=4,service=0.005.")
    return Clock.VIRTUAL if declared.is_virtual else Clock.REAL


def _system(declared: Declaration) -> System:
    """A system that others set up, a modelled or a stock one, or else the reference server. Raises UsageError."""
    target, server = declared.target, declared.server
    stock = {"--station": declared.station, "--nginx": declared.nginx}
    systems = [*(["--target"] if target.urls else []), *(name for name, system in stock.items() if system is not None)]
    if len(systems) > 1:
        raise UsageError("A run measures one system. Use one of --target, --station and --nginx.")
    if not target.urls:
        _refuse_changed(target, "applies to --target, which names a system that others set up", ("agents",))
    if not systems:
        threads = resolve_threads(declared.placement, server.threads)
        return Reference(threads, server.services, settings=declared.settings)
    why = f"applies to services that the lab starts, not to {systems[0]}"
    _refuse_changed(server, why)
    if declared.settings:
        raise UsageError(f"--set {why}. Remove one of them.")
    return declared.station or declared.nginx or make_access(target).make_target(list(target.urls))


def _refuse_changed(section: FileTable, why: str, but: Collection[str] = ()) -> None:
    """Raises UsageError for a setting other than its default, where none applies but those of some names."""
    for name, flag, default in list_flags(type(section)):
        if name not in but and getattr(section, name) != default:
            raise UsageError(f"{flag.format_option(name)} {why}. Remove one of them.")


def make_access(section: TargetSection) -> Access:
    """How users reach a target."""
    return Access(
        section.authority, section.verify, section.cert, section.key, section.addresses, section.source_addresses
    )


def resolve_threads(placement: Placement, threads: int | None) -> int:
    """Threads of the reference server: as asked for, one a CPU of its machine, or half of this machine's cores."""
    machine = placement.machine
    for role in {topology.front.name for topology in list_topologies()} & placement.roles.keys():
        machine = get_role_machine(machine, placement.roles, role)
    alone = None if get_platform_kind(machine.platform).shares_host else 1
    return threads or machine.cpus or alone or count_default_threads()
