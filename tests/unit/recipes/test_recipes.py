"""CONTRIBUTING's recipes, carried out in a folder of their own: how many files each takes."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from schema_records.module import events_text
from typer.testing import CliRunner

from loadstone import topologies as topology_modules
from loadstone.cli import study as study_commands
from loadstone.cli.main import build_program, main
from loadstone.cli.options import make_placement
from loadstone.host.http import get
from loadstone.model.choices import CHOICES, NONE, ServiceChoices
from loadstone.model.errors import UsageError
from loadstone.model.load import Population
from loadstone.model.machine import PLAIN, PUBLIC, MachineSpec
from loadstone.model.profile import PROFILES
from loadstone.model.reading import FileTable, list_flags
from loadstone.model.records.status import Status
from loadstone.model.service import ServiceRole
from loadstone.model.system import Clock, Reference
from loadstone.model.target import Endpoint
from loadstone.model.topology import list_topologies
from loadstone.model.workload import ServerNeeds
from loadstone.platforms import kinds as platform_modules
from loadstone.platforms.registry import build_machine_kind, describe_machine, list_platform_kinds
from loadstone.report import section as section_module
from loadstone.report import sections
from loadstone.report.build import Format, write_report
from loadstone.report.study import write_study_report
from loadstone.run.judging import judge
from loadstone.services import kinds as service_modules
from loadstone.services import reference
from loadstone.services.registry import get_service_kind, list_names, list_service_kinds, refuse_unfit
from loadstone.store.study import StudyFolder
from loadstone.study import kinds, registry
from loadstone.study.kind import StudyAnswer
from loadstone.study.parameters import PARAMETERS
from loadstone.study.sections import (
    DriverSection,
    LoadEntry,
    OtherSystems,
    ProfileSection,
    ServerSection,
    StudyHeader,
    TargetSection,
)
from loadstone.study.spec import build_questions
from loadstone.testbed import start_testbed
from loadstone.testbed.context import open_testbed
from loadstone.testbed.machines import list_machines
from loadstone.testbed.running import Running
from loadstone.testbed.start import build_site_on, start_service
from loadstone.workloads import load
from tests.made import carry_out, made
from tests.places import EVENTS_SCHEMA, PROJECT
from tests.records import interval, result_folder, study_manifest

KIND = '''
"""`twice`: does a second run come out as the first? Pure."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Flag
from loadstone.page.blocks import Paragraph
from loadstone.study.kind import StudyKind, StudySection
from loadstone.study.question import Answer, find_first_missing, format_key
from loadstone.study.summary import RunRequest


class TwiceSection(StudySection):
    """`[twice]`."""

    apart_pct: Annotated[float, Flag("How far apart they may be, in %.", name="--apart", kind=float)] = Field(
        default=5.0, description="a number"
    )


@dataclass(frozen=True, kw_only=True)
class TwiceAnswer(Answer):
    """Both throughputs."""

    throughputs: tuple[float, ...]


@dataclass(frozen=True)
class Twice:
    """Two runs of one setting."""

    workload: str

    def plan_runs(self):
        return [RunRequest(format_key(number, self.workload, ""), self.workload, {}, number) for number in (1, 2)]

    def plan_next(self, runs):
        return find_first_missing(self.plan_runs(), runs)

    def estimate_left(self, runs):
        return 2 - len(runs)

    def answer(self, runs):
        values = tuple(run.metrics["throughput"] for run in runs)
        headline = (f"Twice: {' and '.join(f'{value:g}' for value in values)}.",)
        return TwiceAnswer(workload=self.workload, is_answered=len(runs) == 2, headline=headline, throughputs=values)


def render_blocks(answer, workload, runs):
    yield Paragraph(f"Throughputs: {answer.throughputs}")


KIND = StudyKind(
    name="twice", question="Does it come out again?", help="Make a run twice.", section=TwiceSection,
    answer=TwiceAnswer, make=lambda section, context: Twice(context.workload.name), blocks=render_blocks,
)
'''
SECTION = '''
"""Of which seed a result is."""

from loadstone.page.blocks import Heading, Paragraph
from loadstone.report.section import ReportSection


def render_blocks(context):
    yield Heading("Sown")
    yield Paragraph(f"From seed {context.result.manifest.seed}.")


