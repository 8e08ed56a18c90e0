"""What a study can vary: parameters by name, read from text and applied to the specification of a run. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.choices import CHOICES, NONE, ServiceChoices
from loadstone.model.errors import UsageError
from loadstone.model.fault import read_fault
from loadstone.model.load import MOST_PER_S, MOST_SESSIONS, Arrivals, Load, Population, read_rate
from loadstone.model.reading import Flag, from_settings, suggest
from loadstone.model.system import Clock, Reference, Station
from loadstone.model.target import Target
from loadstone.model.workload import Workload
from loadstone.platforms.registry import changed as changed_machine
from loadstone.platforms.registry import machine_kind, platform_kind, platform_kinds
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.services.registry import names_of

ParameterSettings = Mapping[str, str]
"""Parameters by name, as texts."""
Point = str | int | float
Points = Annotated[tuple[Point, ...], Field(min_length=1)]
"""Values that a parameter takes, as users write them."""
LoadKind = Annotated[
    Literal["sessions", "rate"],
    Flag("Kind of load: sessions (closed) or rate (open, session arrivals per second)."),
]
"""The load that a study varies, as users write it."""


@dataclass(frozen=True)
class Parameter:
    """One thing that can be varied."""

    name: str
    about: str
    apply: Callable[[RunSpec, str], RunSpec]
    """Raises UsageError when the value is none, or does not go with the spec."""
    is_load: bool = False


def apply(spec: RunSpec, settings: ParameterSettings) -> RunSpec:
    """The specification with all settings. Raises UsageError."""
    for name, text in settings.items():
        spec = parameter(name).apply(spec, text)
    return spec


def parameter(name: str) -> Parameter:
    """A parameter by name; raises UsageError for an unknown one."""
    if name not in PARAMETERS:
        raise UsageError(f"There is no parameter `{name}`. {suggest(name, set(PARAMETERS))}")
    return PARAMETERS[name]


def read_settings(text: str) -> dict[str, str]:
    """Reads `server.threads=2,sessions=100`; raises UsageError."""
    settings: dict[str, str] = {}
    for setting in filter(None, text.split(",")):
        name, equals, value = setting.partition("=")
        if not equals or not value:
            raise UsageError(f"`{setting}` is not a setting. Use NAME=VALUE, separated by commas.")
        settings[parameter(name).name] = value
    if not settings:
        raise UsageError("The setting is empty. Use NAME=VALUE, separated by commas.")
    return settings


def read_points(text: str) -> tuple[str, tuple[str, ...]]:
    """Reads `sessions=50,100,150`, one parameter with its points; raises UsageError."""
    name, equals, values = text.partition("=")
    points = tuple(dict.fromkeys(value.strip() for value in values.split(",") if value.strip()))
    if not equals or not points:
        raise UsageError(f"`{text}` has no points. Use NAME=VALUE,VALUE,...")
    return parameter(name).name, points


def points_text(points: Iterable[Point]) -> tuple[str, ...]:
    """Points as texts, each once."""
    return tuple(dict.fromkeys(map(value_text, points)))


def settings_text(settings: Mapping[str, Point]) -> dict[str, str]:
    """Settings as texts, by the names of known parameters; raises UsageError."""
    return {parameter(name).name: value_text(value) for name, value in settings.items()}


def value_text(value: Point) -> str:
    """A value as it is written in settings."""
    return f"{value:g}" if isinstance(value, float) else str(value).strip()


def has_load(names: Iterable[str]) -> bool:
    """Whether one of these parameters is a load; raises UsageError for an unknown one."""
    return any(parameter(name).is_load for name in names)


def _number(text: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise UsageError(f"`{text}` is not a valid number. Use {least:g} to {most:g}.")
    return value


def _whole_number(text: str, least: int, most: int) -> int:
    if not text.isdigit() or not least <= int(text) <= most:
        raise UsageError(f"`{text}` is not a valid whole number. Use {least} to {most}.")
    return int(text)


def _loaded(spec: RunSpec, load: Callable[[Load], Load]) -> RunSpec:
    return replace(spec, parts=tuple(WorkloadLoad(part.workload, load(part.load)) for part in spec.parts))


def _sessions(spec: RunSpec, text: str) -> RunSpec:
    return _loaded(spec, lambda load: Population(_whole_number(text, 1, MOST_SESSIONS)))


def _rate(spec: RunSpec, text: str) -> RunSpec:
    def at_rate(load: Load) -> Load:
        rates, is_ramp = read_rate(text)
        _number(text, 0, MOST_PER_S)
        arrivals = load if isinstance(load, Arrivals) else Arrivals(())
        return replace(arrivals, rates=rates, is_ramp=is_ramp, trace_s=())

    return _loaded(spec, at_rate)


def _worked(spec: RunSpec, change: Callable[[Workload], Workload]) -> RunSpec:
    return replace(spec, parts=tuple(WorkloadLoad(change(part.workload), part.load) for part in spec.parts))


def _line(spec: RunSpec, text: str) -> RunSpec:
    rate = _number(text, 1, 1e12)

    def change(workload: Workload) -> Workload:
        connections = workload.connections
        lines = {"page_bytes_per_s": rate}
        if connections.embedded_bytes_per_s is not None:
            lines["embedded_bytes_per_s"] = rate
        return replace(workload, connections=connections.model_copy(update=lines))

    return _worked(spec, change)


def _pause(spec: RunSpec, text: str) -> RunSpec:
    seconds = _number(text, 0, 1e6)
    return _worked(spec, lambda held: replace(held, pacing=held.pacing.model_copy(update={"mean_s": seconds})))


def _pacing(spec: RunSpec, text: str) -> RunSpec:
    if text not in ("think", "cycle"):
        raise UsageError(
            f"`{text}` is not a valid pacing. Use `think` (from the answer on) or `cycle` (from start to start)."
        )
    return _worked(spec, lambda held: replace(held, pacing=held.pacing.model_copy(update={"kind": text})))


def _server_threads(spec: RunSpec, text: str) -> RunSpec:
    return replace(spec, system=replace(_reference(spec, "threads"), threads=_whole_number(text, 1, 4096)))


def _server_cores(spec: RunSpec, text: str) -> RunSpec:
    _reference(spec, "cores")
    return _machine("cpus")(spec, text)


def _choice(name: str) -> Callable[[RunSpec, str], RunSpec]:
    """A service by its name, `none` for no service, or a setting of services."""
    choice = CHOICES[name]

    def change(spec: RunSpec, text: str) -> RunSpec:
        system = _reference(spec, name)
        has_none = NONE in choice.further
        value = _one_of(text, [*names_of(name), *(["none"] if has_none else [])], name)
        changed = {**dict(system.services), name: NONE if has_none and value == "none" else value}
        return replace(spec, system=replace(system, services=ServiceChoices.model_validate(changed)))

    return change


def _one_of(text: str, known: Iterable[str], title: str) -> str:
    names = list(dict.fromkeys(known))
    if text not in names:
        raise UsageError(f"There is no {title} `{text}`. {suggest(text, set(names))}")
    return text


def _tls(spec: RunSpec, text: str) -> RunSpec:
    tls = _one_of(text, ("true", "false"), "choice") == "true"
    return _worked(spec, lambda held: replace(held, target=held.target.model_copy(update={"tls": tls})))


def _directories(spec: RunSpec, text: str) -> RunSpec:
    """Of static files: as many are written, and asked for."""
    count = _whole_number(text, 1, 99_999)

    def change(workload: Workload) -> Workload:
        drawn = workload.values.get("directory")
        if drawn is None or "directories" not in workload.scale:
            raise UsageError(f"`{workload.name}` has no directories. Use static-files.")
        values = {**workload.values, "directory": drawn.model_copy(update={"max": count})}
        return replace(workload, scale={**workload.scale, "directories": count}, values=values)

    return _worked(spec, change)


def _machine(name: str) -> Callable[[RunSpec, str], RunSpec]:
    """A setting of the machine; so many CPUs bring as many threads: what `server.threads` says after it holds."""

    def change(spec: RunSpec, text: str) -> RunSpec:
        machine = changed_machine(spec.placement.machine, **{name: text})
        changed = replace(spec, placement=replace(spec.placement, machine=machine))
        if name in ("cpus", "platform") and isinstance(spec.system, Reference):
            threads = machine.cpus or (spec.system.threads if platform_kind(machine.platform).shares_host else 1)
            return replace(changed, system=replace(spec.system, threads=threads))
        return changed

    return change


def _backend(name: str) -> Callable[[RunSpec, str], RunSpec]:
    def change(spec: RunSpec, text: str) -> RunSpec:
        machine = changed_machine(spec.placement.backend, **{name: text})
        return replace(spec, placement=replace(spec.placement, backend=machine))

    return change


def _machines(spec: RunSpec, text: str) -> RunSpec:
    """`2x4`: two machines of four CPUs."""
    count, _, cpus = text.partition("x")
    return _machine("cpus")(
        _machine("count")(spec, str(_whole_number(count, 1, 4096))), str(_whole_number(cpus, 1, 4096))
    )


def _reference(spec: RunSpec, field: str) -> Reference:
    if not isinstance(spec.system, Reference):
        raise UsageError(f"`server.{field}` applies to the reference server, but this study measures another system.")
    return spec.system


def _target(spec: RunSpec, text: str) -> RunSpec:
    if isinstance(spec.system, Station):
        raise UsageError("`target` applies to external systems, but this study measures a station.")
    target = spec.system if isinstance(spec.system, Target) else Target(None, None)
    sides = Target.parse(text.split("+"))
    return replace(spec, system=replace(target, http=sides.http, https=sides.https), clock=Clock.REAL)


def _fault(spec: RunSpec, text: str) -> RunSpec:
    return replace(spec, fault=read_fault(text))


def _driver_threads(spec: RunSpec, text: str) -> RunSpec:
    return replace(spec, threads=_whole_number(text, 1, 4096))


def _station(name: str) -> Callable[[RunSpec, str], RunSpec]:
    def change(spec: RunSpec, text: str) -> RunSpec:
        if not isinstance(spec.system, Station):
            raise UsageError(f"`station.{name}` is of a station. Measure one with --station.")
        settings = {key: str(value) for key, value in spec.system.model_dump().items() if value is not None}
        return replace(spec, system=from_settings(Station, "station", {**settings, name: text}))

    return change


PARAMETERS = {
    parameter.name: parameter
    for parameter in (
        Parameter("sessions", "simultaneous sessions of each workload", _sessions, is_load=True),
        Parameter("rate", "sessions that arrive each second", _rate, is_load=True),
        Parameter("server.threads", "threads of the reference server", _server_threads),
        Parameter("server.cores", "cores the reference server may use, with as many threads", _server_cores),
        Parameter("platform", f"where the system runs: {', '.join(platform_kinds())}", _machine("platform")),
        Parameter("machines", "number of machines and CPUs of each, such as 2x4", _machines),
        *(
            Parameter(f"{role}.{name}", f"of the {title}: {held.description}", change(name))
            for role, title, change in (("machine", "machine", _machine), ("backend", "back-end's machine", _backend))
            for name, held in machine_kind().model_fields.items()
        ),
        *(
            Parameter(name, str(field.description), _choice(name))
            for name, field in ServiceChoices.model_fields.items()
        ),
        Parameter("tls", "true or false, for workloads that go either way", _tls),
        Parameter("directories", "of static files", _directories),
        Parameter("target", "address of the system under test; http and https side joined by +", _target),
        Parameter("line", "bytes per second of each user's line", _line),
        Parameter("pause", "mean think or cycle time, in seconds", _pause),
        Parameter("pacing", "think or cycle", _pacing),
        Parameter("fault", "fault and its time, such as kill-primary@12.5", _fault),
        Parameter("driver.threads", "threads of the driver", _driver_threads),
        *(
            Parameter(f"station.{name}", f"a station's {held.description}", _station(name))
            for name, held in Station.model_fields.items()
        ),
    )
}
"""All parameters by name."""
