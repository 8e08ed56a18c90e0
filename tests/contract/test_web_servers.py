"""What every web server must do by each of its mechanisms, on a machine and off it again."""

import asyncio
import socket
import ssl
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.host.http import is_free
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.model.service import EMBEDDED, Mechanism, ServiceRole, Tuning
from loadstone.model.target import Target
from loadstone.platforms import local
from loadstone.platforms.contract import Machine
from loadstone.platforms.registry import read_machine
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.registry import get_service_kind, list_service_kinds
from loadstone.testbed import software
from loadstone.testbed.context import open_testbed
from loadstone.testbed.deploy import STATIC_FILES
from loadstone.testbed.running import Running
from loadstone.testbed.software import with_software
from loadstone.testbed.start import build_site_on, start_service
from tests.contract.shared_services import first_reading

pytestmark = pytest.mark.integration

Case = tuple[str, Mechanism, Tuning]
ALL: list[Case] = [
    (name, mechanism, tuning)
    for name, kind in list_service_kinds(ServiceRole.WEBSERVER).items()
    for mechanism in kind.mechanisms
    for tuning in kind.list_tunings(mechanism)
]
TOMCAT = ("tomcat", "tomcat-embedded")
OFFERED = [
    # Tomcat takes long to start: each mechanism and each tuning once. `tests.rates.services` has the others.
    case
    for case in ALL
    if case[0] not in TOMCAT or (case[1] is Mechanism.STATIC) == (case[2] is Tuning.DEFAULT)
]
ASKED = {
    Mechanism.STATIC: ("/files/dir00001/class1_9", b"<!--"),
    Mechanism.PHP_FASTCGI: ("/phpinfo.php", b"phpinfo()"),
    Mechanism.PHP_MODULE: ("/phpinfo.php", b"phpinfo()"),
}
"""Path and what is in the answer; all others tell the environment."""
PRINTENV = ("/printenv", b"end of environment")
SIZE = {Mechanism.STATIC: 9 * 1024, Mechanism.MODULE: 2048}
"""Of the answers that have one."""


@asynccontextmanager
async def server(
    kind: ServiceKind, mechanism: Mechanism, logs: Path, tuning: Tuning = Tuning.DEFAULT
) -> AsyncIterator[tuple[Running, Machine, Target]]:
    async with open_testbed(logs) as base:
        machine = await base.start_machine("web", MachineSpec(), (PUBLIC,))
        running = Running(base)
        file_sets = {STATIC_FILES: 1} if mechanism is Mechanism.STATIC else {}
        site = replace(build_site_on(machine), mechanism=mechanism, tuning=tuning, file_sets=file_sets)
        yield running, machine, (await start_service(running, machine, kind, site)).target


def get(target: Target, path: str, tls: bool) -> bytes:
    side = target.https if tls else target.http
    assert side is not None
    trusting = ssl.create_default_context(cadata=target.authority_pem) if tls else None
    url = f"{'https' if tls else 'http'}://localhost:{side.port}{path}"
    with urllib.request.urlopen(url, timeout=60, context=trusting) as answer:
        assert answer.status == 200
        return bytes(answer.read())


def flood(target: Target) -> None:
    """Many who come, say half a request or nothing, and hang up."""
    assert target.http is not None and target.https is not None
    for at in range(150):
        side = target.https if at % 3 == 0 else target.http
        with socket.create_connection((side.host, side.port), timeout=60) as line:
            line.sendall([b"GET / HT", b"\x00" * 300, b""][at % 3])


@pytest.mark.parametrize(
    ("name", "mechanism", "tuning"),
    [
        pytest.param(*case, marks=[pytest.mark.slow("Java starts three times")] * (case[0] in TOMCAT))
        for case in OFFERED
    ],
)
def test_it_answers_over_both_ways_tells_its_version_and_survives_a_flood(
    name: str, mechanism: Mechanism, tuning: Tuning, tmp_path: Path
) -> None:
    visit(name, mechanism, tuning, tmp_path)


def visit(name: str, mechanism: Mechanism, tuning: Tuning, logs: Path) -> None:
    """Puts a web server up, asks it over HTTP and HTTPS, floods it, asks it again; then it is gone."""
    path, content = ASKED.get(mechanism, PRINTENV)
    software = name.removesuffix("-embedded")

    async def visited() -> None:
        async with server(get_service_kind(ServiceRole.WEBSERVER, name), mechanism, logs, tuning) as up:
            running, machine, target = up
            for tls in (False, True):
                answer = await asyncio.to_thread(get, target, path, tls)
                assert content in answer
                if mechanism is Mechanism.STATIC or (mechanism is Mechanism.MODULE and name != "apache"):
                    assert abs(len(answer) - SIZE[mechanism]) < 200
            await asyncio.to_thread(flood, target)
            assert content in await asyncio.to_thread(get, target, path, False)
            assert name == EMBEDDED or software in str(machine.facts["software"]).lower()
            assert set(running.status) >= ({f"web: {software}"} if name != EMBEDDED else set())
            readings = {part: (await first_reading(meter))[1] for part, meter in running.status.items()}
            assert all(len(figures.now) >= 2 for figures in readings.values()), readings
        assert target.http is not None and is_free(target.http.port), "it still listens"

    asyncio.run(visited())
    assert name == EMBEDDED or list(logs.glob("web-*.conf")) or list(logs.glob("web-*.xml"))


@pytest.mark.parametrize("name", ["nginx", "apache", "tomcat"])
def test_a_port_in_use_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(local, "find_free_port", lambda: port)
        with pytest.raises(ServiceError, match=f"Port {port} is in use"):
            asyncio.run(up_and_down(get_service_kind(ServiceRole.WEBSERVER, name), tmp_path))


@pytest.mark.parametrize(("name", "said"), [("nginx", "unknown directive"), ("apache", "Invalid command")])
def test_a_bad_configuration_is_told_in_the_servers_words(name: str, said: str, tmp_path: Path) -> None:
    kind = get_service_kind(ServiceRole.WEBSERVER, name)

    def spoiled(site: Site) -> Program:
        program = kind.program(site)
        files = {
            file: f"nonsense on;\n{text}" if file.endswith(".conf") else text for file, text in program.files.items()
        }
        return replace(program, files=files)

    with pytest.raises(ServiceError, match=said):
        asyncio.run(up_and_down(replace(kind, program=spoiled), tmp_path))


def test_a_missing_module_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software, "has_file", lambda pattern: "libphp" not in pattern)
    with pytest.raises(ServiceError, match="apt-get install libapache2-mod-php"):
        with_software(MachineSpec(), get_service_kind(ServiceRole.WEBSERVER, "apache"), Mechanism.PHP_MODULE)


@pytest.mark.parametrize("platform", ["vm", "pair"])
def test_a_virtual_machine_gets_an_image_with_what_the_service_needs(platform: str) -> None:
    kind = get_service_kind(ServiceRole.WEBSERVER, "tomcat")
    made = with_software(read_machine(f"platform={platform}"), kind, Mechanism.SERVLET)
    assert made.image == "debian+default-jre-headless+tomcat10-common"
    assert made.memory == kind.memory_mib
    declared = read_machine("platform=vm,image=debian+mine,memory=300")
    assert with_software(declared, kind, Mechanism.SERVLET) == declared
    with pytest.raises(PlatformError, match="use an image that contains it"):
        with_software(read_machine("platform=podman"), kind, Mechanism.SERVLET)


async def up_and_down(kind: ServiceKind, logs: Path, mechanism: Mechanism = Mechanism.STATIC) -> None:
    async with server(kind, mechanism, logs):
        pass
