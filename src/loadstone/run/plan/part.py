"""What a plan is compiled from: workloads with their loads and machines, and for how long they are played."""

from dataclasses import dataclass
from typing import Any

from loadstone.model.load import Load, RateCurve
from loadstone.model.profile import Phases
from loadstone.model.target import Target
from loadstone.model.workload import Workload

Json = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One workload, its load and the machines it goes to."""

    workload: Workload
    load: Load
    targets: tuple[Target, ...] = ()
    """Machines alike, to which sessions are dealt in turn; none where the plan is only simulated."""
    curve: RateCurve | None = None
    """How the load varies in time; even without one."""


@dataclass(frozen=True)
class Timing:
    """For how long, from what seed, on how many driver threads."""

    phases: Phases
    seed: int = 1
    threads: int = 1
    log_operations: int = 0
    """How many operations each thread writes down one by one."""
