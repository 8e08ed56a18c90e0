"""What each parameter of a study changes in the specification of a run. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from loadstone.model.choices import NONE, ServiceChoices
from loadstone.model.errors import UsageError
from loadstone.model.fault import PlannedFault
from loadstone.model.front import find_front
from loadstone.model.load import POISSON, Arrivals, Load, Population
from loadstone.model.machine import MachineSpec
from loadstone.model.profile import find_profile
from loadstone.model.program_settings import merge_settings
from loadstone.model.reading import from_settings
from loadstone.model.selector import RoleSettings, merge_roles, split_selector, write_selector
from loadstone.model.system import Clock, Reference, Station
from loadstone.model.target import Target
from loadstone.model.workload import Workload
from loadstone.platforms.registry import get_platform_kind
from loadstone.platforms.registry import replace_settings as changed_machine
from loadstone.platforms.roles import get_role_machine
from loadstone.run.spec import RunSpec

MOST_MACHINES = 4096
SIZES_OF_FRONT = ("cpus", "platform")
"""Settings of the front's machine that the number of its threads follows."""


@dataclass(frozen=True)
class MachineGrid:
    """Several machines of one size: `2x4` is two machines of four CPUs."""

    count: int
    cpus: int

    def __str__(self) -> str:
        return f"{self.count}x{self.cpus}"

    @classmethod
    def parse(cls, text: str) -> "MachineGrid":
        """Reads `2x4`; raises UsageError."""
        numbers = [int(part) for part in text.split("x") if part.isdecimal() and 1 <= int(part) <= MOST_MACHINES]
        if len(numbers) != 2 or text.count("x") != 1:
            raise UsageError(f"`{text}` is not a valid number of machines and CPUs. Use two numbers, such as 2x4.")
        return cls(*numbers)


def _loaded(spec: RunSpec, load: Callable[[Load], Load]) -> RunSpec:
    return replace(spec, parts=tuple(replace(part, load=load(part.load)) for part in spec.parts))


def _worked(spec: RunSpec, change: Callable[[Workload], Workload]) -> RunSpec:
    return replace(spec, parts=tuple(replace(part, workload=change(part.workload)) for part in spec.parts))


def change_sessions(spec: RunSpec, sessions: int) -> RunSpec:
    """Closed load of so many sessions. Raises UsageError where arrivals are declared, and no rate that they have."""

    def change(load: Load) -> Load:
        if isinstance(load, Arrivals) and not load.rates and load.process != POISSON:
            raise UsageError("--arrivals applies to open load, but this study varies sessions. Use --load rate.")
        return Population(sessions)

    return _loaded(spec, change)


def change_rate(spec: RunSpec, per_s: float) -> RunSpec:
    """Open load of so many arrivals a second, spread as before."""

    def at_rate(load: Load) -> Load:
        arrivals = load if isinstance(load, Arrivals) else Arrivals(())
        return replace(arrivals, rates=(per_s,), is_ramp=False, trace_s=())

    return _loaded(spec, at_rate)


def change_load(field: str, spec: RunSpec, value: Any) -> RunSpec:
    """How sessions arrive under open load: their process, and how many there are at most. Raises UsageError."""
    name = {"arrivals": "process"}.get(field, field)

    def change(load: Load) -> Load:
        if not isinstance(load, Arrivals):
            raise UsageError(f"`{field}` applies to open load, but this study has {load}. Use --rate.")
        return replace(load, **{name: value})

    return _loaded(spec, change)


def change_profile(field: str, spec: RunSpec, value: Any) -> RunSpec:
    """Another profile, another length of a phase in seconds, or another number of iterations. Raises UsageError."""
    profile = spec.profile
    if field == "name":
        profile = find_profile(value)
    elif field == "iterations":
        profile = profile.with_iterations(value)
    else:
        profile = profile.with_phases(**{field: value})
    return replace(spec, profile=profile)


def change_driver(field: str, spec: RunSpec, value: Any) -> RunSpec:
    """Another number of threads of the driver."""
    return replace(spec, **{field: value})


