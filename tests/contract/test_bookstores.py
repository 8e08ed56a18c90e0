"""What every bookstore must do over every database: sell each copy once, and keep its books."""

import asyncio
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import replace
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import urlencode

import pytest

from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.target import Endpoint
from loadstone.services.registry import get_service_kind, list_service_kinds
from loadstone.testbed.data import DataSet
from loadstone.testbed.running import Running
from loadstone.testbed.start import build_site_on, start_service
from tests.combinations import mark_further
from tests.contract.shared_services import SharedServices, held_testbed

pytestmark = pytest.mark.integration
ROWS = {"items": 120, "customers": 60, "orders": 600}


PAIRS = [
    (web, database)
    for web in list_service_kinds(ServiceRole.BOOKSTORE)
    for database in list_service_kinds(ServiceRole.DATABASE)
    if web == EMBEDDED or database != EMBEDDED
]
FURTHER = {("tomcat", "mariadb"), ("tomcat-jpa", "postgresql")}
"""Pairs whose parts others have."""


@pytest.fixture(scope="module", params=mark_further(PAIRS, FURTHER), ids="-".join)
def site(
    request: pytest.FixtureRequest,
    runner: asyncio.Runner,
    services: SharedServices,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Endpoint, DataSet]]:
    """Each bookstore over each kind of database that it can ask, and its data."""
    web, database = request.param
    stack, logs = AsyncExitStack(), tmp_path_factory.mktemp(web)

    async def start() -> tuple[Endpoint, DataSet]:
        running = Running(await stack.enter_async_context(held_testbed(logs)))
        app = await running.base.start_machine("app", MachineSpec(), (PUBLIC,))
        url = await (await services.of(ServiceRole.DATABASE, database)).find_address(app)
        data = DataSet("bookstore", app, url, ROWS)
        await data.put()
        kind = get_service_kind(ServiceRole.BOOKSTORE, web)
        peers: dict[str, str] = {ServiceRole.DATABASE: url}
        bookstore = await start_service(running, app, kind, replace(build_site_on(app), rows=ROWS, peers=peers))
        return bookstore.http, data

    yield runner.run(start())
    runner.run(stack.aclose())


@pytest.fixture
def shop(site: tuple[Endpoint, DataSet], runner: asyncio.Runner) -> Endpoint:
    """Where the bookstore answers, with its data as they were at the beginning."""
    http, data = site
    runner.run(data.put())
    return http


class Visitor:
    """Someone with a cart."""

    def __init__(self, at: Endpoint) -> None:
        self.at = at
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def get(self, page: str, **query: object) -> str:
        return self._open(f"{page}?{urlencode(query)}", None)

    def post(self, page: str, **form: object) -> str:
        return self._open(page, urlencode(form).encode())

    def _open(self, page: str, body: bytes | None) -> str:
        with self.opener.open(f"http://{self.at}/books/{page}", body, timeout=60) as answer:
            return str(answer.read().decode())

    def buys(self, order: str, *items: int) -> str:
        for item in items:
            self.post("cart", item=item, quantity=2)
        self.post("buy", new="no", name="reader7", password="books")
        return self.post("confirm", id=order)


def audit(at: Endpoint) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://{at}/audit", timeout=60) as answer:
        found: dict[str, Any] = json.loads(answer.read())
    return found


def test_all_pages_tell_what_is_there(shop: Endpoint) -> None:
    visitor = Visitor(shop)
    assert "Welcome back, reader7" in visitor.get("home", customer=7, item=3)
    assert "New books on arts: 5" in visitor.get("new", subject="arts")
    assert "Best sellers on arts" in visitor.get("best", subject="arts")
    price = re.search(r"<td>arts</td><td>(\d+)</td><td>100</td>", visitor.get("item", id=24))
    assert price is not None
    for by, words in (("author", "Amber"), ("title", "Amber"), ("subject", "arts")):
        found = re.search(r"Books by \w+ \w+: (\d+)", visitor.get("results", by=by, words=words))
        assert found is not None and int(found[1]) > 0
    assert "In your cart: " in visitor.post("cart", item=24, quantity=1)
    assert "To be sent to" in visitor.post("buy", new="yes", name="x", password="x")
    assert f"Order placed: {price[1]} cents" in visitor.post("confirm", id="first")
    assert "There is nothing to buy" in visitor.post("confirm", id="second")
    assert "Your last order: " in visitor.post("order", name="reader7", password="books")
    assert "Change book 24" in visitor.get("admin", id=24)
    assert "Book 24 costs 999 cents" in visitor.post("admin", id=24, price=999)
    assert visitor.get("search") and visitor.get("register") and visitor.get("orders")
    # More statements than some clients keep: those that were said first are said again.
    assert audit(shop)["orders"]["count"] == 1
    assert "Welcome back, reader7" in visitor.get("home", customer=7, item=3)
    assert not [rule for rule in audit(shop)["rules"] if rule["broken"]]


def test_many_at_once_buy_the_same_books_and_none_is_sold_twice(shop: Endpoint) -> None:
    def buy(number: int) -> str:
        # Some fill their carts in another order than others.
        items = (5, 6, 7) if number % 2 else (7, 6, 5)
        return Visitor(shop).buys(f"order-{number}", *items)

    with ThreadPoolExecutor(12) as pool:
        assert all("Order placed" in told for told in pool.map(buy, range(60)))
    found = audit(shop)
    assert found["orders"]["count"] == 60
    assert not [rule for rule in found["rules"] if rule["broken"]]


def test_an_order_that_is_sent_twice_is_refused_and_nonsense_breaks_nothing(shop: Endpoint) -> None:
    visitor = Visitor(shop)
    assert "Order placed" in visitor.buys("one", 3)
    with pytest.raises(urllib.error.HTTPError, match="409"):
        visitor.buys("one", 3)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        visitor.post("buy", new="no", name="reader7", password="wrong")
    for page, query in (("item", {"id": "one"}), ("new", {"subject": "'; DROP TABLE items; --"}), ("results", {})):
        with pytest.raises(urllib.error.HTTPError, match="400"):
            visitor.get(page, **query)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        visitor.get("item", id=10**12)
    assert not [rule for rule in audit(shop)["rules"] if rule["broken"]]
