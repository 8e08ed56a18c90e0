"""What is measured: each case gives one document of figures."""

import json
import re
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from scipy import stats

from benches import commands, driver, protocols
from benches.driver import Page
from benches.examples import find_example
from benches.measure import Series, execute, say, stop_for
from benches.reference import measure_servers
from benches.server import FILES, Server, bare_server
from benches.sessions import measure_sessions
from benches.theory import closed_stall_s, open_stall_s
from benches.tools import OTHERS, Job, MissingError, Tool
from loadstone.host import programs
from loadstone.model.load import Arrivals, Population
from loadstone.model.profile import Phases
from loadstone.model.records.events import EVENT
from loadstone.model.target import Target
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.run.simulate import read_server_model
from loadstone.store.figures import derive_figures
from loadstone.store.records import group_events
from loadstone.workloads import load as load_workload

Json = dict[str, Any]

OURS = "loadstone"
STALL_S = 1.0


@dataclass(frozen=True)
class Setting:
    """How thoroughly, and against what."""

    server: Server
    repeats: int
    seconds: float
    folder: Path

    def address(self, tls: str) -> str:
        """Address of the server: plain, or over `tls12` or `tls13`."""
        return {"": self.server.http, "tls12": self.server.tls12, "tls13": self.server.tls13}[tls]


def as_target(address: str) -> Target:
    """A server as a target; its certificate is believed, as by the other tools."""
    return Target.parse([address], None, False)


def per_request(setting: Setting, file: str, connections: int, tls: str = "", keep_alive: bool = True) -> Json:
    """CPU microseconds of the generator per request, all tools in turn, there and back."""
    return _per_request(setting, setting.address(tls), file, Job("", connections, setting.seconds, keep_alive))


def saturated(setting: Setting, file: str, connections: int) -> Json:
    """The same against a server that costs less than any tool, so that none waits for it."""
    with bare_server(find_example("bare_serve"), setting.server.folder / "site" / f"{file}.html") as address:
        return _per_request(setting, address, file, Job("", connections, setting.seconds))


def _per_request(setting: Setting, address: str, file: str, given: Job) -> Json:
    job = replace(given, url=f"{address}/{file}.html")
    page = Page(file, keep_alive=job.keep_alive).write(setting.folder / f"page-{file}-{job.keep_alive}")

    def ours(target: Target) -> float:
        cost, events = driver.play(page, *driver.whole(job.connections, setting.seconds), target)
        return 1e6 * cost.cpu_s / driver.requests(events)

    runs: dict[str, Callable[[], float]] = {OURS: partial(ours, as_target(address))}
    if not job.is_over_tls and job.keep_alive:
        runs["bare loop"] = partial(_bare_cpu_us, address, f"/{file}.html", job)
    if job.is_over_tls and not job.keep_alive:
        authority = (setting.server.folder / "authority.pem").read_text(encoding="utf-8")
        runs[f"{OURS}, verifying"] = partial(ours, Target.parse([address], authority))
    return {"unit": "us CPU a request", **_alternate(setting, runs, job, 1e6)}


def _bare_cpu_us(address: str, path: str, job: Job) -> float:
    """CPU microseconds a request of a loop that does nothing but send and receive."""
    host = address.partition("//")[2]
    command = [str(find_example("bare_request")), host, path, str(job.connections), f"{job.seconds:g}"]
    cost = execute(command)
    return 1e6 * cost.cpu_s / float(json.loads(cost.output)["requests"])


def _cpu_s(tool: Tool, job: Job, scale: float) -> float:
    """CPU seconds a request, scaled."""
    cost, said = tool.run(job)
    return scale * cost.cpu_s / said.requests


def _unable(tool: Tool, https: bool, keep_alive: bool) -> str:
    if https and not tool.over_tls:
        return "has no option to trust the test's certificate"
    if not keep_alive and not tool.closes:
        return "has no option to open a connection for every request"
    try:
        tool.find()
    except MissingError as missing:
        return str(missing)
    return ""


def _alternate(setting: Setting, own: dict[str, Callable[[], float]], job: Job, scale: float) -> Json:
    """Our own runs and every other tool's once a round, the order turned round each time.

    Other tools' CPU seconds a request are multiplied by `scale`; ratios are taken within a round.
    """
    unable = {tool.name: _unable(tool, job.is_over_tls, job.keep_alive) for tool in OTHERS}
    skipped = {name: reason for name, reason in unable.items() if reason}
    others = {tool.name: partial(_cpu_s, tool, job, scale) for tool in OTHERS if tool.name not in skipped}
    runs: dict[str, Callable[[], float]] = {**own, **others}
    figures = {name: Series() for name in runs}
    for turn in range(setting.repeats):
        order = list(runs) if turn % 2 == 0 else list(reversed(runs))
        for name in order:
            figures[name].values.append(runs[name]())
            say(f"    {name}: {figures[name].values[-1]:.4g}")
    ours = figures[OURS].values
    ratios = {
        name: statistics.median(mine / theirs for mine, theirs in zip(ours, series.values, strict=True))
        for name, series in figures.items()
        if name != OURS
    }
    return {"tools": {name: series.as_json() for name, series in figures.items()}, "ratios": ratios, "skipped": skipped}


