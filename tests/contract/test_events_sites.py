"""What every site of events must do over every database: keep what is sent, once, and show it."""

import asyncio
import json
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from loadstone.model.errors import ServiceError
from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.target import Endpoint
from loadstone.services.registry import get_service_kind, list_service_kinds
from loadstone.testbed.data import DataSet
from loadstone.testbed.running import Running
from loadstone.testbed.shared_folder import share_folder
from loadstone.testbed.start import build_site_on, start_service
from tests.combinations import mark_further
from tests.contract.shared_services import SharedServices, held_testbed

pytestmark = pytest.mark.integration
ROWS = {"users": 120, "tags": 30, "events": 90}
TOMCATS = ("tomcat", "tomcat-jpa")


@dataclass(frozen=True)
class Layout:
    """What a site is made of."""

    web: str
    database: str
    cache: str = ""
    """Empty where the site keeps no answers."""

    @property
    def shares(self) -> bool:
        """Whether its pictures are in a folder that all its servers share; else in a store."""
        return (self.web, self.database, self.cache) in (
            (EMBEDDED, EMBEDDED, ""),
            *((web, "postgresql", EMBEDDED) for web in TOMCATS),
        )

    def __str__(self) -> str:
        names = [self.web, self.database, *["cache", self.cache] * bool(self.cache), *["folder"] * self.shares]
        return "-".join(names)


CACHING = [
    *(Layout(EMBEDDED, "postgresql", cache) for cache in (EMBEDDED, *list_service_kinds(ServiceRole.CACHE))),
    *(Layout(web, "postgresql", EMBEDDED) for web in TOMCATS),
    Layout("tomcat", "postgresql", "memcached"),
]
LAYOUTS = [
    # Tomcat takes long to start, so one site of each kind shows pages, a cache and a shared folder.
    Layout(web, database, EMBEDDED if web in TOMCATS and database == "postgresql" else "")
    for web in list_service_kinds(ServiceRole.EVENTS)
    for database in list_service_kinds(ServiceRole.DATABASE)
    if web == EMBEDDED or database != EMBEDDED
]
FURTHER = {Layout("tomcat-jpa", "postgresql", EMBEDDED), Layout("tomcat", "mariadb")}
"""Sites whose parts others have."""


BOUNDARY = "7e0b1c"
PICTURE = Path(__file__).parents[1] / "data" / "picture.jpg"
"""160 x 120 points, red on the left and blue on the right."""


@dataclass(frozen=True)
class Site:
    """A site of events that is up."""

    http: Endpoint
    data: DataSet


async def start_site(running: Running, services: SharedServices, layout: Layout) -> Site:
    """Starts a site over services that it shares with others."""
    app = await running.base.start_machine("app", MachineSpec(), (PUBLIC,))
    asked = {ServiceRole.DATABASE: layout.database, ServiceRole.GEOCODER: EMBEDDED}
    folder, peers = "", {}
    if layout.shares:
        store = await running.base.start_machine("store", MachineSpec(), (PUBLIC,))
        folder = (await share_folder(running, store, [app]))["app"]
    else:
        asked[ServiceRole.STORE] = EMBEDDED
    if layout.cache == EMBEDDED:
        peers[str(ServiceRole.CACHE)] = "within"
    elif layout.cache:
        asked[ServiceRole.CACHE] = layout.cache
    for role, name in asked.items():
        peers[str(role)] = await (await services.of(role, name)).find_address(app)
    data = DataSet("events", app, peers[ServiceRole.DATABASE], ROWS)
    await data.put()
    kind = get_service_kind(ServiceRole.EVENTS, layout.web)
    site = replace(build_site_on(app), rows=ROWS, peers=peers, shared_folder=folder)
    http = (await start_service(running, app, kind, site)).http
    data.keepers = [http] if layout.cache else []
    return Site(http, data)


