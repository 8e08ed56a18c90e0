"""The web sites in software that people run: page by page what the reference server gives, and a run of it."""

import asyncio
import re
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import psutil
import pytest

from loadstone.model.choices import ServiceChoices
from loadstone.model.errors import ServiceError
from loadstone.model.load import Population
from loadstone.model.profile import Phases
from loadstone.model.system import Reference
from loadstone.model.target import Target
from loadstone.model.workload import ServerNeeds
from loadstone.run.executor import DriverJob, Executor
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.services.kinds import nginx_php
from loadstone.store.folder import RunFolder
from loadstone.store.read import read_iteration
from loadstone.testbed import Testbed, software
from loadstone.testbed.up import start_reference
from loadstone.workloads import load
from tests.integration.conftest import (
    LONGER_S,
    LoadstoneRunner,
    has_worked,
    newest,
    read_samples,
    report,
    require_requests,
    run_until,
    wait_until,
)
from tests.integration.test_reference_run import hurried
from tests.verdicts import WINDOW, broken_rules

pytestmark = pytest.mark.integration

SERVICES = ["nginx-php", "apache-php", "apache-mod-php", "tomcat-jsp"]
USER = "0000000003"
LOGIN = {"userid": USER, "password": f"pw-{USER}"}
PAYEE = {"payee_id": "9", "name": "A & B", "street": "x", "city": "y", "state": "CA", "zip": "1", "phone": "2"}
PROFILE = {"street": "x", "city": "y", "state": "CA", "zip": "1", "email": "a@b", "phone": "2"}
PAYMENTS = {f"{name}[{at}]": f"{at + 1}" for at in range(3) for name in ("payee", "date", "amount")}
ORDER = {"account_no": f"{USER}01", "design": "3", "number": "100"}
TRANSFER = {"from": f"{USER}01", "to": f"{USER}02", "amount": "20"}
Asked = tuple[str, dict[str, str] | None]
BANK: list[Asked] = [
    ("account_summary", None),
    ("login", {**LOGIN, "password": "wrong"}),
    ("login", LOGIN),
    ("account_summary", None),
    ("check_detail?check_no=000004", None),
    ("check_image?check_no=000004&side=front", None),
    ("check_image?check_no=000004&side=back", None),
    ("check_image?check_no=000099&side=back", None),
    ("bill_pay", None),
    ("add_payee", None),
    ("post_payee", PAYEE),
    ("quick_pay", PAYMENTS),
    ("bill_pay_status?start=2026-01-01&end=2026-02-01", None),
    ("profile", None),
    ("change_profile", PROFILE),
    ("order_check", None),
    ("place_check_order", ORDER),
    ("transfer", None),
    ("post_transfer", TRANSFER),
    ("post_transfer", {**TRANSFER, "to": f"{USER}01"}),
    ("nothing", None),
    ("logout", None),
    ("profile", None),
]
SHOP: list[Asked] = [
    ("search?keyword=x", None),
    ("index?region=Europe", None),
    ("search?segment=home&keyword=a%26b&near=0000002-3", None),
    ("browse?type=home", None),
    ("browse_productline?line=0000002-3&near=0000002-4", None),
    ("productdetail?product=0000002-3", None),
    ("customize?product=0000002-3&step=1&option=2", None),
    ("customize?product=0000002-3&step=2&option=2", None),
    ("customize?product=0000002-3&step=3&option=2", None),
    ("customize?product=0000002-3&step=4&option=2", None),
    ("images/small/0000002-3.gif", None),
    ("cart", {"add": "0000002-3"}),
    ("login", {"customer": "0000000007", "password": "x"}),
    ("shipping", {"name": "x", "street": "<y>", "city": "z", "kind": "air"}),
    ("billing", {"card": "1234"}),
    ("confirm", {}),
]
SUPPORT: list[Asked] = [
    ("index", None),
    ("search?q=driver+update+x", None),
    ("catalog?id=07", None),
    ("product?id=0042", None),
    ("file_catalog?id=0042&category=07&os=03&lang=11", None),
    ("file?id=0123", None),
    ("static/60.gif", None),
    ("downloads/dir0000000001/download1_2", None),
    ("downloads/dir0000000001/download1_9", None),
    ("nowhere", None),
]
SITES = {"bank": BANK, "shop": SHOP, "support": SUPPORT}


@dataclass(frozen=True)
class Seen:
    """What counts of an answer."""

    asked: str
    status: int
    title: str
    length: int
    links: tuple[str, ...]
    markers: tuple[bytes, ...]


def visit(target: Target, site: str) -> Iterator[Seen]:
    """Goes through a site as one visitor, over TLS."""
    trusting = ssl.create_default_context(cadata=target.authority_pem)
    jar = urllib.request.HTTPCookieProcessor(CookieJar())
    opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trusting), jar)
    assert target.https is not None
    for path, form in SITES[site]:
        url = f"https://localhost:{target.https.port}/{site}/{path}"
        try:
            answer = opener.open(url, None if form is None else urlencode(form).encode(), timeout=60)
        except urllib.error.HTTPError as error:
            answer = error
        yield seen(path, answer.status, answer.read())


