"""What a study can vary: parameters by name, read from text and applied to the order of a run. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from loadstone.model.errors import UsageError
from loadstone.model.load import MOST_PER_S, MOST_SESSIONS, Arrivals, Load, Population, read_rate
from loadstone.model.machine import Machine, PlatformName
from loadstone.model.reading import from_settings, suggest
from loadstone.model.system import Clock, Reference, Station
from loadstone.model.target import Target
from loadstone.model.workload import Workload
from loadstone.run.runner import Played, RunOrder

Settings = Mapping[str, str]
"""Parameters by name, as texts."""


@dataclass(frozen=True)
class Parameter:
    """One thing that can be varied."""

    name: str
    about: str
    apply: Callable[[RunOrder, str], RunOrder]
    """Raises UsageError when the value is none, or does not go with the order."""
    is_load: bool = False


def apply(order: RunOrder, settings: Settings) -> RunOrder:
    """The order with all settings. Raises UsageError."""
    for name, text in settings.items():
        order = parameter(name).apply(order, text)
    return order


def parameter(name: str) -> Parameter:
    """A parameter by name; raises UsageError for an unknown one."""
    if name not in PARAMETERS:
        raise UsageError(f"There is no parameter `{name}`. {suggest(name, set(PARAMETERS))}")
    return PARAMETERS[name]


def read_settings(text: str) -> dict[str, str]:
    """Reads `server.threads=2,sessions=100`; raises UsageError."""
    settings: dict[str, str] = {}
    for word in filter(None, text.split(",")):
        name, equals, value = word.partition("=")
        if not equals or not value:
            raise UsageError(f"`{word}` sets nothing. Write NAME=VALUE, several with commas between.")
        settings[parameter(name).name] = value
    if not settings:
        raise UsageError("There is no setting. Write NAME=VALUE, several with commas between.")
    return settings


def read_points(text: str) -> tuple[str, tuple[str, ...]]:
    """Reads `sessions=50,100,150`, one parameter with its points; raises UsageError."""
    name, equals, values = text.partition("=")
    points = tuple(dict.fromkeys(value.strip() for value in values.split(",") if value.strip()))
    if not equals or not points:
        raise UsageError(f"`{text}` has no points. Write NAME=VALUE,VALUE,...")
    return parameter(name).name, points


def _number(text: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise UsageError(f"`{text}` is no number from {least:g} to {most:g}.")
    return value


def _whole(text: str, least: int, most: int) -> int:
    if not text.isdigit() or not least <= int(text) <= most:
        raise UsageError(f"`{text}` is no whole number from {least} to {most}.")
    return int(text)


def _loaded(order: RunOrder, load: Callable[[Load], Load]) -> RunOrder:
    return replace(order, parts=tuple(Played(part.workload, load(part.load)) for part in order.parts))


def _sessions(order: RunOrder, text: str) -> RunOrder:
    return _loaded(order, lambda load: Population(_whole(text, 1, MOST_SESSIONS)))


def _rate(order: RunOrder, text: str) -> RunOrder:
    def at_rate(load: Load) -> Load:
        rates, is_ramp = read_rate(text)
        _number(text, 0, MOST_PER_S)
        kept = load if isinstance(load, Arrivals) else Arrivals(())
        return replace(kept, rates=rates, is_ramp=is_ramp, trace_s=())

    return _loaded(order, at_rate)


def _worked(order: RunOrder, change: Callable[[Workload], Workload]) -> RunOrder:
    return replace(order, parts=tuple(Played(change(part.workload), part.load) for part in order.parts))


def _line(order: RunOrder, text: str) -> RunOrder:
    rate = _number(text, 1, 1e12)

    def change(workload: Workload) -> Workload:
        held = workload.connections
        lines = {"page_bytes_per_s": rate}
        if held.embedded_bytes_per_s is not None:
            lines["embedded_bytes_per_s"] = rate
        return replace(workload, connections=held.model_copy(update=lines))

    return _worked(order, change)


def _pause(order: RunOrder, text: str) -> RunOrder:
    seconds = _number(text, 0, 1e6)
    return _worked(order, lambda held: replace(held, pacing=held.pacing.model_copy(update={"mean_s": seconds})))


def _pacing(order: RunOrder, text: str) -> RunOrder:
    if text not in ("think", "cycle"):
        raise UsageError(f"`{text}` is no pacing. Use `think` (from the answer on) or `cycle` (from start to start).")
    return _worked(order, lambda held: replace(held, pacing=held.pacing.model_copy(update={"kind": text})))


def _server_threads(order: RunOrder, text: str) -> RunOrder:
    return replace(order, system=replace(_reference(order, "threads"), threads=_whole(text, 1, 4096)))


def _server_cores(order: RunOrder, text: str) -> RunOrder:
    _reference(order, "cores")
    return _machine("cpus")(order, text)


def _machine(name: str) -> Callable[[RunOrder, str], RunOrder]:
    """A setting of the machine; so many CPUs bring as many threads: what `server.threads` says after it holds."""

    def change(order: RunOrder, text: str) -> RunOrder:
        machine = order.placement.machine.changed(**{name: text})
        changed = replace(order, placement=replace(order.placement, machine=machine))
        if name in ("cpus", "platform") and isinstance(order.system, Reference):
            threads = machine.cpus or (order.system.threads if machine.platform is PlatformName.PROCESS else 1)
            return replace(changed, system=replace(order.system, threads=threads))
        return changed

    return change


def _backend(name: str) -> Callable[[RunOrder, str], RunOrder]:
    def change(order: RunOrder, text: str) -> RunOrder:
        machine = order.placement.backend.changed(**{name: text})
        return replace(order, placement=replace(order.placement, backend=machine))

    return change


def _machines(order: RunOrder, text: str) -> RunOrder:
    """`2x4`: two machines of four CPUs."""
    count, _, cpus = text.partition("x")
    return _machine("cpus")(_machine("count")(order, str(_whole(count, 1, 4096))), str(_whole(cpus, 1, 4096)))


def _reference(order: RunOrder, what: str) -> Reference:
    if not isinstance(order.system, Reference):
        raise UsageError(f"`server.{what}` is of the reference server, and this study measures another system.")
    return order.system


def _target(order: RunOrder, text: str) -> RunOrder:
    if isinstance(order.system, Station):
        raise UsageError("`target` is of systems that others set up, and this study measures a station.")
    held = order.system if isinstance(order.system, Target) else Target(None, None)
    return replace(order, system=Target.parse(text.split("+"), held.authority_pem, held.verify), clock=Clock.REAL)


def _driver_threads(order: RunOrder, text: str) -> RunOrder:
    return replace(order, threads=_whole(text, 1, 4096))


def _station(name: str) -> Callable[[RunOrder, str], RunOrder]:
    def change(order: RunOrder, text: str) -> RunOrder:
        if not isinstance(order.system, Station):
            raise UsageError(f"`station.{name}` is of a station. Measure one with --station.")
        given = {key: str(value) for key, value in order.system.model_dump().items() if value is not None}
        return replace(order, system=from_settings(Station, "station", {**given, name: text}))

    return change


PARAMETERS = {
    one.name: one
    for one in (
        Parameter("sessions", "simultaneous sessions of each workload", _sessions, is_load=True),
        Parameter("rate", "sessions that arrive each second", _rate, is_load=True),
        Parameter("server.threads", "threads of the reference server", _server_threads),
        Parameter("server.cores", "cores the reference server may use, with as many threads", _server_cores),
        Parameter("platform", f"where the system runs: {', '.join(PlatformName)}", _machine("platform")),
        Parameter("machines", "how many machines of how many CPUs, as 2x4", _machines),
        *(
            Parameter(f"{of}.{name}", f"of the {title}: {held.description}", change(name))
            for of, title, change in (("machine", "machine", _machine), ("backend", "back-end's machine", _backend))
            for name, held in Machine.model_fields.items()
        ),
        Parameter("target", "address of the system under test; http and https side joined by +", _target),
        Parameter("line", "bytes per second of each user's line", _line),
        Parameter("pause", "mean think or cycle time, in seconds", _pause),
        Parameter("pacing", "think or cycle", _pacing),
        Parameter("driver.threads", "threads of the driver", _driver_threads),
        *(
            Parameter(f"station.{name}", f"a station's {held.description}", _station(name))
            for name, held in Station.model_fields.items()
        ),
    )
}
"""All parameters by name."""
