"""What a study file says: which workloads, how much load, for how long, against what."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol

from pydantic import Field

from loadstone.model.choices import ServiceChoices
from loadstone.model.errors import UsageError
from loadstone.model.figures import DRIVER_CPU_PCT, FOREIGN_CPU_PCT, LAG_SHARE
from loadstone.model.load import MOST_AT_ONCE, POISSON, Arrivals, Load, Process, make_load, read_process, read_sessions
from loadstone.model.machine import MachineSpec, Placement
from loadstone.model.profile import PROFILES
from loadstone.model.reading import Document, Section, refusing, suggest
from loadstone.model.system import FileServer, Station
from loadstone.model.target import Addresses, Target
from loadstone.model.workload import MOST_SOURCES
from loadstone.model.workload.bounds import NotNegative, Percent, Positive
from loadstone.platforms.registry import RoleSettings, machine_kind, refuse_foreign

Whole = Annotated[int, Field(ge=1)]


class StudyHeader(Section):
    """What the study is called."""

    name: str = Field(default="", description="a short name, used for the result folder")
    together: bool = Field(default=False, description="true to play all workloads at the same time")
    virtual: bool = Field(default=False, description="true to play in virtual time against the [station]")


def _sessions(text: str) -> str:
    """A number of sessions as it is written; raises UsageError where it is none."""
    read_sessions(text)
    return text


class LoadEntry(Section):
    """One workload and its load: sessions, a rate of arrivals, or a trace of them."""

    workload: str = Field(description="the name of a workload, or the folder of your own")
    sessions: Annotated[str, refusing(_sessions)] | None = Field(
        default=None, description='sessions at once: 100, "50,100,50" or "10-100"'
    )
    rate: float | str | None = Field(default=None, description='sessions per second: 100, "50,100,150" or "10-100"')
    arrivals: Annotated[Process, refusing(read_process)] = Field(
        default=POISSON, description="`poisson`, `constant`, `bursty` or `self-similar`, the latter two as `bursty:25`"
    )
    trace: Path | None = Field(default=None, description="the path of a file of instants in seconds, one a line")
    most_sessions: Whole = Field(default=MOST_AT_ONCE, description="arrived sessions at once, 1 or more")

    @property
    def is_loaded(self) -> bool:
        """Whether it says how much load; what a study varies it need not."""
        return (self.sessions, self.rate, self.trace) != (None, None, None)

    def load(self) -> Load:
        """The load; raises UsageError when it is none."""
        if not self.is_loaded:
            return Arrivals((), process=self.arrivals, most_sessions=self.most_sessions)
        return make_load(
            self.sessions,
            str(self.rate) if self.rate is not None else None,
            self.trace,
            self.arrivals,
            self.most_sessions,
        )


class ProfileSection(Section):
    """How long the phases are."""

    name: str = Field(default="quick", description=f"one of {', '.join(PROFILES)}")
    ramp_up_s: NotNegative | None = Field(default=None, description="seconds, 0 or more")
    warm_up_s: NotNegative | None = Field(default=None, description="seconds, 0 or more")
    steady_s: Positive | None = Field(default=None, description="seconds, above 0")
    ramp_down_s: NotNegative | None = Field(default=None, description="seconds, 0 or more")
    iterations: Whole | None = Field(default=None, description="a whole number, 1 or more")


class TargetSection(Section):
    """What is measured; left out, the reference server is started."""

    urls: tuple[str, ...] = Field(default=(), description='a list as ["http://HOST:PORT", "https://HOST:PORT"]')
    authority: Path | None = Field(default=None, description="the path of a private authority's certificate")
    verify: bool = Field(default=True, description="true or false")
    cert: Path | None = Field(default=None, description="the path of a client's certificate (PEM)")
    key: Path | None = Field(default=None, description="the path of its key (PEM); none where `cert` holds it")
    addresses: Addresses = Field(
        default=Addresses.ALL, description="addresses of a name that take load: `all`, `first`"
    )
    source_addresses: Annotated[int, Field(ge=1, le=MOST_SOURCES)] | None = Field(
        default=None, description=f"addresses that users of a target on this host come from, 1 to {MOST_SOURCES}"
    )
    agents: tuple[str, ...] = Field(default=(), description='a list as ["https://HOST:PORT", "ssh://HOST"]')


class ServerSection(ServiceChoices):
    """How the reference server runs, and which services it has."""

    threads: Whole | None = Field(default=None, description="a whole number, 1 or more")
    cores: Whole | None = Field(default=None, description="cores it may use, a whole number, 1 or more")

    @property
    def services(self) -> ServiceChoices:
        """Its services alone."""
        return ServiceChoices(**{name: getattr(self, name) for name in ServiceChoices.model_fields})


class DriverSection(Section):
    """How the driver runs."""

    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(default=1, description="a whole number, 0 or more")
    threads: Whole | None = Field(default=None, description="a whole number, 1 or more")
    lag_share_pct: Percent = Field(default=100 * LAG_SHARE, description="largest lag p99, in % of the shortest limit")
    cpu_pct: Percent = Field(default=DRIVER_CPU_PCT, description="largest share of a core a driver thread may use")
    foreign_cpu_pct: Percent = Field(default=FOREIGN_CPU_PCT, description="largest share of the host others may use")


@dataclass(frozen=True)
class Override:
    """A value of the command line or the environment that replaces one of a study file."""

    source: str
    """The option or variable as its user wrote it, such as `--service`."""
    place: tuple[str, ...]
    """Section and key; the section alone where all of it is replaced. `load` is the only workload's load."""
    value: object


