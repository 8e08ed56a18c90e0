"""What a study can vary: parameters by name, with the type of their values and what they change in a run. Pure.

Parameters of tables of study files follow from the tables' fields; those of workloads are declared here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from loadstone.model.choices import CHOICES, NONE, ServiceChoices
from loadstone.model.errors import UsageError
from loadstone.model.fault import PlannedFault, read_fault
from loadstone.model.load import MOST_PER_S, MOST_SESSIONS, ArrivalProcess
from loadstone.model.reading import FileTable, Flag, RefusalError, find_refusal, list_flags, suggest, validate_by
from loadstone.model.selector import normalize_selector
from loadstone.model.system import Station
from loadstone.model.target import Target
from loadstone.platforms.registry import build_machine_kind, list_platform_kinds
from loadstone.run.spec import RunSpec
from loadstone.services.registry import list_names, list_program_settings
from loadstone.study import changes
from loadstone.study.changes import MachineGrid
from loadstone.study.sections import DriverSection, LoadEntry, ProfileSection, ServerSection, TargetSection

SettingValue = bool | int | float | str | tuple[str, ...] | PlannedFault | ArrivalProcess | MachineGrid
"""A value that a parameter has in a run."""
RunSettings = Mapping[str, SettingValue]
"""Values of parameters by their names."""
Point = str | int | float
Points = Annotated[tuple[Point, ...], Field(min_length=1)]
"""Values that a parameter takes, as users write them."""
LoadKind = Annotated[
    Literal["sessions", "rate"],
    Flag("Kind of load: sessions (closed) or rate (open, session arrivals per second)."),
]
"""The load that a study varies, as users write it."""


OF_PROGRAMS = "set."
"""Names of the parameters that are settings of programs begin so."""
OF_MACHINES = "machine"
"""Names of the parameters that are settings of machines begin so: of all, or of a role or one copy of it."""


@dataclass(frozen=True)
class Parameter:
    """One thing that can be varied."""

    name: str
    about: str
    """What its values are, for people."""
    kind: Any
    """The type of its values, with its limits and its reader of texts."""
    change: Callable[[RunSpec, Any], RunSpec]
    """Raises UsageError when a value does not go with the specification."""
    is_load: bool = False

    def read(self, value: object) -> SettingValue:
        """A value from its text or its number; raises UsageError that says what is expected."""
        try:
            read: SettingValue = _adapter(self.name).validate_python(value)
        except ValidationError as error:
            refused = find_refusal(error) or f"`{value}` is not valid for `{self.name}`. Expected: {self.about}."
            raise UsageError(str(refused)) from None
        return read

    def apply(self, spec: RunSpec, value: object) -> RunSpec:
        """The specification with this value, which may be a text. Raises UsageError."""
        return self.change(spec, self.read(value))


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    """What checks the values of a parameter; compiled when the first is read."""
    return TypeAdapter(get_parameter(name).kind)


def apply(spec: RunSpec, settings: Mapping[str, SettingValue]) -> RunSpec:
    """The specification with all settings. Raises UsageError."""
    for name, value in settings.items():
        spec = get_parameter(name).apply(spec, value)
    return spec


def get_parameter(name: str) -> Parameter:
    """A parameter by name; raises UsageError for an unknown one."""
    known = find_parameter(name)
    if known is None:
        of_role = {f"{name.rpartition('.')[0]}.{key}" for key in build_machine_kind().model_fields if is_of_role(name)}
        raise UsageError(f"There is no parameter `{name}`. {suggest(name, set(PARAMETERS) | of_role)}")
    return known


def find_parameter(name: str) -> Parameter | None:
    """Returns a parameter by name, None for an unknown one."""
    return PARAMETERS.get(name) or _find_of_role(name)


def is_of_role(name: str) -> bool:
    """Returns whether a name is that of a machine's setting by role, as `machine.db.cpus`, or by copy and role."""
    return name.startswith(f"{OF_MACHINES}.") and name.count(".") in (2, 3)


@cache
def _find_of_role(name: str) -> Parameter | None:
    """Returns the parameter of a role's machine, by the short name of the role; None for an unknown setting."""
    selector, _, key = name.removeprefix(f"{OF_MACHINES}.").rpartition(".")
    info = build_machine_kind().model_fields.get(key)
    if not is_of_role(name) or info is None:
        return None
    selector = normalize_selector(selector)
    change = partial(changes.change_role, selector, key)
    return Parameter(f"{OF_MACHINES}.{selector}.{key}", str(info.description), _kind_of(info), change)


def has_load(names: Iterable[str]) -> bool:
    """Whether one of these parameters is a load; raises UsageError for an unknown one."""
    return any(get_parameter(name).is_load for name in names)


def _kind_of(info: FieldInfo) -> Any:
    """The type of a field with its limits."""
    return Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation


def _of_table(section: type[FileTable], change: Callable[[str, RunSpec, Any], RunSpec]) -> Iterator[Parameter]:
    """Parameters of the fields of a table that studies vary; `change` gets the name of the field too."""
    for name, flag, _ in list_flags(section):
        info = section.model_fields[name]
        if flag.parameter:
            yield Parameter(flag.parameter, info.description or flag.help, _kind_of(info), partial(change, name))


