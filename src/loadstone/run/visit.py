"""One visit, told exchange by exchange: what a driver's user does, before there are many of them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.model.load import Population
from loadstone.model.profile import Phases
from loadstone.model.records.events import Exchange, Performed
from loadstone.model.target import Target
from loadstone.model.workload import Workload
from loadstone.run import preflight
from loadstone.run.driver import DriverDocument, check_plan, plan_running, start_driver
from loadstone.run.plan import Timing, WorkloadLoad, make_plan

LONGEST_VISIT_S = 600.0
"""A visit is over by then, or given up."""
MOST_OPERATIONS = 50
"""A visit that has no end is left after so many."""


@dataclass(frozen=True)
class VisitedOperation:
    """An operation and the exchanges that it consisted of."""

    performed: Performed
    exchanges: tuple[Exchange, ...] = field(default=())


async def visit(workload: Workload, target: Target, seed: int, log: Path) -> AsyncIterator[VisitedOperation]:
    """Plays one visit without pauses; its operations as they end. Raises UsageError for a target that is not there,
    DriverError.
    """
    plan = visit_plan(workload, target, seed)
    check_plan(plan)
    await preflight.check_target(target, [workload])
    exchanges: list[Exchange] = []
    count = 0
    async with start_driver(plan_running(plan), log) as driver:
        async for _, event in driver.read_events():
            if isinstance(event, Exchange):
                exchanges.append(event)
            if isinstance(event, Performed) and count < MOST_OPERATIONS:
                yield VisitedOperation(event, tuple(exchanges))
                exchanges.clear()
                count += 1
                if count == MOST_OPERATIONS:
                    driver.end_early()


def visit_plan(workload: Workload, target: Target, seed: int) -> DriverDocument:
    """The plan of one traced visit: a user who arrives at once and never pauses."""
    phases = Phases(ramp_up_s=0, warm_up_s=0, steady_s=LONGEST_VISIT_S, ramp_down_s=0)
    plan = make_plan([WorkloadLoad(workload, Population(1), (target,))], Timing(phases, seed))
    (part,) = plan["parts"]
    arrivals = {"kind": "arrivals", "process": {"kind": "constant"}, "path": {"kind": "trace", "at_ns": [1]}}
    load = {**arrivals, "most_sessions": 1, "data_sessions": 1}
    played = part["workload"]
    states = [{**state, "least_pause_ns": 0} for state in played["states"]]
    pacing = {"kind": "think", "distribution": "fixed", "mean_ns": 0, "cap_ns": None}
    changed = {**part, "load": load, "workload": {**played, "pacing": pacing, "states": states}}
    return {**plan, "parts": [changed], "trace": True}