class QuestionSection(Protocol):
    """A section that asks a question; which there are, the kinds of study say."""

    @property
    def varies_platform(self) -> bool:
        """Whether its runs differ in their platform."""


@dataclass(frozen=True)
class StudyFile:
    """A study file, read."""

    name: str
    together: bool
    loads: tuple[LoadEntry, ...]
    profile: ProfileSection
    target: TargetSection
    driver: DriverSection
    server: ServerSection
    station: Station | None
    nginx: FileServer | None
    virtual: bool
    machine: MachineSpec
    backend: MachineSpec
    questions: Mapping[str, QuestionSection]
    """What it asks, by kind of study."""
    roles: RoleSettings = field(default_factory=dict)
    """Settings of single machines, by role or by copy and role."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What its author wants to have disclosed, as it stands there."""

    @property
    def placement(self) -> Placement:
        """Where services run; `cores` of the server are its machine's CPUs."""
        cores = self.server.cores
        machine = self.machine.model_copy(update={"cpus": cores}) if cores else self.machine
        return Placement(machine, self.backend, self.roles)

    @property
    def is_loaded(self) -> bool:
        """Whether every workload has a load of its own."""
        return all(entry.is_loaded for entry in self.loads)


_SECTIONS = {
    "study",
    "load",
    "profile",
    "target",
    "driver",
    "server",
    "station",
    "nginx",
    "machine",
    "machines",
    "backend",
    "notes",
}