def _of_machine(prefix: str, change: Callable[[str, RunSpec, Any], RunSpec]) -> Iterator[Parameter]:
    for name, info in build_machine_kind().model_fields.items():
        yield Parameter(f"{prefix}.{name}", str(info.description), _kind_of(info), partial(change, name))


def _of_services() -> Iterator[Parameter]:
    for name, info in ServiceChoices.model_fields.items():
        kind = Annotated[str, validate_by(partial(_chosen, name))]
        yield Parameter(name, str(info.description), kind, partial(changes.change_service, name))


def _chosen(choice: str, text: str) -> str:
    """A service by its name, `none` for no service, or a setting of services; raises UsageError."""
    names = dict.fromkeys([*list_names(choice), *(["none"] if NONE in CHOICES[choice].further else [])])
    if text not in names:
        raise UsageError(f"There is no {choice} `{text}`. {suggest(text, set(names))}")
    return text


def _of_programs() -> Iterator[Parameter]:
    """Parameters of the settings of all programs, as `set.php.children`."""
    for program, section in list_program_settings().items():
        for name, info in section.model_fields.items():
            change = partial(changes.change_setting, program, name)
            yield Parameter(f"{OF_PROGRAMS}{program}.{name}", str(info.description), _kind_of(info), change)


def _of_stations() -> Iterator[Parameter]:
    for name, info in Station.model_fields.items():
        change = partial(changes.change_station, name)
        yield Parameter(f"station.{name}", str(info.description), _kind_of(info), change)


def _known_sides(urls: tuple[str, ...]) -> tuple[str, ...]:
    try:
        Target.parse(list(urls))
    except UsageError as error:
        raise RefusalError(str(error)) from None
    return urls


def _divided(text: str) -> tuple[str, ...]:
    return tuple(text.split("+"))


_PLATFORMS: Any = Literal[tuple(list_platform_kinds())]
_TARGETS = Annotated[tuple[str, ...], AfterValidator(_known_sides), validate_by(_divided)]
_SESSIONS = Annotated[int, Field(ge=1, le=MOST_SESSIONS)]
_RATE = Annotated[float, Field(gt=0, le=MOST_PER_S)]
_GRID = Annotated[MachineGrid, validate_by(MachineGrid.parse)]
_FAULT = Annotated[PlannedFault, validate_by(read_fault)]
PARAMETERS = {
    parameter.name: parameter
    for parameter in (
        Parameter(
            "sessions",
            f"simultaneous sessions of each workload, 1 to {MOST_SESSIONS}",
            _SESSIONS,
            changes.change_sessions,
            is_load=True,
        ),
        Parameter(
            "rate",
            f"sessions that arrive each second, above 0, at most {MOST_PER_S:.0f}",
            _RATE,
            changes.change_rate,
            is_load=True,
        ),
        *_of_table(LoadEntry, changes.change_load),
        *_of_table(ProfileSection, changes.change_profile),
        *_of_table(ServerSection, changes.change_server),
        Parameter(
            "platform",
            f"where the system runs: {', '.join(list_platform_kinds())}",
            _PLATFORMS,
            partial(changes.change_machine, "platform"),
        ),
        Parameter("machines", "number of machines and CPUs of each, such as 2x4", _GRID, changes.change_machines),
        *_of_machine(OF_MACHINES, changes.change_machine),
        *_of_machine("backend", changes.change_backend),
        *_of_services(),
        *_of_programs(),
        Parameter("tls", "true or false, for workloads that go either way", bool, changes.change_tls),
        Parameter(
            "directories",
            "number of directories of static files, 1 to 99999",
            Annotated[int, Field(ge=1, le=99_999)],
            changes.change_directories,
        ),
        Parameter(
            "target",
            "address of the system under test; http and https side joined by +",
            _TARGETS,
            changes.change_target_urls,
        ),
        *_of_table(TargetSection, changes.change_target),
        Parameter(
            "line",
            "bytes per second of each user's line, 1 or more",
            Annotated[float, Field(ge=1, le=1e12)],
            changes.change_line,
        ),
        Parameter(
            "pause",
            "mean think or cycle time in seconds, 0 or more",
            Annotated[float, Field(ge=0, le=1e6)],
            changes.change_pause,
        ),
        Parameter(
            "pacing",
            "`think` (from the answer on) or `cycle` (from start to start)",
            Literal["think", "cycle"],
            changes.change_pacing,
        ),
        Parameter("fault", "fault and its time, such as kill-primary@12.5", _FAULT, changes.change_fault),
        *_of_table(DriverSection, changes.change_driver),
        *_of_stations(),
    )
}
"""All parameters by name."""
ROLE_PARAMETER, PROGRAM_PARAMETER = f"{OF_MACHINES}.ROLE.SETTING", f"{OF_PROGRAMS}PROGRAM.SETTING"
"""Names for people of all settings of the machines of roles, and of programs."""
NAMED_PARAMETERS = [
    *(name for name in PARAMETERS if not name.startswith(OF_PROGRAMS)),
    ROLE_PARAMETER,
    PROGRAM_PARAMETER,
]
"""Names for people, with one for all settings of programs, of which docs/reference/settings.md has the list."""
