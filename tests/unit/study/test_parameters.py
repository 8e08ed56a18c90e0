"""What a study varies, and study files that ask."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from loadstone.model.errors import StudyError, UsageError
from loadstone.model.fault import FaultKind, PlannedFault
from loadstone.model.load import ArrivalProcess, Arrivals, Population, ProcessKind
from loadstone.model.machine import Placement
from loadstone.model.profile import PROFILES
from loadstone.model.system import Reference, Station
from loadstone.model.target import Addresses, Endpoint, Target
from loadstone.platforms.registry import read_machine
from loadstone.run.deployment import Deployment
from loadstone.run.manifest import is_shipped
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.study.base import WorkloadRuns
from loadstone.study.changes import MachineGrid
from loadstone.study.file import read_study
from loadstone.study.kinds.search.section import SearchSection
from loadstone.study.kinds.sweep.section import SweepSection
from loadstone.study.parameters import apply, get_parameter
from loadstone.study.registry import list_file_sections
from loadstone.study.resolve import resolve
from loadstone.study.settings import (
    StoredSettings,
    parse_points,
    parse_settings,
    read_points,
    read_settings,
    write_value,
)
from loadstone.workloads import load

SPEC = RunSpec(
    "test", (WorkloadLoad(load("banking"), Population(1)),), PROFILES["demo"], 1, 1, Reference(1), Path("results")
)
STATION = RunSpec(
    "test", (WorkloadLoad(load("static"), Population(1)),), PROFILES["demo"], 1, 1, Station(), Path("results")
)
BOOKS = replace(SPEC, parts=(WorkloadLoad(load("bookstore"), Population(4)),))


def test_settings_change_the_specification_they_are_applied_to() -> None:
    spec = apply(SPEC, {"sessions": "50", "server.cores": "2", "line": "50000", "pause": "2", "pacing": "cycle"})
    (part,) = spec.parts
    assert part.load == Population(50)
    assert spec.system == Reference(2)
    assert spec.placement.machine.cpus == 2
    assert part.workload.connections.page_bytes_per_s == 50000
    assert part.workload.connections.embedded_bytes_per_s == 50000
    assert (part.workload.pacing.mean_s, part.workload.pacing.kind) == (2, "cycle")
    assert not is_shipped(part.workload)
    assert is_shipped(SPEC.parts[0].workload)


def test_each_platform_of_a_study_has_the_settings_of_the_front_that_fit_it() -> None:
    roles = {"web": {"cpus": 3, "memory": 900}, "backend": {"pin": "0"}}
    spec = replace(SPEC, placement=Placement(roles=roles))
    native = apply(spec, {"platform": "process"})
    assert native.placement.roles == {"web": {"cpus": 3}, "backend": {"pin": "0"}}
    virtual = apply(spec, {"platform": "vm"})
    assert virtual.placement.roles == roles
    for changed in (native, virtual):
        assert isinstance(changed.system, Reference)
        assert changed.system.threads == 3


@pytest.mark.parametrize(
    ("name", "selector"), [("machine.cpus", "web"), ("server.cores", "1.web"), ("backend.cpus", "backend")]
)
def test_a_setting_that_a_role_has_is_not_varied(name: str, selector: str) -> None:
    spec = replace(SPEC, placement=Placement(roles={selector: {"cpus": 2}}))
    with pytest.raises(UsageError, match=rf"cannot be varied: `{selector}.cpus` is set and has priority"):
        apply(spec, {name: "4"})
    other = "backend.cpus" if selector != "backend" else "machine.cpus"
    assert apply(spec, {other: "4"}).placement.roles == spec.placement.roles


def planned_cpus(spec: RunSpec) -> dict[str, int | None]:
    """CPUs of each machine of a run, by its name."""
    return {str(machine.name): machine.spec.cpus for machine in Deployment(spec).plan_machines()}


def test_the_machine_of_a_role_or_of_one_copy_is_varied_alone() -> None:
    placed = replace(BOOKS, placement=Placement(read_machine("platform=vm,count=2,cpus=2")))
    varied = apply(placed, {"machine.db.cpus": "4", "machine.2.app.cpus": "3"})
    assert planned_cpus(varied) == {"app-1": 2, "app-2": 3, "database": 4}
    assert varied.system == placed.system, "the threads of the front are as before"
    assert apply(varied, {"machine.db.cpus": "1"}).placement.roles["db"] == {"cpus": 1}
    assert get_parameter("machine.database.cpus").name == "machine.db.cpus"


def test_cpus_of_the_fronts_role_bring_as_many_threads() -> None:
    changed = apply(SPEC, {"machine.web.cpus": "3"})
    assert changed.system == Reference(3)
    assert planned_cpus(changed) == {"web": 3, "backend": None}


def test_a_role_whose_copy_has_the_setting_is_not_varied() -> None:
    spec = replace(SPEC, placement=Placement(roles={"1.web": {"cpus": 2}}))
    with pytest.raises(UsageError, match=r"`machine.web.cpus` cannot be varied: `1.web.cpus` is set"):
        apply(spec, {"machine.web.cpus": "4"})


def test_unknown_machines_and_settings_are_named() -> None:
    with pytest.raises(UsageError, match=r"no parameter `machine.db.cpu`. Did you mean `machine.db.cpus`"):
        get_parameter("machine.db.cpu")
    with pytest.raises(UsageError, match="Expected: "):
        get_parameter("machine.db.cpus").read("0")
    with pytest.raises(UsageError, match=r"There is no machine `db` in this system\. There are: web, backend"):
        Deployment(apply(SPEC, {"machine.db.cpus": "2"})).check()


def test_rates_stations_and_targets_are_settings_as_well() -> None:
    assert apply(SPEC, {"rate": "12.5"}).parts[0].load == Arrivals((12.5,))
    assert apply(STATION, {"station.workers": "4", "station.queue": "9"}).system == Station(workers=4, queue=9)
    changed = apply(SPEC, {"target": "http://127.0.0.1:8080+https://127.0.0.1:8443"}).system
    assert changed == Target(Endpoint("127.0.0.1", 8080), Endpoint("127.0.0.1", 8443))


def test_each_table_has_parameters_that_change_the_run() -> None:
    spec = apply(
        SPEC,
        {
            "rate": "40",
            "arrivals": "bursty:25",
            "most_sessions": "70",
            "profile": "quick",
            "profile.steady_s": "12",
            "profile.iterations": "2",
            "driver.threads": "3",
            "server.threads": "4",
            "machines": "2x3",
            "balancer": "none",
            "fault": "kill-primary@2.5",
        },
    )
    load = spec.parts[0].load
    assert isinstance(load, Arrivals)
    assert (load.rates, str(load.process), load.most_sessions) == ((40,), "bursty, index of dispersion 25", 70)
    assert (spec.profile.phases.steady_s, spec.profile.iterations, spec.profile.name) == (12, 2, "quick (changed) x 2")
    assert (spec.threads, spec.placement.machine.count, spec.placement.machine.cpus) == (3, 2, 3)
    assert spec.system == Reference(3), "as many threads as CPUs, since the machine is set after the threads"
    assert spec.fault == PlannedFault(FaultKind.KILL_PRIMARY, 2.5)
    settings = {"target": "http://127.0.0.1:8080", "target.addresses": "first", "target.source_addresses": 4}
    assert apply(SPEC, settings).system == Target(
        Endpoint("127.0.0.1", 8080), None, addresses=Addresses.FIRST, source_addresses=4
    )


WRITTEN = {
    "sessions": ("100", 100),
    "rate": ("1234.5678", 1234.5678),
    "arrivals": ("bursty:25", ArrivalProcess(ProcessKind.BURSTY, 25)),
    "tls": ("false", False),
    "fault": ("kill-primary@12.5", PlannedFault(FaultKind.KILL_PRIMARY, 12.5)),
    "machines": ("2x4", MachineGrid(2, 4)),
    "target": ("http://a:80+https://a:443", ("http://a:80", "https://a:443")),
    "database": ("postgresql", "postgresql"),
    "machine.cpus": ("2", 2),
    "machine.db.cpus": ("2", 2),
    "machine.2.web.pin": ("4-7", "4-7"),
    "station.service": ("0.004", 0.004),
    "pause": ("1", 1.0),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_setting_is_a_value_in_memory_and_its_text_in_a_stored_answer(name: str) -> None:
    text, value = WRITTEN[name]
    assert get_parameter(name).read(text) == value
    assert write_value(get_parameter(name).read(text)) == text
    assert get_parameter(name).read(value) == value
    stored: TypeAdapter[Any] = TypeAdapter(StoredSettings)
    assert stored.dump_json({name: value}).decode() == json.dumps({name: text}, separators=(",", ":"))
    assert stored.validate_json(stored.dump_json({name: value})) == {name: value}


def test_a_stored_setting_that_this_version_does_not_know_stays_a_text() -> None:
    stored: TypeAdapter[Any] = TypeAdapter(StoredSettings)
    kept = {"flux.capacitor": "on", "sessions": "a few", "rate": "5"}
    assert stored.validate_python(kept) == {"flux.capacitor": "on", "sessions": "a few", "rate": 5.0}


def test_points_of_a_file_and_of_the_command_line_are_the_same_values() -> None:
    assert parse_points("sessions", (50, "100", 100.0)) == (50, 100)
    assert parse_settings({"server.threads": 2, "tls": "true"}) == {"server.threads": 2, "tls": True}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sesions": "5"}, "Did you mean `sessions`"),
        ({"sessions": "0"}, "`0` is not valid for `sessions`. Expected: simultaneous sessions of each workload, 1 to"),
        ({"sessions": "many"}, "`many` is not valid for `sessions`. Expected: simultaneous sessions"),
        ({"station.workers": "2"}, "Measure one with --station"),
        ({"line": "fast"}, "`fast` is not valid for `line`. Expected: bytes per second of each user's line, 1 or more"),
        ({"rate": "0"}, "`0` is not valid for `rate`. Expected: sessions that arrive each second, above 0"),
        ({"machines": "2x"}, "`2x` is not a valid number of machines and CPUs. Use two numbers"),
        ({"database": "oracle"}, "There is no database `oracle`"),
        ({"target": "shop"}, "`shop` is not a valid target"),
        ({"arrivals": "constant"}, "applies to open load, but this study has 1 session. Use --rate"),
        ({"target.addresses": "first"}, "applies to external systems. Name one with --target"),
        ({"pacing": "sometimes"}, "`think`"),
    ],
)
def test_settings_that_do_not_fit_are_refused_with_a_remedy(settings: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        apply(SPEC, settings)


def test_a_stations_settings_are_checked() -> None:
    with pytest.raises(UsageError, match="Did you mean `workers`"):
        Station.parse("worker=2")
    with pytest.raises(UsageError, match="mean service time"):
        Station.parse("service=-1")
    with pytest.raises(UsageError, match="shorter"):
        Station.parse("stall=2,stall_every=1")
    with pytest.raises(UsageError, match="to the reference server"):
        apply(STATION, {"server.threads": "2"})


def test_points_and_settings_are_read_from_words() -> None:
    assert read_points("sessions=50,100,100") == ("sessions", ("50", "100"))
    assert read_settings("server.threads=2,sessions=9") == {"server.threads": "2", "sessions": "9"}
    for text in ("", "sessions", "=5"):
        with pytest.raises(UsageError):
            read_settings(text)


def write(folder: Path, text: str) -> Path:
    file = folder / "study.toml"
    file.write_text(text)
    return file


def test_a_study_file_asks_its_questions(tmp_path: Path) -> None:
    text = """