def read_study(file: Path, kinds: Mapping[str, type[Section]], overrides: Sequence[Override] = ()) -> StudyFile:
    """Reads a study file with the sections of these kinds of study; raises StudyError with every problem in it.

    The notes of the result disclose each override with the value that it replaced.
    """
    document = Document.read(file)
    document.only(_SECTIONS | set(kinds))
    replaced = {name: text for override in overrides for name, text in _apply(document, override)}
    content = document.content
    header = document.take(("study",), StudyHeader, content.get("study", {}))
    loads = _loads(document, file)
    profile = document.take(("profile",), ProfileSection, content.get("profile", {}))
    target = document.take(("target",), TargetSection, content.get("target", {}))
    driver = document.take(("driver",), DriverSection, content.get("driver", {}))
    server = document.take(("server",), ServerSection, content.get("server", {}))
    machine = document.take(("machine",), machine_kind(), content.get("machine", {}))
    backend = document.take(("backend",), machine_kind(), content.get("backend", {}))
    roles = _roles(document)
    station = document.take(("station",), Station, content["station"]) if "station" in content else None
    nginx = document.take(("nginx",), FileServer, content["nginx"]) if "nginx" in content else None
    asked: dict[str, Any] = {
        kind: document.take((kind,), section, content[kind]) for kind, section in kinds.items() if kind in content
    }
    target = _beside(file, target)
    _check_names(document, loads, profile, target)
    if not asked:
        _check_loaded(document, loads)
    _check_system(document, header)
    notes = _notes(document) | replaced
    questions = {kind: section for kind, section in asked.items() if section is not None}
    varied = any(section.varies_platform for section in questions.values())
    for name, declared in (("machine", None if varied else machine), ("backend", backend)):
        _check_machine(document, name, declared)
    document.finish()
    assert header and profile and target and driver and server and machine and backend
    name = header.name or file.stem
    return StudyFile(
        name=name,
        together=header.together,
        loads=loads,
        profile=profile,
        target=target,
        driver=driver,
        server=server,
        station=station,
        nginx=nginx,
        virtual=header.virtual,
        machine=machine,
        backend=backend,
        questions=questions,
        notes=notes,
        roles=roles,
    )


def _roles(document: Document) -> dict[str, dict[str, Any]]:
    """`[machines.db]` and `[machines.2.web]`: settings of single machines, by role or by copy and role."""
    given = document.content.get("machines", {})
    roles: dict[str, dict[str, Any]] = {}
    for name, table in given.items() if isinstance(given, dict) else ():
        if isinstance(table, dict):
            below = {key: value for key, value in table.items() if isinstance(value, dict)}
            roles |= {f"{name}.{key}": value for key, value in below.items()}
            own = {key: value for key, value in table.items() if key not in below}
            roles |= {name: own} if own else {}
    if not isinstance(given, dict) or not all(isinstance(table, dict) for table in given.values()):
        remedy = "Write [machines.db] and below it lines as cpus = 4."
        document.problem(("machines",), "is no table of machines by role", remedy)
    for selector, settings in roles.items():
        document.take(("machines", *selector.split(".")), machine_kind(), settings)
    return roles


def _apply(document: Document, override: Override) -> Iterator[tuple[str, str]]:
    """Replaces a value of the file; yields its name and a note of it where the file says something else."""
    section, *keys = override.place
    table = _table(document, override, section)
    for key in keys[:-1] if table is not None else ():
        table = table.setdefault(key, {}) if table is not None else None
    keys = keys[-1:]
    if not isinstance(table, dict):
        return
    for other in _INSTEAD.get(section, ()):
        document.content.pop(other, None)
    if keys:
        before = table.get(keys[0])
        for other in _INSTEAD.get(keys[0], ()):
            table.pop(other, None)
        table[keys[0]] = override.value
    else:
        before = table or None
        document.content[section] = override.value
    if before != override.value:
        stated = "none" if before is None else str(before)
        yield f"overridden: {'.'.join(override.place)}", f"{override.value} by {override.source}; in the file: {stated}"


_INSTEAD: Mapping[str, tuple[str, ...]] = {
    "sessions": ("rate", "trace"),
    "rate": ("sessions", "trace"),
    "trace": ("sessions", "rate"),
    "station": ("target", "server", "nginx"),
    "nginx": ("target", "server", "station"),
    "target": ("station", "nginx"),
}
"""Keys and sections that a replacement excludes."""


def _table(document: Document, override: Override, section: str) -> dict[str, Any] | None:
    """The table of a section, made where the file has none; None where it cannot be changed, which is noted."""
    table = document.content.get(section)
    if section == "load":
        loads = table if isinstance(table, list) else []
        if len(loads) == 1 and isinstance(loads[0], dict):
            return loads[0]
        message, action = (
            f"has {len(loads)} workloads, and {override.source} sets the load of one",
            "Write it in the file.",
        )
        document.problem((section,), message, action)
        return None
    if table is None:
        table = document.content[section] = {}
    if not isinstance(table, dict):
        return None
    return table


