"""What HTTP/2 and WebSockets cost the driver, and what a second thread brings."""

import json
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benches import driver
from benches.driver import Page
from benches.examples import find_example
from benches.measure import GENERATOR_CORE, SERVER_CORE, Series, execute
from benches.server import Server, start_beside
from benches.tools import H2LOAD, Job, MissingError
from loadstone.model.load import Population
from loadstone.model.profile import Phases
from loadstone.model.target import Target

Json = dict[str, Any]

OURS = "loadstone"
MESSAGES_EACH = 100
"""Messages of a user over one WebSocket."""
FILES_EACH = 31
"""Files of a page with many streams: each user then has 32 requests for each page."""


def measure_http2(server: Server, repeats: int, seconds: float, folder: Path, users: int, streams: int) -> Json:
    """Returns CPU microseconds of the generator for a request over HTTP/2, of so many users with so many streams."""
    files = FILES_EACH if streams > 1 else 0
    page = Page("1k", protocol="http2", files=files).write(folder / f"page-http2-{streams}")

    def ours() -> float:
        cost, events = driver.play(page, *driver.whole(users, seconds), Target.parse([server.http2], None, False))
        driver.requests(events)
        return 1e6 * cost.cpu_s / _http_requests(events)

    def theirs() -> float:
        job = Job(f"{server.http2}/1k.html", users, seconds, streams=streams)
        cost, said = H2LOAD.run(job)
        return 1e6 * cost.cpu_s / said.requests

    runs: dict[str, Callable[[], float]] = {OURS: ours}
    try:
        H2LOAD.find()
    except MissingError as missing:
        return {**_alternate(runs, repeats), "skipped": {H2LOAD.name: str(missing)}}
    return _alternate({**runs, H2LOAD.name: theirs}, repeats)


def _http_requests(events: list[Json]) -> int:
    """Returns all requests of a run, files included."""
    return sum(event["connections"]["http_requests"] for event in events if event["event"] == "interval")


def measure_websocket(repeats: int, seconds: float, folder: Path, connections: int) -> Json:
    """Returns CPU microseconds of the generator for a message of 64 bytes and its echo."""
    program = find_example("bare_websocket")
    page = Page("1k", messages=MESSAGES_EACH).write(folder / "page-websocket")
    with _echo(program) as address:

        def ours() -> float:
            target = Target.parse([f"http://{address}"], None)
            cost, events = driver.play(page, *driver.whole(connections, seconds), target)
            return 1e6 * cost.cpu_s / (MESSAGES_EACH * driver.requests(events))

        def bare() -> float:
            cost = execute([str(program), address, str(connections), f"{seconds:g}"])
            return 1e6 * cost.cpu_s / float(json.loads(cost.output)["requests"])

        return _alternate({OURS: ours, "bare loop": bare}, repeats)


@contextmanager
def _echo(program: Path) -> Iterator[str]:
    with start_beside(str(program), "serve") as port:
        yield f"127.0.0.1:{port}"


def measure_threads(repeats: int, seconds: float, folder: Path, sessions: int) -> Json:
    """Returns operations per second of the driver with one thread and with two, on as many cores, without a server."""
    page = Page("1k", protocol="null", think_s=0.001).write(folder / "page-threads")
    cores = (GENERATOR_CORE, SERVER_CORE)

    def rate(threads: int) -> float:
        load, phases = Population(sessions), Phases(0, 0, seconds, 0)
        _, events = driver.play(page, load, phases, None, threads=threads, cores=cores[:threads])
        return driver.requests(events) / seconds

    rates = _alternate({"one thread": partial(rate, 1), "two threads": partial(rate, 2)}, repeats, "one thread")
    return {**rates, "unit": "operations a second", "ratios": {"two threads": 1 / rates["ratios"]["two threads"]}}


def _alternate(runs: dict[str, Callable[[], float]], repeats: int, ours: str = OURS) -> Json:
    """Makes every run once a round, the order turned round each time; ratios are those of `ours` to the others."""
    figures = {name: Series() for name in runs}
    for turn in range(repeats):
        for name in list(runs) if turn % 2 == 0 else list(reversed(runs)):
            figures[name].values.append(runs[name]())
    pairs = {
        name: zip(figures[ours].values, series.values, strict=True) for name, series in figures.items() if name != ours
    }
    ratios = {name: statistics.median(mine / theirs for mine, theirs in both) for name, both in pairs.items()}
    tools = {name: series.as_json() for name, series in figures.items()}
    return {"unit": "us CPU a request", "tools": tools, "ratios": ratios, "skipped": {}}
