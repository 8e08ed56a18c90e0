"""Beside a study file, every option of the command line either replaces what the file says, or is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from loadstone.cli import run, study
from loadstone.cli.exits import Exit
from loadstone.cli.main import main, whole_program
from loadstone.cli.overrides import MACHINES, OPTIONS_WITH_A_FILE, PLACES, SECTIONS
from loadstone.cli.section_options import flags_of
from loadstone.model.choices import ServiceChoices
from loadstone.model.load import Population
from loadstone.model.system import Clock, Reference
from loadstone.model.workload import WEB_NEEDS
from loadstone.run.spec import RunSpec
from loadstone.study.registry import study_kinds
from loadstone.testbed.machines import machines_of

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


def options_of(command: str) -> set[str]:
    parsed: Any = typer.main.get_command(whole_program())
    parameters = parsed.commands[command].params
    return {parameter.name for parameter in parameters} - {"help"}


@pytest.mark.parametrize("command", ["run", "search", "compare", "failover"])
def test_every_option_has_a_place_in_the_file_or_applies_beside_it(command: str) -> None:
    places = {*PLACES, *SECTIONS, *MACHINES, *OPTIONS_WITH_A_FILE, "insecure"}
    if command != "run":
        places |= {name for name, _, _ in flags_of(study_kinds()[command].section)}
    assert options_of(command) <= places


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
    assert spec.notes["overridden: machines.web.memory"] == "700 by --machine; in the file: 300"
    assert machines_of(spec.system, spec.placement, WEB_NEEDS)["web"].memory == 700  # type: ignore[arg-type]


CHOSEN = {
    "service": "nginx-php",
    "tuning": "tuned",
    "mechanism": "static",
    "backend_service": "nginx-responder",
    "database": "postgresql",
    "balancer": "haproxy",
    "cache": "embedded",
    "store": "nfs",
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


def test_the_load_of_several_workloads_is_not_replaced_by_one(
    outcome: Callable[..., RunSpec], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "study.toml").write_text(FILE + '[[load]]\nworkload = "support"\nsessions = 4\n')
    with pytest.raises(SystemExit) as end:
        main(["run", "study.toml", "--sessions", "5"])
    assert end.value.code == 2
    assert "2 workloads, and --sessions sets the load of one" in " ".join(capsys.readouterr().err.split())