[study]
virtual = true
[[load]]
workload = "static"
[station]
workers = 4
service = 0.004
spread = "log-normal"
cv = 0.5
[search]
load = "rate"
start = 100
[sweep]
over = { rate = [100, 200], "station.workers" = [2, 4] }
[notes]
switch = "one hop"
jumbo = false
"""
    study = read_study(write(tmp_path, text), list_file_sections())
    assert study.is_virtual
    assert study.station is not None
    assert study.station.cv == 0.5
    assert study.questions["search"] == SearchSection(load="rate", start=100)
    assert study.questions["sweep"] == SweepSection(over={"rate": (100, 200), "station.workers": (2, 4)})
    assert not study.is_loaded
    assert study.notes == {"switch": "one hop", "jumbo": "False"}
    base = WorkloadRuns(resolve(study, tmp_path))
    assert base.declare().spec.notes == study.notes
    assert "notes" not in base.identify()
    assert study.loads[0].load() == Arrivals(())


def test_everything_wrong_in_a_study_file_is_said_at_once(tmp_path: Path) -> None:
    text = """
[study]
virtual = true
[[load]]
workload = "static"
[server]
thread = 2
[serch]
[search]
width_pct = 0
load = "users"
"""
    with pytest.raises(StudyError) as refused:
        read_study(write(tmp_path, text), list_file_sections())
    said = str(refused.value)
    for words in ("Did you mean `search`", "Did you mean `threads`", "width_pct", "`sessions` or `rate`", "[station]"):
        assert words in said


def test_a_file_without_question_needs_its_loads(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="Add sessions, rate or trace"):
        read_study(write(tmp_path, '[[load]]\nworkload = "static"\n'), list_file_sections())
    with pytest.raises(StudyError, match="Keep one"):
        read_study(
            write(tmp_path, '[[load]]\nworkload = "static"\nsessions = 1\n[station]\n[server]\nthreads = 1\n'),
            list_file_sections(),
        )
