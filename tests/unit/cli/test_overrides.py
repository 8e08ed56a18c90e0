"""Beside a study file, every option of the command line either replaces what the file says, or is refused."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import typer.main

from loadstone.cli import run, study
from loadstone.cli.exits import Exit
from loadstone.cli.main import build_program, main
from loadstone.cli.overrides import list_overrides
from loadstone.cli.section_options import OptionPlace, PlacedOption
from loadstone.model.choices import ServiceChoices
from loadstone.model.errors import UsageError
from loadstone.model.fault import FaultKind, PlannedFault
from loadstone.model.load import Population
from loadstone.model.system import Clock, Reference
from loadstone.model.workload import WEB_NEEDS
from loadstone.run.spec import RunSpec
from loadstone.study.declaration import Declaration
from loadstone.study.registry import list_study_kinds
from loadstone.study.resolve import resolve
from loadstone.telemetry import otlp
from loadstone.testbed.machines import list_machines

FILE = """
[study]
name = "file"
[[load]]
workload = "banking"
sessions = 10
[profile]
name = "standard"
steady_s = 77
[driver]
seed = 5
threads = 1
[server]
service = "apache-php"
threads = 2
[machine]
cpus = 1
[search]
start = 10
"""


@dataclass
class Call:
    """What a command was about to run."""

    spec: RunSpec
    listeners: Sequence[object]
    has_report: bool


@pytest.fixture(autouse=True)
def quiet_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit on other load is the usual one."""
    monkeypatch.delenv("LOADSTONE_FOREIGN_CPU", raising=False)