def bodies(setting: Setting, file: str, connections: int) -> Json:
    """CPU seconds of the generator per GB of body, against a loop that does nothing but receive."""
    url, length = f"{setting.server.http}/{file}.html", FILES[file]
    gigabytes = length / 1e9
    page = Page(file).write(setting.folder / f"page-{file}")
    bare = find_example("bare_receive")
    host = url.partition("//")[2].partition("/")[0]

    def ours() -> float:
        cost, events = driver.play(page, *driver.whole(connections, setting.seconds), as_target(setting.server.http))
        return cost.cpu_s / driver.requests(events) / gigabytes

    def least() -> float:
        cost = execute([str(bare), host, f"/{file}.html", str(length), f"{setting.seconds:g}"])
        return cost.cpu_s / float(json.loads(cost.output)["requests"]) / gigabytes

    job = Job(url, connections, setting.seconds)
    runs: dict[str, Callable[[], float]] = {OURS: ours, "bare loop": least}
    return {"unit": "s CPU a GB", **_alternate(setting, runs, job, 1 / gigabytes)}


def starts(setting: Setting) -> Json:
    """How exactly sessions start that arrive at a rate; the gaps of the schedule and of what really happened."""
    page = Page("1k", endless=False).write(setting.folder / "page-arriving")
    found: Json = {"unit": "us", "rates": {}}
    for rate in (1000, 20_000):
        runs = []
        for turn in range(setting.repeats):
            phases = Phases(1, 1, setting.seconds, 0)
            load = Arrivals((float(rate),), most_sessions=20_000)
            _, events = driver.play(
                page, load, phases, as_target(setting.server.http), log_starts=400_000, seed=turn + 1
            )
            runs.append(_start_figures(events, rate))
            say(f"    {rate}/s: {runs[-1]}")
        middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        found["rates"][str(rate)] = {"median": middle, "runs": runs}
    return found


