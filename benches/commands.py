"""What Loadstone's own commands cost: start-up, runs and searches in virtual time, and a discrete-event simulation."""

import json
import sys
from pathlib import Path
from typing import Any

from benches.measure import Series, execute
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
SEARCH = ("search", "static", "--load", "rate", *IN_VIRTUAL_TIME)
SESSIONS = 10_000


def measure_command(argv: tuple[str, ...], repeats: int, folder: Path) -> Json:
    """CPU seconds of a command, with the programs that it starts."""
    command = ["env", f"LOADSTONE_RESULTS={folder / 'results'}", PROGRAM, *argv]
    costs = Series([execute(command).cpu_s for _ in range(repeats)])
    return {"unit": "CPU s", "tools": {"loadstone": costs.as_json()}, "ratios": {}, "skipped": {}}


def measure_discrete_events(repeats: int) -> Json:
    """CPU nanoseconds of an operation of 10,000 bank sessions that queue at a station."""
    document = _simulation(SESSIONS)
    costs = Series([_ns_per_operation(document) for _ in range(repeats)])
    return {"unit": "ns CPU an operation", "tools": {"loadstone": costs.as_json()}, "ratios": {}, "skipped": {}}


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
