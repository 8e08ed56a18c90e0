"""What Loadstone's own commands cost: start-up, runs in virtual time, reports, lists, imports, and simulations."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from benches.measure import Series, execute
from benches.recording import write_recording
from loadstone.host import programs
from loadstone.model.load import Population
from loadstone.model.profile import Phases
from loadstone.model.system import Station
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.services.station import plan_layout
from loadstone.workloads import load

Json = dict[str, Any]

PROGRAM = str(Path(sys.executable).parent / "loadstone")
IN_VIRTUAL_TIME = (
    *("--station", "workers=4,service=0.004", "--virtual"),
    *("--profile", "brief", "--seed", "7", "--no-report"),
)
START_UP = ("--version",)
RUN = ("run", "static", "--rate", "200", *IN_VIRTUAL_TIME)
HOUR = ("run", "static", "--rate", "100", *IN_VIRTUAL_TIME[:3], "--profile", "full", "--seed", "7", "--no-report")
"""Three iterations of half an hour."""
SEARCH = ("search", "static", "--load", "rate", *IN_VIRTUAL_TIME)
LIST = ("results",)
RESULTS = 2_000
SESSIONS = 10_000


def measure_command(argv: tuple[str, ...], repeats: int, folder: Path) -> Json:
    """CPU seconds of a command, with the programs that it starts."""
    return _measure(argv, repeats, folder / "results", folder)


def measure_report(repeats: int, folder: Path) -> Json:
    """CPU seconds of the report of three half-hours, and its size in MB."""
    results = folder / "results-of-an-hour"
    _execute(HOUR, results, folder)
    page = folder / "report.html"
    costs = _measure(("report", "latest", "--output", str(page)), repeats, results, folder)
    return {**costs, "note": f"The report has {page.stat().st_size / 1e6:.1f} MB."}


def measure_list(repeats: int, folder: Path) -> Json:
    """CPU seconds of the list of 2,000 results that was shown before."""
    results = folder / "many-results"
    _execute(RUN, results, folder)
    first = next(path for path in results.iterdir() if path.is_dir() and not path.name.startswith("."))
    for number in range(1, RESULTS):
        shutil.copytree(first, results / f"{first.name}-{number}")
    _execute(LIST, results, folder)
    return _measure(LIST, repeats, results, folder)


def measure_import(repeats: int, folder: Path) -> Json:
    """CPU seconds of a workload made of two recordings of 40 MB each."""
    recordings = [folder / f"visit-{visit}.har" for visit in (1, 2)]
    for visit, recording in enumerate(recordings):
        write_recording(recording, visit)
    files = (str(recording) for recording in recordings)
    command = ("workloads", "from-har", *files, "--output", str(folder / "imported"))
    size = recordings[0].stat().st_size / 1e6

    def cost_s() -> float:
        shutil.rmtree(folder / "imported", ignore_errors=True)
        return _execute(command, folder / "results", folder)

    costs = Series([cost_s() for _ in range(repeats)])
    return {**_own(costs, "CPU s"), "note": f"A recording has {size:.0f} MB."}


def _measure(argv: tuple[str, ...], repeats: int, results: Path, folder: Path) -> Json:
    return _own(Series([_execute(argv, results, folder) for _ in range(repeats)]), "CPU s")


def _execute(argv: tuple[str, ...], results: Path, folder: Path) -> float:
    """Runs a command with a cache of its own; CPU seconds."""
    named = [f"LOADSTONE_RESULTS={results}", f"LOADSTONE_CACHE_DIR={folder / 'cache'}"]
    return execute(["env", *named, PROGRAM, *argv]).cpu_s


def _own(costs: Series, unit: str) -> Json:
    return {"unit": unit, "tools": {"loadstone": costs.as_json()}, "ratios": {}, "skipped": {}}


def measure_discrete_events(repeats: int) -> Json:
    """CPU nanoseconds of an operation of 10,000 bank sessions that queue at a station."""
    document = _simulation(SESSIONS)
    costs = Series([_ns_per_operation(document) for _ in range(repeats)])
    return _own(costs, "ns CPU an operation")


def _simulation(sessions: int) -> bytes:
    """Eighteen minutes of bank sessions at a station with enough workers, as the driver reads them."""
    plan = make_plan([WorkloadLoad(load("banking"), Population(sessions))], Timing(Phases(180, 300, 600, 0)))
    station = Station(workers=sessions // 10, service=0.004)
    return json.dumps({"plan": plan, "station": plan_layout(station)}).encode()


def _ns_per_operation(document: bytes) -> float:
    cost = execute([programs.find_driver(), "discrete-events"], given=document)
    intervals = [event for event in map(json.loads, cost.output.splitlines()) if event["event"] == "interval"]
    operations: int = sum(each["requests"] for event in intervals for each in event["operations"])
    return 1e9 * cost.cpu_s / operations