SECTION = ReportSection(rank=999, of_result=render_blocks)
'''
PLATFORM = '''
"""`polite`: processes that give way to others."""

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.platforms.fake import FakePlatform
from loadstone.platforms.kind import PlatformKind


class PoliteSettings(Section):
    """Of polite processes."""

    level: int = Field(default=1, ge=1, le=19, description="how much they give way, 1 to 19")


KIND = PlatformKind(
    name="polite", title="polite process", plural="polite processes", maker=FakePlatform(),
    settings_section=PoliteSettings, shares_host=True,
)
'''
SERVICE = '''
"""A mail store that only greets."""

from loadstone.model.service import ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site

GREET = """
import pathlib, socket, sys
folder, listen, port = sys.argv[1:]
server = socket.create_server((listen, int(port)))
while True:
    with server.accept()[0] as user:
        user.sendall(pathlib.Path(folder, "greeting").read_bytes())
"""


def build_program(site: Site) -> Program:
    words = ["python3", "-c", GREET, site.folder, site.listen, str(site.port)]
    return Program(words, {"greeting": "* OK at your service\\r\\n"})


KIND = ServiceKind("greeter", ServiceRole.MAIL, build_program, 1143)
'''
TOPOLOGY = '''
"""The auction house, which asks its ledger."""

from loadstone.topologies.shared import BALANCER
from loadstone.topologies.topology import Topology, TopologyRole

TOPOLOGY = Topology(
    need="auction",
    rank=80,
    front=TopologyRole(name="house", service="auction", choice="service"),
    peers=(TopologyRole(name="ledger", service="ledger"),),
    balancer=BALANCER,
)
'''
SERVER = '''
"""A server of the auction house: it answers with the addresses of its peers."""

from loadstone.model.service import EMBEDDED
from loadstone.services.kind import Program, ServiceKind, Site

ANSWER = """
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(sys.argv[3].encode())
http.server.HTTPServer((sys.argv[1], int(sys.argv[2])), Answer).serve_forever()
"""


def build_program(site: Site) -> Program:
    said = " ".join(f"{name} {address}" for name, address in site.peers.items()) or "no peers"
    return Program(["python3", "-c", ANSWER, site.listen, str(site.port), said])


