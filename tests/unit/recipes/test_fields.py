"""CONTRIBUTING's recipes of one field, carried out in a copy of the program: a choice, a setting of a run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.places import PROJECT

CHOICE = """
    geocoder: Annotated[
        str,
        Flag("Geocoder of the events site.", metavar="NAME"),
        ServiceChoice("A geocoder"),
    ] = Field(default=EMBEDDED, description="the geocoder of the events site")

    def list_changed("""
SERVICE = '''"""A second geocoder."""

from loadstone.model.service import ServiceRole
from loadstone.services.kind import Program, ServiceKind

KIND = ServiceKind("fast", ServiceRole.GEOCODER, lambda site: Program(["true"]))
'''
SETTING = """
    niceness: Annotated[int, Flag("Niceness of the driver.", kind=int, parameter="driver.niceness")] = Field(
        default=0, description="a whole number"
    )
    seed: Annotated["""
ASK = """
import json, sys, typer
from loadstone.cli.main import build_program
from loadstone.model.errors import UsageError
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.system import Reference
from loadstone.run.deployment import Deployment
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.study.file import read_study
from loadstone.study.parameters import PARAMETERS, apply
from loadstone.study.registry import list_file_sections
from loadstone.workloads import load
from pathlib import Path

answers = {}
options = {p.name: p for p in typer.main.get_command(build_program()).commands["run"].params}
for name in ("geocoder", "niceness"):
    if name in options:
        answers[f"option {name}"] = [options[name].opts[0], options[name].help]
answers["parameters"] = [name for name in ("geocoder", "driver.niceness") if name in PARAMETERS]
declared = read_study(Path(sys.argv[1]), list_file_sections())
answers["file"] = {"geocoder": getattr(declared.server.services, "geocoder", None),
                   "niceness": getattr(declared.driver, "niceness", None)}
if "geocoder" in PARAMETERS:
    for workload in ("events", "banking"):
        parts = (WorkloadLoad(load(workload), Population(2)),)
        spec = RunSpec("x", parts, PROFILES["demo"], 1, 1, Reference(1), Path())
        try:
            changed = apply(spec, {"geocoder": "fast"})
            Deployment(changed).check()
            answers[workload] = changed.system.disclose()["geocoder"]
        except UsageError as error:
            answers[workload] = str(error)
print(json.dumps(answers))
"""
STUDY = '[[load]]\nworkload = "events"\nsessions = 2\n[server]\ngeocoder = "fast"\n[driver]\nniceness = 3\n'


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{file} has {text.count(old)} places like `{old}`"
    file.write_text(text.replace(old, new))


pytestmark = pytest.mark.slow("imports a copy of the program, which has no byte code")


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a copy of the program with both fields says about its options, parameters, study files and refusals."""
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__", "suts")
    program = Path(shutil.copytree(PROJECT / "src" / "loadstone", folder / "loadstone", ignore=ignored))
    replaced(program / "model" / "choices.py", "\n    def list_changed(", CHOICE)
    place = 'TopologyRole(name="geocoder", service="geocoder", threads=1)'
    replaced(program / "topologies" / "events.py", place, place.replace("threads", 'choice="geocoder", threads'))
    (program / "services" / "kinds" / "fast_geocoder.py").write_text(SERVICE)
    replaced(program / "study" / "sections.py", "\n    seed: Annotated[", SETTING)
    study = folder / "study.toml"
    study.write_text(STUDY)
    command = [sys.executable, "-c", ASK, str(study)]
    variables = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    known: dict[str, Any] = json.loads(done.stdout)
    return known


def test_a_choice_of_services_takes_one_field_and_its_role(answers: dict[str, Any]) -> None:
    option, text = answers["option geocoder"]
    assert option == "--geocoder"
    assert "One of: embedded, fast." in text
    assert "geocoder" in answers["parameters"]
    assert (answers["file"]["geocoder"], answers["events"]) == ("fast", "fast")
    assert answers["banking"].startswith("A geocoder applies to workloads of kind events; these need `web`.")


def test_a_setting_of_a_run_takes_one_field(answers: dict[str, Any]) -> None:
    assert answers["option niceness"] == ["--niceness", "Niceness of the driver."]
    assert "driver.niceness" in answers["parameters"]
    assert answers["file"]["niceness"] == 3
