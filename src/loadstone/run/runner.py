"""A run: one or several workloads, one after the other, each as often as the profile says; judged and kept."""

import math
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadstone.judge.score import REFERENCE, web_index
from loadstone.judge.tiles import consolidation_verdict, is_of_tiles
from loadstone.judge.verdict import WorkloadVerdict, judge_workload
from loadstone.measure import facts as host
from loadstone.model.errors import DriverError, UsageError
from loadstone.model.load import Load, Population
from loadstone.model.machine import PLAIN, Placement
from loadstone.model.profile import Profile
from loadstone.model.reading import Section
from loadstone.model.system import Clock, Reference, System
from loadstone.model.target import Target
from loadstone.model.workload import Workload
from loadstone.run import audit
from loadstone.run.criteria import FIT, Fitness, make_terms
from loadstone.run.driver import Joining
from loadstone.run.executor import Executor, Listener
from loadstone.run.lifecycle import seal_after
from loadstone.run.plan import Part, Timing, make_plan
from loadstone.run.signals import Signals
from loadstone.store.folder import LOGS, VERDICT, ResultFolder, RunFolder, Status, write_json
from loadstone.store.read import Result, read_result
from loadstone.testbed import Demand, refuse_impossible, testbed_of
from loadstone.workloads import is_unchanged, load, shipped

Json = dict[str, Any]

DEALERS_PER_RATE = 10
"""Dealers of each unit of injection rate (docs/consolidation.md, Application server)."""


@dataclass(frozen=True)
class Played:
    """One workload and how much of it is played."""

    workload: Workload
    load: Load


@dataclass(frozen=True)
class RunOrder:
    """What to run."""

    name: str
    parts: tuple[Played, ...]
    profile: Profile
    seed: int
    threads: int
    system: System
    results: Path
    together: bool = False
    """All workloads at the same time instead of one after the other."""
    fitness: Fitness = FIT
    joining: Joining | None = None
    """Other drivers that join."""
    clock: Clock = Clock.REAL
    """Virtual time needs a station."""
    key: str = ""
    """Which run of a study it is."""
    placement: Placement = PLAIN
    """Where the system's services run."""

    @property
    def demand(self) -> Demand:
        """What its workloads want of the reference servers; raises UsageError when they want different ones."""
        needs = {part.workload.header.needs for part in self.parts}
        if len(needs) > 1:
            named = ", ".join(f"{part.workload.name} ({part.workload.header.needs})" for part in self.parts)
            raise UsageError(f"These workloads need different servers: {named}. Run them one by one, or as a tile.")
        main = [part for part in self.parts if part.workload.name == "dealership"] or list(self.parts)
        sessions = max(part.load.sessions if isinstance(part.load, Population) else 1 for part in main)
        return Demand(needs.pop(), max(1, math.ceil(sessions / DEALERS_PER_RATE)))

    @property
    def rounds(self) -> tuple[tuple[Played, ...], ...]:
        """What is played at the same time, in order."""
        return (self.parts,) if self.together else tuple((part,) for part in self.parts)


@dataclass(frozen=True)
class Beginning:
    """Told to the listener before each iteration."""

    workload: str
    load: str
    iteration: int
    iterations: int
    seconds: float
    waits_for: str = ""
    """Where other drivers are waited for."""


async def run(order: RunOrder, listener: Listener, begin: Callable[[Beginning], object]) -> Path:
    """Executes an order; returns the result folder, which is marked with how far it got. Raises LoadstoneError."""
    check(order)
    if not isinstance(order.system, Target) and order.clock is Clock.REAL:
        await refuse_impossible(order.placement)
    folder = ResultFolder.create(order.results, order.name, datetime.now(UTC), _manifest(order))
    await seal_after(folder, _execute(order, folder, listener, begin))
    judge(folder.path)
    return folder.path


def check(order: RunOrder) -> None:
    """Says what cannot be run before anything is started; raises LoadstoneError."""
    if not order.placement.is_plain and (isinstance(order.system, Target) or order.clock is Clock.VIRTUAL):
        raise UsageError("A machine is declared, but there is nothing to put on it: others set up this system.")
    if isinstance(order.system, Reference):
        _ = order.demand
    for parts in order.rounds:
        _plan(order, parts, 1, _anything(order))


def judge(path: Path) -> Json:
    """Judges a result and writes the verdict beside what was measured."""
    verdict = verdict_of(read_result(path))
    write_json(path / VERDICT, verdict)
    return verdict


def verdict_of(result: Result) -> Json:
    """The verdict on a result, as it is kept."""
    verdicts = judged(result)
    sessions = {workload.terms.workload: workload.terms.sessions for workload in result.workloads}
    passed = {verdict.workload for verdict in verdicts if verdict.verdict == "pass"}
    value = web_index(sessions) if set(REFERENCE) <= passed else None
    return {
        "schema": 1,
        "judged_by": host.versions()["loadstone"],
        "workloads": [asdict(verdict) for verdict in verdicts],
        "index": None if value is None else {"value": value, "compliant": all(v.compliant for v in verdicts)},
        "consolidation": consolidation_verdict(result) if is_of_tiles(result.manifest) else None,
    }