def change_server(field: str, spec: RunSpec, value: int) -> RunSpec:
    """Threads of the reference server, or cores with as many threads. Raises UsageError."""
    system = _reference(spec, field)
    if field == "cores":
        return change_machine("cpus", spec, value)
    return replace(spec, system=replace(system, threads=value))


def change_service(choice: str, spec: RunSpec, name: str) -> RunSpec:
    """A service by its name, `none` for no service, or a setting of services. Raises UsageError."""
    system = _reference(spec, choice)
    changed = {**dict(system.services), choice: NONE if name == "none" else name}
    return replace(spec, system=replace(system, services=ServiceChoices.model_validate(changed)))


def change_setting(program: str, name: str, spec: RunSpec, value: object) -> RunSpec:
    """A setting of a program that the lab starts. Raises UsageError."""
    system = _reference(spec, f"set.{program}.{name}")
    return replace(spec, system=replace(system, settings=merge_settings(system.settings, program, name, value)))


def _reference(spec: RunSpec, field: str) -> Reference:
    if not isinstance(spec.system, Reference):
        raise UsageError(f"`server.{field}` applies to the reference server, but this study measures another system.")
    return spec.system


def change_machine(field: str, spec: RunSpec, value: object) -> RunSpec:
    """A setting of the machine; so many CPUs bring as many threads: what `server.threads` says after it holds."""
    _refuse_covered(spec, "machine", field)
    machine = changed_machine(spec.placement.machine, **{field: value})
    roles = _fitting_roles(spec, machine) if field == "platform" else spec.placement.roles
    changed = replace(spec, placement=replace(spec.placement, machine=machine, roles=roles))
    return _with_front_threads(changed) if field in SIZES_OF_FRONT else changed


def change_role(selector: str, field: str, spec: RunSpec, value: object) -> RunSpec:
    """A setting of the machine of a role, or of one copy of it. CPUs of the front bring as many threads. Raises
    UsageError.
    """
    number, role = split_selector(selector)
    _refuse_copies(spec, role, number, field)
    roles = merge_roles(spec.placement.roles, {selector: {field: value}})
    changed = replace(spec, placement=replace(spec.placement, roles=roles))
    is_front = not number and role == write_selector(find_front(spec.system, spec.need))
    return _with_front_threads(changed) if is_front and field in SIZES_OF_FRONT else changed


def _with_front_threads(spec: RunSpec) -> RunSpec:
    """Returns the run with a thread of the reference server for each CPU of its front."""
    if not isinstance(spec.system, Reference):
        return spec
    front = get_role_machine(spec.placement.machine, spec.placement.roles, find_front(spec.system, spec.need))
    threads = front.cpus or (spec.system.threads if get_platform_kind(front.platform).shares_host else 1)
    return replace(spec, system=replace(spec.system, threads=threads))


def _refuse_copies(spec: RunSpec, role: str, number: str, field: str) -> None:
    """Raises UsageError where the setting of a copy would replace the one of its role that is varied."""
    for selector, settings in spec.placement.roles.items():
        copy, role_of_copy = split_selector(selector)
        if not number and copy and role_of_copy == role and field in settings:
            reason = f"`{selector}.{field}` is set and has priority"
            raise UsageError(f"`machine.{role}.{field}` cannot be varied: {reason}. Remove `{selector}.{field}`.")


def _fitting_roles(spec: RunSpec, machine: MachineSpec) -> RoleSettings:
    """The settings of single machines, without those of the front that a platform lacks: a study of several platforms
    uses for each the settings that it has.
    """
    front = write_selector(find_front(spec.system, spec.need))
    known = get_platform_kind(machine.platform).settings
    return {
        selector: {key: value for key, value in settings.items() if key in known}
        if split_selector(selector)[1] == front and "platform" not in settings
        else settings
        for selector, settings in spec.placement.roles.items()
    }