def seen(asked: str, status: int, body: bytes) -> Seen:
    if status >= 400:
        return Seen(asked, status, "", 0, (), ())  # what is said of an error is the server's own
    text = body.decode(errors="replace")
    title = re.search("<title>(.*?)</title>", text)
    markers = tuple(body[at : at + 15] for at in range(4096, len(body), 4096))
    return Seen(
        asked, status, title[1] if title else "", len(body), tuple(re.findall('<img [^>]*src="(.*?)"', text)), markers
    )


def visited(target: Target) -> dict[str, list[Seen]]:
    """All sites."""
    return {site: list(visit(target, site)) for site in SITES}


SESSIONS = 4
NEEDS = ServerNeeds(file_sets={"banking": SESSIONS, "shopping": 1, "support": 1})


@dataclass(frozen=True)
class Served:
    """The sites, up, and all their pages."""

    testbed: Testbed
    pages: dict[str, list[Seen]]


@contextmanager
def served(system: Reference, logs: Path) -> Iterator[Served]:
    """Brings the sites up and goes through them."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        testbed = runner.run(stack.enter_async_context(start_reference(system, logs, needs=NEEDS)))
        (target,) = testbed.targets
        yield Served(testbed, visited(target))
        runner.run(stack.aclose())


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Seen]]:
    """All pages as the reference server has them."""
    with served(Reference(1), tmp_path_factory.mktemp("embedded")) as reference:
        return reference.pages


@pytest.fixture(scope="module", params=SERVICES)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One service after the other, each up once."""
    with served(Reference(1, ServiceChoices(service=request.param)), tmp_path_factory.mktemp(request.param)) as up:
        yield up


def test_every_page_is_what_the_reference_server_gives(service: Served, embedded: dict[str, list[Seen]]) -> None:
    for site in SITES:
        assert service.pages[site] == embedded[site]
    pages = [page for pages in service.pages.values() for page in pages if page.title]
    assert len(pages) > 35
    assert sum(bool(page.links) for page in pages) > 30


@pytest.mark.slow("a run")
def test_a_run_of_it_finds_nothing_wrong(service: Served, tmp_path: Path) -> None:
    hurried("banking", tmp_path, has_lines=False)
    part = WorkloadLoad(load(str(tmp_path / "banking")), Population(SESSIONS), service.testbed.targets)
    for seconds in (3, *LONGER_S):
        folder = tmp_path / f"in-{seconds}-s" / "banking-1"
        folder.mkdir(parents=True)
        plan = make_plan([part], Timing(Phases(0.5, 0.5, seconds, 0.5)))
        job = DriverJob("bank", plan, {"banking": RunFolder(folder)})
        executor = Executor(service.testbed, lambda event: None)
        asyncio.run(executor.execute([job]))
        figures = read_iteration(folder, 1).figures
        assert executor.troubles == []
        assert sum(sum(operation.errors.values()) for operation in figures.operations) == 0
        if figures.requests > 15:
            break
    assert figures.requests > 15


@pytest.mark.slow("three servers come up")
@pytest.mark.parametrize(("balancer", "service_name"), [("haproxy", "nginx-php"), ("nginx", "embedded")])
def test_a_balancer_deals_users_and_leaves_them_where_they_are(
    balancer: str, service_name: str, tmp_path: Path, loadstone_here: LoadstoneRunner
) -> None:
    has_requests = require_requests(30)

    def is_seen(result: Path) -> bool:
        samples = read_samples(result)
        return has_requests(result) and all(has_worked(name, samples) for name in ("web-1", "web-2", "balancer"))

    words = ("--machine", "count=2", "--sessions", "200", *WINDOW)
    run = ("run", "shopping", "--service", service_name, "--balancer", balancer, *words)
    done = run_until(loadstone_here, tmp_path, is_seen, *run)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    (iteration,) = report(tmp_path)["workloads"][0]["iterations"]
    assert sum(row["errors"] for row in iteration["operations"]) == 0  # a session elsewhere would have expired


def test_what_is_not_installed_is_named_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software, "has_file", lambda pattern: "php" not in pattern)
    with (
        pytest.raises(ServiceError, match="`apt-get install php-fpm`"),
        served(Reference(1, ServiceChoices(service=nginx_php.KIND.name)), tmp_path),
    ):
        pass


def test_a_back_end_of_fifty_processes_gives_the_same_pages(tmp_path: Path, embedded: dict[str, list[Seen]]) -> None:
    with served(Reference(1, ServiceChoices(backend_service="nginx-responder")), tmp_path) as up:
        responder = psutil.Process(up.testbed.processes()["backend responder"])
        wait_until(lambda: len(responder.children()) >= 50, "fifty processes")
        assert len(responder.children(recursive=True)) == 50
        assert up.pages == embedded