def judged(result: Result) -> list[WorkloadVerdict]:
    """The verdict on each workload of a result."""
    return [
        judge_workload(workload.terms, [iteration.figures for iteration in workload.iterations])
        for workload in result.workloads
    ]


def is_shipped(workload: Workload) -> bool:
    """Whether a workload is one that comes with the program, unchanged."""
    is_ours = shipped().get(workload.name) == workload.folder and is_unchanged(workload.name)
    return is_ours and workload == load(workload.name)


async def _execute(
    order: RunOrder, folder: ResultFolder, listener: Listener, begin: Callable[[Beginning], object]
) -> tuple[Status, str]:
    with Signals() as signals:
        async with testbed_of(order.system, order.clock, folder.path / LOGS, order.placement, order.demand) as testbed:
            folder.manifest["target"] = testbed.about
            folder.manifest["machines"] = testbed.machines()
            folder.mark(Status.RUNNING)
            executor = Executor(testbed, listener, order.joining)
            with signals.told(executor.interrupt):
                return await _play(order, folder, executor, begin)


async def _play(
    order: RunOrder, folder: ResultFolder, executor: Executor, begin: Callable[[Beginning], object]
) -> tuple[Status, str]:
    """Plays all rounds on a testbed that is up."""
    for parts in order.rounds:
        for iteration in range(1, order.profile.iterations + 1):
            if executor.interrupted:
                return Status.INTERRUPTED, "ended by a signal; later iterations were not begun"
            begin(_beginning(order, parts, iteration))
            folders = {part.workload.name: folder.run(part.workload.name, iteration) for part in parts}
            audited: dict[str, RunFolder] = {
                part.workload.header.audit: folders[part.workload.name]
                for part in parts
                if part.workload.header.audit is not None and isinstance(order.system, Reference)
            }
            before = await audit.look(executor.testbed.targets[0]) if audited else None
            try:
                await executor.execute(_plan(order, parts, iteration, executor.testbed.targets), folders)
            except DriverError:
                if not executor.interrupted:  # else it ended because it was told to
                    raise
            if audited:
                audit.keep(audited, before, await audit.look(executor.testbed.targets[0]))
    if executor.interrupted:
        return Status.INTERRUPTED, "ended by a signal; what was measured by then is kept"
    return Status.COMPLETE, ""


def _plan(order: RunOrder, parts: tuple[Played, ...], iteration: int, targets: tuple[Target, ...]) -> Json:
    timing = Timing(order.profile.phases, order.seed + iteration - 1, order.threads)
    return make_plan([Part(part.workload, part.load, targets) for part in parts], timing)


def _beginning(order: RunOrder, parts: tuple[Played, ...], iteration: int) -> Beginning:
    return Beginning(
        workload=" + ".join(part.workload.name for part in parts),
        load=" + ".join(str(part.load) for part in parts),
        iteration=iteration,
        iterations=order.profile.iterations,
        seconds=order.profile.phases.total_s,
        waits_for=f"{order.joining.drivers} drivers to join at {order.joining.address}" if order.joining else "",
    )


def _anything(order: RunOrder) -> tuple[Target, ...]:
    """Stands for what is not up yet while plans are checked: the reference server has both sides, a station one."""
    if isinstance(order.system, Target):
        return (order.system,)
    if order.clock is Clock.VIRTUAL:
        return ()
    return (Target.parse(["http://localhost:1"] + ["https://localhost:1"] * isinstance(order.system, Reference)),)


def system_of(system: System) -> Json:
    """A system's settings, as kept."""
    settings = system.model_dump(mode="json") if isinstance(system, Section) else asdict(system)
    return {"kind": type(system).__name__.lower(), **settings}


def placement_of(placement: Placement) -> Json:
    """Where services run, as kept: only what was declared other than usual."""
    return {role: machine.model_dump(mode="json", exclude_defaults=True) for role, machine in vars(placement).items()}


def _manifest(order: RunOrder) -> Json:
    parts, is_ours = order.parts, isinstance(order.system, Reference)
    terms = [
        make_terms(part.workload, order.profile, part.load, is_shipped(part.workload), order.fitness, is_ours)
        for part in parts
    ]
    return {
        "command": sys.argv,
        "profile": {"name": order.profile.name, "about": order.profile.about, **asdict(order.profile.phases)},
        "seed": order.seed,
        "driver_threads": order.threads,
        "joining_drivers": order.joining.drivers if order.joining else 0,
        "together": order.together,
        "clock": order.clock,
        "key": order.key,
        "system": system_of(order.system),
        "placement": placement_of(order.placement),
        "target": "not up yet",
        "verify_certificates": not isinstance(order.system, Target) or order.system.verify,
        "versions": host.versions(),
        "host": host.facts(),
        "terms": [asdict(one) for one in terms],
        "declarations": {part.workload.name: (part.workload.folder / "workload.toml").read_text() for part in parts},
    }