@dataclass
class Sites:
    """Starts each site when it is first asked for, and keeps it up."""

    runner: asyncio.Runner
    services: SharedServices
    stack: AsyncExitStack
    folder: Callable[[str], Path]
    sites: dict[Layout, Site] = field(default_factory=dict)

    def site(self, layout: Layout) -> Site:
        """Returns a site whose data are as they were at the beginning."""
        if layout not in self.sites:
            self.sites[layout] = self.runner.run(self.start(layout))
        self.runner.run(self.sites[layout].data.put())
        return self.sites[layout]

    async def start(self, layout: Layout) -> Site:
        """Starts a site on machines of its own."""
        base = await self.stack.enter_async_context(held_testbed(self.folder(str(layout))))
        return await start_site(Running(base), self.services, layout)


@pytest.fixture(scope="module")
def sites(
    runner: asyncio.Runner, services: SharedServices, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sites]:
    """All sites of this module."""
    stack = AsyncExitStack()
    yield Sites(runner, services, stack, tmp_path_factory.mktemp)
    runner.run(stack.aclose())


@pytest.fixture(params=mark_further(LAYOUTS, FURTHER), ids=str)
def whole_site(request: pytest.FixtureRequest, sites: Sites) -> Site:
    """Each site over each kind of database that it can ask; and its data."""
    return sites.site(request.param)


@pytest.fixture(params=mark_further(CACHING, FURTHER), ids=str)
def caching(request: pytest.FixtureRequest, sites: Sites) -> Site:
    """Each site with each kind of cache that it can ask; and its data."""
    return sites.site(request.param)


@pytest.fixture
def site(whole_site: Site) -> Endpoint:
    """Where a site answers."""
    return whole_site.http