def _notes(document: Document) -> dict[str, str]:
    """`[notes]`: what no lab can collect by itself, as the settings of a switch or of a firmware."""
    given = document.content.get("notes", {})
    if not isinstance(given, dict):
        document.problem(("notes",), "is no table", 'Write [notes] and below it lines as switch = "...".')
        return {}
    for name, text in given.items():
        if isinstance(text, dict | list):
            document.problem(("notes", name), "is no text", f'Write it in a line: {name} = "...".')
    return {name: str(text) for name, text in given.items()}


def _loads(document: Document, file: Path) -> tuple[LoadEntry, ...]:
    entries = document.content.get("load", [])
    if not isinstance(entries, list) or not entries:
        document.problem(("load",), "there is no load", "Add [[load]] with a workload and its sessions.")
        entries = []
    taken: list[LoadEntry | None] = [
        document.take(("load", str(number)), LoadEntry, entry) for number, entry in enumerate(entries)
    ]
    return tuple(_from(file, load) for load in taken if load is not None)


def _check_loaded(document: Document, loads: tuple[LoadEntry, ...]) -> None:
    for number, entry in enumerate(loads):
        if not entry.is_loaded:
            document.problem(("load", str(number)), "has no load", "Add sessions, rate or trace.")


def _check_system(document: Document, header: StudyHeader | None) -> None:
    given = [name for name in ("target", "server", "station", "nginx") if name in document.content]
    alone = [name for name in given if name in ("station", "nginx")]
    if alone and len(given) > 1:
        other = next(name for name in given if name != alone[0])
        document.problem((alone[0],), f"stands beside [{other}]", "A study measures one system: keep one.")
    if header is not None and header.virtual and "station" not in given:
        document.problem(("study", "virtual"), "needs a modelled server", "Add a [station].")


def _check_machine(document: Document, name: str, machine: MachineSpec | None) -> None:
    if machine is None or name not in document.content:
        return
    try:
        refuse_foreign(machine, document.content[name])
    except UsageError as error:
        document.problem((name,), "has what its platform has not", str(error))


def _from(file: Path, load: LoadEntry) -> LoadEntry:
    """A workload's folder is looked for beside the study file first; a trace's path counts from there."""
    beside = file.parent / load.workload
    changes: dict[str, object] = {"workload": str(beside)} if beside.is_dir() else {}
    if load.trace is not None:
        changes["trace"] = file.parent / load.trace
    return load.model_copy(update=changes)


def _beside(file: Path, target: TargetSection | None) -> TargetSection | None:
    """A certificate's path counts from the study file."""
    if target is None or target.authority is None:
        return target
    return target.model_copy(update={"authority": file.parent / target.authority})


def _check_names(
    document: Document, loads: tuple[LoadEntry, ...], profile: ProfileSection | None, target: TargetSection | None
) -> None:
    for number, entry in enumerate(loads):
        try:
            entry.load()
        except UsageError as error:
            document.problem(("load", str(number)), "has no load", str(error))
    if profile is not None and profile.name not in PROFILES:
        remedy = suggest(profile.name, set(PROFILES))
        document.problem(("profile", "name"), f"unknown profile `{profile.name}`", remedy)
    names = [load.workload for load in loads]
    for name in sorted({name for name in names if names.count(name) > 1}):
        document.problem(("load",), f"`{name}` is loaded twice", "Give every workload one [[load]].")
    if target is not None:
        try:
            Target.parse(list(target.urls))
        except UsageError as error:
            document.problem(("target", "urls"), "are no addresses", str(error))
        files = {"authority": target.authority, "cert": target.cert, "key": target.key}
        for name, file in files.items():
            if file is not None and not file.is_file():
                document.problem(("target", name), f"{file} is no file", "Give the path of a PEM file.")