def _start_figures(events: list[Json], rate: float) -> dict[str, float]:
    noted = next(event for event in events if event["event"] == "starts")
    totals = next(event for event in events if event["event"] == "totals")
    late = sorted(actual - due for due, actual in zip(noted["intended_ns"], noted["actual_ns"], strict=True))

    def p_value(instants: list[int]) -> float:
        ordered = sorted(instants)
        gaps = [(later - earlier) * rate / 1e9 for earlier, later in pairwise(ordered)]
        return float(stats.kstest(gaps, "expon").pvalue)

    return {
        "late_p50_us": late[len(late) // 2] / 1e3,
        "late_p99_us": late[int(0.99 * len(late))] / 1e3,
        "late_max_us": late[-1] / 1e3,
        "driver_core_share": totals["cpu"]["threads"][0],
        "starts": len(late),
        "schedule_gaps_p_value": p_value(noted["intended_ns"]),
        "actual_gaps_p_value": p_value(noted["actual_ns"]),
    }


def stall(setting: Setting) -> Json:
    """What each tool reports of a server that stops for one second in ten, and what theory gives."""
    seconds, connections, rate = 10.0, 50, 500.0
    url = f"{setting.server.http}/1k.html"
    found: Json = {"unit": "s", "rows": []}

    def row(name: str, model: str, times: Mapping[str, float | None], requests: int, theory_s: float | None) -> None:
        found["rows"].append({"tool": name, "model": model, "requests": requests, **times, "theory_p99.9": theory_s})
        say(f"    {found['rows'][-1]}")

    def stopped(after_s: float) -> Any:
        return stop_for(setting.server.worker, after_s, STALL_S)

    open_page = Page("1k", endless=False).write(setting.folder / "page-stall-open")
    think_page = Page("1k", think_s=0.1).write(setting.folder / "page-stall-closed")
    loads = (
        (f"open, {rate:g} arrivals/s", open_page, Arrivals((rate,)), open_stall_s(seconds, STALL_S, 0.999)),
        (f"closed, {connections} sessions, 0.1 s think time", think_page, Population(connections), None),
    )
    for model, page, load, theory_s in loads:
        thread = stopped(4.0)
        _, events = driver.play(page, load, Phases(0.5, 0.5, seconds, 0), as_target(setting.server.http))
        thread.join()
        figures = derive_figures(group_events([EVENT.validate_python(event) for event in events]))
        if theory_s is None:
            theory_s = closed_stall_s(connections, 0.1, seconds, STALL_S, 0.999)
        names = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
        row(
            OURS,
            model,
            {key: figures.response.get_value_at(at) for key, at in names.items()},
            figures.requests,
            theory_s,
        )
    for tool in OTHERS:
        if _unable(tool, False, True):
            continue
        for at_rate in (False, True)[: 1 + tool.at_rate]:
            thread = stopped(4.0)
            _, said = tool.run(Job(url, connections, seconds, rate=rate if at_rate else None))
            thread.join()
            model = f"constant rate, {rate:g}/s" if at_rate else f"closed, {connections} connections, no pause"
            row(
                tool.name,
                model,
                said.times_s,
                said.requests,
                open_stall_s(seconds, STALL_S, 0.999) if at_rate else None,
            )
    return found


def idle(setting: Setting) -> Json:
    """Memory of a generator that holds 10,000 idle TLS connections, one a session."""
    count = 10_000
    page = Page("1k", think_s=20.0).write(setting.folder / "page-idle")
    cost, events = driver.play(page, Population(count), Phases(15, 1, 5, 0), as_target(setting.server.tls12))
    held = max(event["connections_open"] for event in events if event["event"] == "interval")
    found: Json = {"unit": "KiB a connection", "connections": held, "tools": {}, "skipped": {}}
    found["tools"][OURS] = cost.peak_bytes / 1024 / count
    for tool in OTHERS:
        reason = _unable(tool, True, True) or ("" if tool.name in ("wrk", "oha") else "holds no idle connections")
        if reason:
            found["skipped"][tool.name] = reason
            continue
        cost, _ = tool.run(Job(f"{setting.server.tls12}/1k.html", count, 20))
        found["tools"][tool.name] = cost.peak_bytes / 1024 / count
    say(f"    {found['tools']}")
    return found


def virtual(setting: Setting) -> Json:
    """Cost of an operation in virtual time, from a thousand sessions to a million, on one core."""
    found: Json = {"unit": "", "sessions": {}}
    workload = load_workload("banking")
    for count in (1_000, 10_000, 100_000, 1_000_000):
        plan = make_plan([WorkloadLoad(workload, Population(count))], Timing(Phases(180, 300, 600, 0)))
        given = json.dumps({"plan": plan, "server": read_server_model(workload, None)}).encode()
        cost = execute([programs.find_driver(), "simulate"], given=given)
        performed = json.loads(cost.output)["operations_performed"]
        found["sessions"][str(count)] = {
            "operations": performed,
            "wall_s": cost.wall_s,
            "ns_cpu_an_operation": 1e9 * cost.cpu_s / performed,
        }
        say(f"    {count}: {found['sessions'][str(count)]}")
    return found


def _http2(setting: Setting, users: int, streams: int) -> Json:
    return protocols.measure_http2(setting.server, setting.repeats, setting.seconds, setting.folder, users, streams)


CASES: dict[str, Callable[[Setting], Json]] = {
    "keep-alive-1k": lambda setting: per_request(setting, "1k", 64),
    "keep-alive-10k": lambda setting: per_request(setting, "10k", 64),
    "saturated-1k": lambda setting: saturated(setting, "1k", 64),
    "tls-keep-alive": lambda setting: per_request(setting, "1k", 64, "tls12"),
    "tls-handshake": lambda setting: per_request(setting, "1k", 32, "tls12", keep_alive=False),
    "tls13-keep-alive": lambda setting: per_request(setting, "1k", 64, "tls13"),
    "tls13-handshake": lambda setting: per_request(setting, "1k", 32, "tls13", keep_alive=False),
    "body-1m": lambda setting: bodies(setting, "1m", 4),
    "body-35m": lambda setting: bodies(setting, "35m", 2),
    "http2-one-stream": lambda setting: _http2(setting, 64, 1),
    "http2-many-streams": lambda setting: _http2(setting, 8, 32),
    "websocket": lambda setting: protocols.measure_websocket(setting.repeats, setting.seconds, setting.folder, 64),
    "two-threads": lambda setting: protocols.measure_threads(setting.repeats, setting.seconds, setting.folder, 1000),
    "reference-server": lambda setting: measure_servers(setting.repeats, setting.seconds),
    "idle-tls": idle,
    "start-accuracy": starts,
    "stall": stall,
    "sessions": lambda setting: measure_sessions(setting.seconds),
    "virtual-time": virtual,
    "discrete-events": lambda setting: commands.measure_discrete_events(setting.repeats),
    "start-up": lambda setting: commands.measure_command(commands.START_UP, setting.repeats, setting.folder),
    "virtual-run": lambda setting: commands.measure_command(commands.RUN, setting.repeats, setting.folder),
    "report": lambda setting: commands.measure_report(setting.repeats, setting.folder),
    "list": lambda setting: commands.measure_list(setting.repeats, setting.folder),
    "import": lambda setting: commands.measure_import(setting.repeats, setting.folder),
    "virtual-search": lambda setting: commands.measure_command(commands.SEARCH, setting.repeats, setting.folder),
}
"""By name, in order."""


def versions(names: Sequence[str]) -> dict[str, str]:
    """Versions of the tools that can be had."""
    said = {
        OURS: re.sub(
            r"^\S+ ",
            "",
            subprocess.run(
                [programs.find_driver(), "--version"], capture_output=True, text=True, check=True
            ).stdout.strip(),
        )
    }
    for tool in OTHERS:
        if tool.name in names:
            said[tool.name] = tool.version(tool.find())
    return said


@contextmanager
def workshop() -> Iterator[Path]:
    """A folder for workloads made on the way."""
    with tempfile.TemporaryDirectory(prefix="loadstone-bench-") as name:
        yield Path(name)