class Visitor:
    """Someone with a browser."""

    def __init__(self, at: Endpoint) -> None:
        self.at = at
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def get(self, page: str, **query: object) -> str:
        return self.fetch(f"/events/{page}?{urlencode(query)}").decode()

    def fetch(self, path: str) -> bytes:
        with self.opener.open(f"http://{self.at}{path}", timeout=60) as answer:
            return bytes(answer.read())

    def post(self, page: str, **form: object) -> str:
        return self._post(page, urlencode(form).encode(), "application/x-www-form-urlencoded")

    def send(self, page: str, files: dict[str, bytes], **form: object) -> str:
        parts = [f'form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in form.items()]
        parts += [
            f'form-data; name="{name}"; filename="f"\r\nContent-Type: image/jpeg\r\n\r\n'.encode() + content
            for name, content in files.items()
        ]
        held = b"".join(f"--{BOUNDARY}\r\nContent-Disposition: ".encode() + part + b"\r\n" for part in parts)
        return self._post(page, held + f"--{BOUNDARY}--\r\n".encode(), f"multipart/form-data; boundary={BOUNDARY}")

    def _post(self, page: str, body: bytes, kind: str) -> str:
        request = urllib.request.Request(f"http://{self.at}/events/{page}", body, {"Content-Type": kind})
        with self.opener.open(request, timeout=60) as answer:
            return str(answer.read().decode())

    def adds_event(self, title: str, tags: str = "tag1 tag2") -> str:
        where = {"street": "1 Reed Lane", "city": "Marsh", "state": "MV", "zip": "01067", "country": "Germany"}
        told = {"title": title, "summary": "short", "description": "longer", "phone": "1", "tags": tags}
        files = {"picture": PICTURE.read_bytes(), "literature": b"%PDF-" + bytes(1000)}
        return self.send("add-event", files, **told, **where)

    def adds_person(self, name: str) -> str:
        told = {"name": name, "password": "p", "email": "e", "phone": "1", "summary": "s", "city": "Marsh"}
        return self.send("add-person", {"picture": PICTURE.read_bytes()}, **told)


def audit(at: Endpoint) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://{at}/audit", timeout=60) as answer:
        found: dict[str, Any] = json.loads(answer.read())
    return found


def broken(at: Endpoint) -> list[str]:
    return [rule["rule"] for rule in audit(at)["rules"] if rule["broken"]]


def test_all_pages_tell_what_is_there(site: Endpoint) -> None:
    visitor = Visitor(site)
    home = visitor.get("home")
    assert "Your name and password" in home and "Coming up: 90 events" in home
    pictures = re.findall(r'<img class="of" src="([^"]+)"', home)
    assert len(pictures) == 10 and len(visitor.fetch(pictures[0])) == 5_895
    event = int(re.findall(r'<a href="/events/event\?id=(\d+)"', home)[0])
    page = visitor.get("event", id=event)
    (picture,) = re.findall(r'<img class="of" src="([^"]+)"', page)
    assert f"Event {event}: " in page and len(visitor.fetch(picture)) == 669_128
    comments = json.loads(visitor.get("comments", id=event))
    assert comments["event"] == event and all(2 <= one["rating"] <= 5 for one in comments["comments"])
    assert 10 <= len(json.loads(visitor.get("attendees", id=event))["attendees"]) <= 100
    assert "Tagged tag1:" in visitor.post("search", tag="tag1") and "Tagged tag2:" in visitor.get("tag", name="tag2")
    assert "user7 of " in visitor.get("person", id=7)
    assert "Who are you?" in visitor.get("add-person") and "What is on?" in visitor.get("add-event")
    assert not broken(site)


def test_who_signs_in_is_known_until_signing_out(site: Endpoint) -> None:
    visitor = Visitor(site)
    assert "Welcome, user9" in visitor.post("login", user="user9", password="9")
    home = visitor.get("home")
    assert "Signed in as user9" in home and "Your name and password" not in home
    told = json.loads(visitor.post("attend", id=3))
    assert (told["you"], "user9" in told["attendees"]) == ("user9", True)
    assert visitor.post("attend", id=3).count('"user9"') == 2, "once as who asks, once among those who come"
    assert "Signed out" in visitor.get("logout")
    assert "Your name and password" in visitor.get("home")
    for page, form in (("attend", {"id": 3}), ("login", {"user": "user9", "password": "8"})):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            visitor.post(page, **form)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        visitor.adds_event("Nobody's")
    assert not broken(site)


def test_what_is_added_is_shown_with_a_small_picture(site: Endpoint) -> None:
    visitor = Visitor(site)
    assert "new1 of Marsh" in visitor.adds_person("new1")
    visitor.post("login", user="new1", password="p")
    page = visitor.adds_event("Meeting 1", "tag30 tag29")
    (picture,) = re.findall(r'<img class="of" src="([^"]+)"', page)
    assert "Meeting 1" in page and visitor.fetch(picture) == PICTURE.read_bytes()
    (paper,) = re.findall(r'<a href="(/events/store/papers/[^"]+)"', page)
    assert visitor.fetch(paper) == b"%PDF-" + bytes(1000)
    small = visitor.fetch(picture.replace("/events/store/events/", "/events/store/events-small/"))
    assert small[:2] == b"\xff\xd8" and 1_024 <= len(small) < 20_000 and small != PICTURE.read_bytes()
    assert all("Meeting 1" in visitor.get("tag", name=tag) for tag in ("tag29", "tag30"))
    assert audit(site)["additions"]["count"] == 2
    assert not broken(site)


def test_many_at_once_add_and_come_and_the_tables_agree(site: Endpoint) -> None:
    def take_part(number: int) -> str:
        visitor = Visitor(site)
        visitor.post("login", user=f"user{number}", password=str(number))
        visitor.post("attend", id=5)
        # Some name their tags in another order than others.
        return visitor.adds_event(f"Meeting {number}", "tag1 tag2 tag3" if number % 2 else "tag3 tag2 tag1")

    with ThreadPoolExecutor(12) as pool:
        assert all("Meeting" in told for told in pool.map(take_part, range(1, 31)))
    assert audit(site)["additions"]["count"] == 30
    assert not broken(site)


def test_nonsense_is_refused_and_breaks_nothing(site: Endpoint) -> None:
    visitor = Visitor(site)
    assert "taken" in visitor.adds_person("taken")
    with pytest.raises(urllib.error.HTTPError, match="409"):
        visitor.adds_person("taken")
    for page, query in (("event", {"id": 10**15}), ("person", {"id": 10**15}), ("tag", {"name": "'; DROP"})):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            visitor.get(page, **query)
    with pytest.raises(urllib.error.HTTPError, match="400"):
        visitor.get("event", id="one")
    with pytest.raises(urllib.error.HTTPError, match="415"):
        visitor.send("add-person", {"picture": b"no picture"}, name="x", password="y")
    huge = bytearray(PICTURE.read_bytes())
    at = huge.index(b"\xff\xc0") + 5  # height and width stand there (ITU-T T.81, B.2.2)
    huge[at : at + 4] = (60_000).to_bytes(2) * 2
    with pytest.raises(urllib.error.HTTPError, match="415"):
        visitor.send("add-person", {"picture": bytes(huge)}, name="x", password="y")
    with pytest.raises(urllib.error.HTTPError, match="400"):
        visitor.send("add-person", {}, name="x", password="y")
    visitor.post("login", user="user1", password="1")
    forged = Visitor(site)
    forged.opener.addheaders = [("Cookie", "seat=1-0000000000000000")]
    assert "Your name and password" in forged.get("home")
    assert not broken(site)


def test_a_picture_that_is_not_there_is_refused(site: Endpoint) -> None:
    for path in ("events/999999999999999", "events/9999999999999999999", "events/0", "events/x", "../../etc/passwd"):
        with pytest.raises(urllib.error.HTTPError, match=r"40[04]"):
            Visitor(site).fetch(f"/events/store/{path}")


def test_data_is_restored_beneath_a_site_that_goes_on(whole_site: Site, runner: asyncio.Runner) -> None:
    at, data = whole_site.http, whole_site.data
    visitor = Visitor(at)
    before = visitor.get("tag", name="tag30")
    visitor.adds_person("new1")
    visitor.post("login", user="new1", password="p")
    visitor.adds_event("Meeting 1", "tag30")
    assert visitor.get("tag", name="tag30") != before and audit(at)["additions"]["count"] == 2
    runner.run(data.put())
    assert visitor.get("tag", name="tag30") == before and audit(at)["additions"]["count"] == 0
    assert not broken(at)
    assert "restored before each later iteration" in str(data)


def test_what_is_kept_is_shown_again_and_no_longer_when_it_has_changed(caching: Site, runner: asyncio.Runner) -> None:
    at, data = caching.http, caching.data
    visitor = Visitor(at)
    home, tag = visitor.get("home"), visitor.get("tag", name="tag30")
    asked = last_query(data)
    assert (visitor.get("home"), visitor.get("tag", name="tag30")) == (home, tag)
    assert last_query(data) == asked, "the database was asked for what is kept"
    visitor.post("login", user="user1", password="1")
    visitor.adds_event("Meeting 1", "tag30")
    assert last_query(data) != asked
    assert "Coming up: 91 events" in visitor.get("home") and "Meeting 1" in visitor.get("tag", name="tag30")
    runner.run(data.put())
    visitor.get("logout")
    assert (visitor.get("home"), visitor.get("tag", name="tag30")) == (home, tag)


def last_query(data: DataSet) -> str:
    """Returns when a client last asked the PostgreSQL database, this function apart."""
    sql = (
        "SELECT max(query_start) FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND application_name <> 'psql'"
    )
    words = ["psql", "-d", data.database, "-At", "-c", sql]
    return subprocess.run(words, capture_output=True, check=True, text=True).stdout


def test_a_cache_that_the_site_cannot_ask_is_refused(sites: Sites) -> None:
    with pytest.raises(ServiceError, match="not in redis"):
        sites.site(Layout("tomcat", "postgresql", "redis"))