def _refuse_covered(spec: RunSpec, section: str, name: str) -> None:
    """Raises UsageError where the setting of a role would replace the one that is varied."""
    for selector, settings in spec.placement.roles.items():
        is_of_front = split_selector(selector)[1] == write_selector(find_front(spec.system, spec.need))
        if name in settings and is_of_front == (section == "machine"):
            reason = f"`{selector}.{name}` is set and has priority"
            raise UsageError(f"`{section}.{name}` cannot be varied: {reason}. Remove `{selector}.{name}`.")


def change_machines(spec: RunSpec, grid: MachineGrid) -> RunSpec:
    """Several machines, and the CPUs of each."""
    return change_machine("cpus", change_machine("count", spec, grid.count), grid.cpus)


def change_backend(field: str, spec: RunSpec, value: object) -> RunSpec:
    """A setting of the back end's machine."""
    _refuse_covered(spec, "backend", field)
    machine = changed_machine(spec.placement.backend, **{field: value})
    return replace(spec, placement=replace(spec.placement, backend=machine))


def change_target_urls(spec: RunSpec, urls: tuple[str, ...]) -> RunSpec:
    """Another system that others set up, reached as before. Raises UsageError."""
    if isinstance(spec.system, Station):
        raise UsageError("`target` applies to external systems, but this study measures a station.")
    target = spec.system if isinstance(spec.system, Target) else Target(None, None)
    sides = Target.parse(list(urls))
    return replace(
        spec, system=replace(target, http=sides.http, https=sides.https, delivery=sides.delivery), clock=Clock.REAL
    )


def change_target(field: str, spec: RunSpec, value: Any) -> RunSpec:
    """How users reach a system that others set up. Raises UsageError."""
    if not isinstance(spec.system, Target):
        raise UsageError(f"`target.{field}` applies to external systems. Name one with --target.")
    return replace(spec, system=replace(spec.system, **{field: value}))


def change_station(field: str, spec: RunSpec, value: object) -> RunSpec:
    """A setting of the station. Raises UsageError."""
    if not isinstance(spec.system, Station):
        raise UsageError(f"`station.{field}` is of a station. Measure one with --station.")
    return replace(spec, system=from_settings(Station, "station", {**spec.system.model_dump(), field: value}))


def change_line(spec: RunSpec, bytes_per_s: float) -> RunSpec:
    """The speed of every user's line, for pages and for embedded files where these have a speed."""

    def change(workload: Workload) -> Workload:
        connections = workload.connections
        lines = {"page_bytes_per_s": bytes_per_s}
        if connections.embedded_bytes_per_s is not None:
            lines["embedded_bytes_per_s"] = bytes_per_s
        return replace(workload, connections=connections.model_copy(update=lines))

    return _worked(spec, change)


def change_pause(spec: RunSpec, seconds: float) -> RunSpec:
    """The mean of think or cycle times."""
    return _worked(spec, lambda held: replace(held, pacing=held.pacing.model_copy(update={"mean_s": seconds})))


def change_pacing(spec: RunSpec, kind: str) -> RunSpec:
    """Pauses from the answer on, or from start to start."""
    return _worked(spec, lambda held: replace(held, pacing=held.pacing.model_copy(update={"kind": kind})))


def change_tls(spec: RunSpec, tls: bool) -> RunSpec:
    """All operations with TLS, or none."""
    return _worked(spec, lambda held: replace(held, target=held.target.model_copy(update={"tls": tls})))


def change_directories(spec: RunSpec, count: int) -> RunSpec:
    """Directories of static files: as many are written, and requested. Raises UsageError."""

    def change(workload: Workload) -> Workload:
        drawn = workload.values.get("directory")
        if drawn is None or "directories" not in workload.scale:
            raise UsageError(f"`{workload.name}` has no directories. Use static-files.")
        values = {**workload.values, "directory": drawn.model_copy(update={"max": count})}
        return replace(workload, scale={**workload.scale, "directories": count}, values=values)

    return _worked(spec, change)


def change_fault(spec: RunSpec, fault: PlannedFault) -> RunSpec:
    """Plans a fault of the system while it is measured."""
    return replace(spec, fault=fault)