KIND = ServiceKind(EMBEDDED, "ROLE", build_program, 8090)
'''
WORKLOAD = """
[workload]
name = "knock"
title = "One knock a second"
[pacing]
kind = "cycle"
mean_s = 1
[limits]
good_s = 1
tolerable_s = 2
[mix]
kind = "flat"
shares = { knock = 1 }
[operations.knock]
path = "/"
"""


def add(package: ModuleType, folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Puts a module where a package looks for its own; returns what had to be written."""
    (folder / f"{name}.py").write_text(text)
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    return list(folder.iterdir())


@pytest.fixture(autouse=True)
def found_anew() -> Iterator[None]:
    """What is found by itself is looked for again, before and after."""
    found = (
        list_topologies,
        registry.list_study_kinds,
        section_module.list_shipped_sections,
        list_platform_kinds,
        build_machine_kind,
        list_service_kinds,
    )
    for cached in found:
        cached.cache_clear()
    yield
    for cached in found:
        cached.cache_clear()


def test_a_kind_of_study_takes_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    written = add(kinds, modules, "twice", KIND, monkeypatch)
    kind = registry.get_kind("twice")
    app = typer.Typer()
    for name, command, text in study_commands.list_commands():
        app.command(name, help=text)(command)
    helped = CliRunner().invoke(app, ["twice", "--help"], env={"COLUMNS": "160"})
    assert "--apart" in helped.output, helped.output
    assert "twice" in registry.list_file_sections()

    section = kind.section(apart_pct=1)
    (question,) = build_questions(kind, section, [load("static")], PROFILES["quick"], Population(1)).questions
    answer, runs = carry_out(question, lambda request: made(request, throughput=7.0))
    folder = StudyFolder.create(tmp_path, study_manifest(kind="twice"))
    folder.write_answer(kind.adapter, StudyAnswer("twice", (answer,), runs=tuple(runs)))
    folder.mark(Status.COMPLETE)
    for form in (Format.HTML, Format.MARKDOWN):
        text = write_study_report(folder.path, form).read_text()
        assert "Twice: 7 and 7." in text
        assert "Throughputs: (7.0, 7.0)" in text
    assert len([path for path in written if path.suffix == ".py"]) == 1


def test_a_report_section_takes_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    written = add(sections, modules, "sown", SECTION, monkeypatch)
    path = result_folder(tmp_path, [interval(1)])
    judge(path)
    for form in (Format.HTML, Format.MARKDOWN):
        assert "From seed 1." in write_report(path, form).read_text()
    assert len([path for path in written if path.suffix == ".py"]) == 1


def test_a_workload_takes_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "knock"
    folder.mkdir()
    (folder / "workload.toml").write_text(WORKLOAD)
    with pytest.raises(SystemExit) as end:
        main(["workloads", "check", str(folder)])
    assert end.value.code == 0, capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["simulate", str(folder), "--sessions", "10"])
    assert end.value.code == 0, capsys.readouterr()
    assert len(list(folder.iterdir())) == 1


def test_a_platform_takes_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    written = add(platform_modules, modules, "polite", PLATFORM, monkeypatch)
    spec = make_placement("polite", ["level=5,count=2"], None).machine
    assert describe_machine(spec) == "2 polite processes, level 5"
    assert spec.declared == {"platform": "polite", "count": 2, "level": 5}
    with pytest.raises(UsageError, match="Expected: how much they give way, 1 to 19"):
        make_placement("polite", ["level=20"], None)
    with pytest.raises(UsageError, match=r"A process has no `level`\. Use --platform polite, or remove the setting"):
        make_placement("process", ["level=5"], None)
    assert "polite" in parameters_of_platform()

    async def up() -> Endpoint:
        async with open_testbed(tmp_path) as base:
            machine = await base.start_machine("one", spec.with_number(0), (PUBLIC,))
            service = await machine.start("web", reference.build_plain_command("web", machine.listen, 1))
            ready = reference.read_ready(service.first_line)
            assert ready.http is not None
            return await machine.find_endpoint(ready.http.port)

    assert asyncio.run(up()).host == "127.0.0.1"
    assert len([path for path in written if path.suffix == ".py"]) == 1


def parameters_of_platform() -> str:
    """What is said of the platforms there are."""
    return str(build_machine_kind().model_fields["platform"].description)


def test_a_service_takes_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    written = add(service_modules, modules, "greeter", SERVICE, monkeypatch)
    assert list(list_service_kinds(ServiceRole.MAIL)) == ["embedded", "dovecot", "greeter"]
    with pytest.raises(UsageError, match="Did you mean `greeter`"):
        get_service_kind(ServiceRole.MAIL, "greter")

    async def up() -> bytes:
        async with open_testbed(tmp_path) as base:
            running = Running(base)
            machine = await base.start_machine("mail", MachineSpec(), (PUBLIC,))
            kind = get_service_kind(ServiceRole.MAIL, "greeter")
            target = (await start_service(running, machine, kind, build_site_on(machine))).http
            reader, writer = await asyncio.open_connection(target.host, target.port)
            said = await reader.readline()
            writer.close()
            return said

    assert asyncio.run(up()) == b"* OK at your service\r\n"
    assert len([path for path in written if path.suffix == ".py"]) == 1


def test_an_application_takes_one_file_besides_its_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules, servers, workload = tmp_path / "modules", tmp_path / "servers", tmp_path / "knock"
    for folder in (modules, servers, workload):
        folder.mkdir()
    written = add(topology_modules, modules, "auction", TOPOLOGY, monkeypatch)
    for role in ("auction", "ledger"):
        add(service_modules, servers, role, SERVER.replace("ROLE", role), monkeypatch)
    (workload / "workload.toml").write_text(WORKLOAD.replace('title = "One', 'needs = "auction"\ntitle = "One'))
    knock = load(str(workload))
    system, needs = Reference(1), ServerNeeds(knock.header.needs)
    assert list(list_machines(system, PLAIN, needs)) == ["house", "ledger"]
    refuse_unfit(Reference(1, ServiceChoices(balancer="haproxy")), needs)
    with pytest.raises(UsageError, match="A database applies to workloads of kind application, bookstore, events"):
        refuse_unfit(Reference(1, ServiceChoices(database="postgresql")), needs)

    async def up() -> tuple[bytes, bytes]:
        async with start_testbed(system, Clock.REAL, tmp_path, needs=needs) as testbed:
            (target,) = testbed.targets
            assert target.http is not None
            answer = await get(target.http, "/", 10)
            ledger = Endpoint.parse(answer.decode().removeprefix("ledger "))
            return answer, await get(ledger, "/", 10)

    front, peer = asyncio.run(up())
    assert (front.split()[0], peer) == (b"ledger", b"no peers")
    assert len([path for path in written if path.suffix == ".py"]) == 1


@pytest.mark.parametrize(
    "table", [StudyHeader, LoadEntry, ProfileSection, TargetSection, ServerSection, DriverSection, OtherSystems]
)
def test_a_setting_of_a_run_is_one_field(table: type[FileTable]) -> None:
    parsed: Any = typer.main.get_command(build_program())
    options = {option for parameter in parsed.commands["run"].params for option in parameter.opts}
    pages = (PROJECT / "docs" / "reference" / "command-line.md").read_text()
    for name, flag, _ in list_flags(table):
        assert flag.format_option(name) in options
        assert f"`{flag.format_option(name)}`" in pages
        assert not flag.parameter or flag.parameter in PARAMETERS
    varied = [flag.parameter for _, flag, _ in list_flags(table) if flag.parameter]
    assert len(varied) == len(set(varied))


def test_a_choice_of_services_is_one_field() -> None:
    names = set(ServiceChoices.model_fields)
    parsed = typer.main.get_command(build_program())
    for command in ("run", "search", "sweep"):
        assert names <= {parameter.name for parameter in parsed.commands[command].params}  # type: ignore[attr-defined]
    assert names <= set(ServerSection.model_fields)
    assert names <= set(PARAMETERS)
    assert len(Reference(1).disclose()) == len(names) + 1, "threads are no choice"
    for name in CHOICES:
        assert getattr(ServiceChoices(), name) in (NONE, None, *list_names(name))


COUNTED = """
import importlib, json, sys, types
from pathlib import Path

folder, text = Path(sys.argv[1]), Path(sys.argv[1], "events.py").read_text()
name = "loadstone.model.records.events"
sys.modules[name] = types.ModuleType(name)
exec(compile(text, name, "exec"), sys.modules[name].__dict__)

from loadstone.report.build import Format, render_folder
from loadstone.run.judging import judge
from loadstone.run.tool_events import build_events
from loadstone.tools.kind import ToolFigures
from tests.records import encoded, interval, operation_record, result_folder, totals
from tests.unit.run.test_tools import job
from dataclasses import replace

def shown(path):
    judge(path)
    operations = json.loads(render_folder(path, Format.JSON))["workloads"][0]["iterations"][0]["operations"]
    return [operation["pushed"] for operation in operations]

record = operation_record(response=encoded(1000), answered=encoded(1000))
pushed = replace(record, tally=replace(record.tally, pushed=7))
path = result_folder(folder / "new", [interval(1), totals(pushed, pushed)])
print(shown(path))
path = result_folder(folder / "old", [interval(1), totals(record)])
events = path / "runs" / "banking-1" / "events.jsonl"
before = events.read_text()
events.write_text(before.replace(', "pushed":0', "").replace(',"pushed":0', ""))
assert events.read_text() != before
print(shown(path))
tool_events = build_events(job(folder, ""), ToolFigures("tool 1", 0.0, ()))
print([operation.tally.pushed for event in tool_events if event.event == "totals" for operation in event.operations])
"""


def test_a_counter_of_operations_is_a_field_of_the_driver_and_reaches_the_report(tmp_path: Path) -> None:
    schema = json.loads(json.dumps(EVENTS_SCHEMA))
    tally = schema["$defs"]["OperationTally"]
    tally["properties"]["pushed"] = {"type": "integer", "format": "uint64", "minimum": 0}
    tally["required"].append("pushed")
    (tmp_path / "events.py").write_text(events_text(schema))
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, str(tmp_path)], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    shown = done.stdout.splitlines()
    assert shown[:2] == ["[7, 7, 14]", "[0, 0]"], "without the counter it is 0" + done.stderr
    assert shown[2:] == ["[0]"], "a tool counts nothing of it" + done.stderr