@pytest.fixture
def outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., RunSpec]:
    """Returns the specification of a run of the file with options, instead of running it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(FILE)
    specs: list[Any] = []

    def keep(spec: Any, *_: object) -> Exit:
        specs.append(spec)
        return Exit.PASS

    monkeypatch.setattr(run, "_carry_out", keep)
    monkeypatch.setattr(study, "_carry_out", keep)

    def call(*options: str, command: str = "run") -> Any:
        with pytest.raises(SystemExit) as end:
            main([command, "study.toml", *options])
        assert end.value.code == 0
        return specs[-1]

    return call


SAMPLES: dict[str, tuple[str, ...]] = {
    "together": (),
    "virtual": ("--station", "workers=2"),
    "sessions": ("30",),
    "rate": ("30",),
    "arrivals": ("bursty:25", "--rate", "30"),
    "trace": ("arrivals.txt",),
    "scale": ("published",),
    "most_sessions": ("40", "--rate", "30"),
    "profile": ("demo",),
    "ramp_up": ("1.5",),
    "warm_up": ("2.5",),
    "steady": ("3.5",),
    "ramp_down": ("4.5",),
    "iterations": ("2",),
    "seed": ("9",),
    "threads": ("2",),
    "foreign_cpu": ("33",),
    "target": ("http://127.0.0.1:8080",),
    "agent": ("https://127.0.0.1:7070",),
    "authority": ("pem", "--target", "http://127.0.0.1:8080"),
    "cert": ("pem", "--target", "http://127.0.0.1:8080"),
    "key": ("key.pem", "--cert", "pem", "--target", "http://127.0.0.1:8080"),
    "insecure": ("--target", "http://127.0.0.1:8080"),
    "addresses": ("first", "--target", "http://127.0.0.1:8080"),
    "source_addresses": ("3", "--target", "http://127.0.0.1:8080"),
    "station": ("workers=2,service=0.004",),
    "nginx": ("files=banking",),
    "server_threads": ("3",),
    "server_cores": ("2",),
    "service": ("nginx-php",),
    "tuning": ("tuned",),
    "mechanism": ("static",),
    "backend_service": ("nginx-responder",),
    "database": ("postgresql",),
    "balancer": ("haproxy",),
    "cache": ("embedded",),
    "store": ("nfs",),
    "imap": ("dovecot",),
    "set": ("php.children=50",),
    "platform": ("vm",),
    "cold": ("--platform", "vm"),
    "machine": ("memory=700", "--platform", "vm"),
    "backend": ("memory=300,platform=vm",),
    "setups": ("native",),
    "full": (),
    "power": ("server=rapl",),
    "kill": ("primary",),
    "freeze": ("secondary",),
    "cut": ("channel",),
    "fill": ("buffer",),
    "lose": ("store",),
    "on": ("db",),
    "at": ("5",),
    "trials": ("3",),
    "over": ("sessions=5,7",),
    "rounds": ("4",),
    "runs": ("7",),
    "until": ("mean +-10%",),
    "most_runs": ("99",),
    "most_rounds": ("29",),
    "workers": ("3",),
    "load": ("rate",),
    "start": ("33",),
    "width": ("3",),
    "below_cpu": ("60",),
    "verify": ("5",),
    "most": ("900",),
    "a": ("server.threads=3",),
    "b": ("server.threads=4",),
    "pairs": ("8",),
    "figure": ("response_p95",),
    "duet": (),
    "cpus": ("2",),
    "check": ("80",),
    "server": ("nginx",),
    "cores": ("2",),
    "clients": ("60",),
    "doublings": ("3",),
    "open": ("40",),
    "quick": (),
}
"""Words of each option that goes into a table of the file, with others that it needs; none are what the file says."""
BY_COMMAND: dict[tuple[str, str], tuple[str, ...]] = {
    ("compare", "at"): ("50,60",),
    ("compare", "platform"): ("process,vm",),
    ("compare", "machine"): ("memory=700", "--machine", "platform=vm"),
    ("compare", "cold"): ("--machine", "platform=vm"),
    ("predict", "at"): ("30,60",),
    ("predict", "load"): ("rate",),
    ("suite", "tuning"): ("tuned",),
}
"""Words of options that other kinds of study have by the same name."""
NAMED = {"names", "workload", "fleet", "fresh"}
"""What names the file, where its run takes place, and whether a study resumes."""
OF_A_CALL: dict[str, tuple[list[str], Callable[[Any], object], object]] = {
    "name": (["--name", "new"], lambda call: call.spec.name, "new"),
    "results": (["--results", "there"], lambda call: call.spec.results, Path("there")),
    "tag": (["--tag", "release=1.4"], lambda call: call.spec.notes["release"], "1.4"),
    "report": (["--no-report"], lambda call: call.has_report, False),
    "drivers": (["--drivers", "3"], lambda call: call.spec.joining.drivers, 2),
    "join_at": (
        ["--drivers", "3", "--join-at", "[::1]:7799"],
        lambda call: call.spec.joining.address,
        "[::1]:7799",
    ),
    "prometheus": (["--prometheus", "127.0.0.1:0"], lambda call: len(call.listeners), 1),
    "fault": (
        ["--fault", "db:kill-primary@3"],
        lambda call: call.spec.fault,
        PlannedFault(FaultKind.KILL_PRIMARY, 3, "db"),
    ),
    "otlp": (["--otlp", "http://127.0.0.1:9"], lambda call: len(call.listeners), 1),
}
"""Options that set nothing which a file could say, with what they set instead."""
QUESTIONS = {
    "answer": "",
    "failover": 'kill = "secondary"',
    "sweep": "over = { sessions = [1, 2] }",
    "peaks": "over = { platform = ['process', 'vm'] }",
    "predict": "at = [20, 40]",
    "repeat": "",
    "search": "",
    "compare": "",
    "protection": "",
    "suite": "",
}
COMMANDS = ("run", *QUESTIONS)
PROGRAM: Any = typer.main.get_command(build_program())


def options_of(command: str) -> dict[str, str]:
    """The options of a command, as they are written, by the names that they are passed by."""
    parameters = PROGRAM.commands[command].params
    return {parameter.name: parameter.opts[0] for parameter in parameters if parameter.name != "help"}


def own_options(command: str) -> dict[str, str]:
    """The options of a command that `run` and `search`, which stands for all studies, do not have."""
    shared = {} if command in ("run", "search") else options_of("search")
    own = {"at", "platform", "tuning", "load"} if command != "run" else set()
    return {name: option for name, option in options_of(command).items() if name not in shared or name in own}


EVERY_OPTION = [
    (command, name, option)
    for command in COMMANDS
    for name, option in own_options(command).items()
    if name not in NAMED and name not in OF_A_CALL
]


def test_every_option_has_words_to_be_tried_with() -> None:
    assert {name for _, name, _ in EVERY_OPTION} == set(SAMPLES)
    assert {name for name, kind in list_study_kinds().items() if kind.help} == set(QUESTIONS)


def declare(folder: Path, command: str, option: str = "") -> None:
    """Writes a study file with the section of a command, and the files that options name."""
    usual = "bookstore" if option == "scale" else "banking"
    workload = "static-files" if command == "suite" else usual
    question = f"[{command}]\n{QUESTIONS.get(command, '')}\n" if command != "run" else ""
    load = "" if command == "suite" else "sessions = 10"
    (folder / "study.toml").write_text(
        f'[[load]]\nworkload = "{workload}"\n{load}\n[driver]\nseed = 5\nthreads = 1\n{question}'
    )
    (folder / "arrivals.txt").write_text("0.5\n")
    for name in ("pem", "key.pem"):
        (folder / name).write_text("-----BEGIN CERTIFICATE-----\n")


def read(command: str, *words: str) -> Declaration:
    """What `loadstone COMMAND study.toml WORDS` declares."""
    built: Any = PROGRAM.commands[command].main(["study.toml", *words], prog_name=command, standalone_mode=False)
    declared: Declaration = built.read_file(Path("study.toml"))
    return declared


def is_switch(command: str, name: str) -> bool:
    """Whether an option has no value."""
    return any(parameter.is_flag for parameter in PROGRAM.commands[command].params if parameter.name == name)


def in_force(declared: Declaration) -> tuple[RunSpec, object]:
    """What is carried out: the resolved run, and the questions."""
    return replace(resolve(declared, Path("results")), notes={}), declared.questions


@pytest.mark.parametrize(("command", "name", "option"), EVERY_OPTION)
def test_each_option_beside_a_file_is_in_force_and_disclosed(
    command: str, name: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    declare(tmp_path, command, name)
    words = BY_COMMAND.get((command, name), SAMPLES[name])
    declared = read(command, option, *words)
    overridden = [text for key, text in declared.notes.items() if key.startswith("overridden: ")]
    assert any(f" by {option}; in the file: " in text for text in overridden), declared.notes
    others = words if is_switch(command, name) else words[1:]
    assert in_force(declared) != in_force(read(command, *others))


def test_an_option_without_a_place_is_refused_beside_a_file() -> None:
    context = PROGRAM.commands["run"].make_context("run", ["study.toml", "--name", "new"])
    assert list_overrides(context, [PlacedOption("seed", 1, None), PlacedOption("name", "new", OptionPlace())]) == []
    with pytest.raises(UsageError, match="--name cannot be combined with a study file"):
        list_overrides(context, [PlacedOption("name", "new", None)])


@pytest.mark.parametrize("name", OF_A_CALL)
def test_options_of_a_call_are_in_force_beside_a_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    declare(tmp_path, "run")
    calls: list[Call] = []

    def keep(spec: RunSpec, listeners: Sequence[object], has_report: bool) -> Exit:
        calls.append(Call(spec, listeners, has_report))
        return Exit.PASS

    monkeypatch.setattr(run, "_carry_out", keep)
    monkeypatch.setattr(otlp, "push_otlp", lambda *_: nullcontext())
    options, figure, expected = OF_A_CALL[name]
    with pytest.raises(SystemExit):
        main(["run", "study.toml", *options])
    assert figure(calls[0]) == expected


REPLACED: dict[str, tuple[list[str], Callable[[Any], object], object]] = {
    "sessions": (["--sessions", "30"], lambda spec: spec.parts[0].load, Population(30)),
    "seed": (["--seed", "9"], lambda spec: spec.seed, 9),
    "threads": (["--threads", "2"], lambda spec: spec.threads, 2),
    "server threads": (["--server-threads", "1"], lambda spec: spec.system.threads, 1),
    "profile and its lengths": (
        ["--profile", "demo"],
        lambda spec: (spec.profile.name, spec.profile.phases.steady_s),
        ("demo", 9),
    ),
    "length": (
        ["--steady", "12"],
        lambda spec: (spec.profile.name, spec.profile.phases.steady_s),
        ("standard (changed)", 12),
    ),
    "platform": (["--platform", "vm"], lambda spec: spec.placement.machine.platform, "vm"),
    "one setting of a machine": (
        ["--machine", "platform=vm,memory=600"],
        lambda spec: (spec.placement.machine.cpus, spec.placement.machine.memory),
        (1, 600),
    ),
    "system": (["--station", "workers=2,service=0.004"], lambda spec: spec.system.workers, 2),
    "clock": (["--station", "workers=2,service=0.004", "--virtual"], lambda spec: spec.clock, Clock.VIRTUAL),
}


@pytest.mark.parametrize("name", REPLACED)
def test_an_option_replaces_what_the_file_says_and_the_result_discloses_it(
    name: str, outcome: Callable[..., RunSpec]
) -> None:
    options, figure, expected = REPLACED[name]
    spec = outcome(*options)
    assert figure(spec) == expected
    assert any(key.startswith("overridden: ") and options[0] in text for key, text in spec.notes.items())


def test_settings_of_single_machines_beside_a_file_are_in_force_and_disclosed(
    outcome: Callable[..., RunSpec], tmp_path: Path
) -> None:
    with (tmp_path / "study.toml").open("a") as file:
        file.write('[machines.web]\nmemory = 300\n[machines.1.web]\npin = "0"\n')
    spec = outcome("--machine", "platform=vm,web.memory=700", "--machine", "backend.pin=1")
    assert spec.placement.roles == {"web": {"memory": "700"}, "1.web": {"pin": "0"}, "backend": {"pin": "1"}}
    changed = outcome("--machine", "platform=vm,1.web.cpus=1,database.pin=1")
    assert changed.placement.roles["1.web"] == {"pin": "0", "cpus": "1"}
    assert changed.placement.roles["db"] == {"pin": "1"}
    assert spec.notes["overridden: machines.web.memory"] == "700 by --machine; in the file: 300"
    assert list_machines(spec.system, spec.placement, WEB_NEEDS)["web"].memory == 700  # type: ignore[arg-type]


CHOSEN = {
    "service": "nginx-php",
    "tuning": "tuned",
    "mechanism": "static",
    "backend_service": "nginx-responder",
    "database": "postgresql",
    "balancer": "haproxy",
    "cache": "embedded",
    "store": "nfs",
    "imap": "dovecot",
}


@pytest.mark.parametrize("name", ServiceChoices.model_fields)
def test_each_choice_of_a_service_beside_a_file_is_in_force_and_disclosed(
    name: str, outcome: Callable[..., RunSpec]
) -> None:
    option = f"--{name.replace('_', '-')}"
    spec = outcome(option, CHOSEN[name])
    assert isinstance(spec.system, Reference)
    assert getattr(spec.system.services, name) == CHOSEN[name]
    assert spec.notes[f"overridden: server.{name}"].startswith(f"{CHOSEN[name]} by {option}; in the file: ")


def test_a_note_names_the_option_and_what_the_file_says(outcome: Callable[..., RunSpec]) -> None:
    spec = outcome("--service", "nginx-php")
    assert spec.notes == {"overridden: server.service": "nginx-php by --service; in the file: apache-php"}
    assert outcome("--service", "apache-php").notes == {}


def test_the_environment_replaces_and_the_command_line_comes_first(
    outcome: Callable[..., RunSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADSTONE_RUN_SEED", "6")
    assert outcome().seed == 6
    assert outcome().notes == {"overridden: driver.seed": "6 by LOADSTONE_RUN_SEED; in the file: 5"}
    assert outcome("--seed", "7").seed == 7


def test_a_question_of_the_file_is_replaced(outcome: Callable[..., Any]) -> None:
    spec = outcome("--start", "33", command="search")
    assert spec.declaration["start"] == 33


def test_a_fault_applies_beside_the_file_of_a_run(outcome: Callable[..., RunSpec]) -> None:
    assert outcome("--fault", "db:kill-primary@3").fault == PlannedFault(FaultKind.KILL_PRIMARY, 3, "db")
    assert outcome().fault is None


def test_the_load_of_several_workloads_is_not_replaced_by_one(
    outcome: Callable[..., RunSpec], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.toml").write_text(FILE + '[[load]]\nworkload = "support"\nsessions = 4\n')
    with pytest.raises(SystemExit) as end:
        main(["run", "study.toml", "--sessions", "5"])
    assert end.value.code == 2
    assert "2 workloads, and --sessions sets the load of one" in " ".join(capsys.readouterr().err.split())


URL = "http://127.0.0.1:8080"
IDLE: dict[str, tuple[str, str]] = {
    "arrivals of a closed load": ("--sessions 5 --arrivals bursty:10", "--arrivals applies to --rate"),
    "a bound of a closed load": ("--sessions 5 --most-sessions 7", "--most-sessions applies to --rate and --trace"),
    "a service besides a station": ("--rate 5 --station workers=2 --service nginx-php", "not to --station"),
    "threads besides a target": (f"--rate 5 --target {URL} --server-threads 2", "--server-threads applies to services"),
    "certificates without a target": ("--rate 5 --insecure", "--insecure applies to --target"),
    "two systems": (f"--rate 5 --target {URL} --station workers=2", "Use one of --target, --station and --nginx"),
    "virtual time without a station": ("--rate 5 --virtual", "--virtual requires a modelled server"),
    "no load": ("--seed 2", "Set exactly one load"),
    "two loads": ("--sessions 2 --rate 5", "Set exactly one load"),
}


@pytest.mark.parametrize("case", IDLE)
def test_an_option_that_would_be_idle_is_refused(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, reason = IDLE[case]
    with pytest.raises(SystemExit) as end:
        main(["run", "static", *words.split()])
    assert end.value.code == 2
    assert reason in " ".join(capsys.readouterr().err.split())


def test_arrivals_of_a_study_that_varies_sessions_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["search", "static", "--arrivals", "bursty:10", "--results", str(tmp_path)])
    assert end.value.code == 2
    assert "this study varies sessions. Use --load rate." in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("words", [("--sessions", "5", "--rate", "6"), ("--target", URL, "--station", "workers=2")])
def test_options_that_exclude_each_other_are_refused_beside_a_file(
    words: tuple[str, ...], outcome: Callable[..., RunSpec], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["run", "study.toml", *words])
    assert end.value.code == 2
    assert f"{words[0]} cannot be combined with {words[2]}" in " ".join(capsys.readouterr().err.split())


def test_a_value_that_another_excludes_is_disclosed(outcome: Callable[..., RunSpec]) -> None:
    notes = outcome("--rate", "30").notes
    assert notes["overridden: load.sessions"] == "none by --rate; in the file: 10"
    assert notes["overridden: load.rate"] == "30 by --rate; in the file: none"


def test_a_setting_of_a_program_replaces_that_of_the_file_alone(tmp_path: Path, outcome: Callable[..., Any]) -> None:
    file = tmp_path / "study.toml"
    file.write_text(file.read_text() + "[set.php]\nchildren = 5\nwaiting = 100\n[set.apache.event]\nmax = 300\n")
    spec = outcome("--set", "php.children=50", "--set", "apache.event.start=3")
    assert spec.system.settings == {
        "php": {"children": "50", "waiting": 100},
        "apache.event": {"max": 300, "start": "3"},
    }
    assert spec.notes["overridden: set.php.children"] == "50 by --set; in the file: 5"
    assert spec.notes["overridden: set.apache.event.start"] == "3 by --set; in the file: none"
    assert spec.system.disclose()["set"] == (
        "php.waiting=100, php.children=50, apache.event.max=300, apache.event.start=3"
    )


@pytest.mark.parametrize("text", ["set = 5\n", "[set]\nchildren = 50\n"])
def test_settings_without_a_program_are_refused(
    text: str, tmp_path: Path, outcome: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(text + file.read_text() if text.startswith("set =") else file.read_text() + text)
    with pytest.raises(SystemExit) as end:
        main(["run", "study.toml"])
    assert end.value.code == Exit.WRONG_INPUT
    assert "set: is not a table of settings by program. Write [set.php]" in " ".join(capsys.readouterr().err.split())
