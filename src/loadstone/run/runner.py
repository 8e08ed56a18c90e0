"""A run: one or several workloads, one after the other, each as often as the profile says; judged and kept."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from loadstone.host.cores import cores_beside
from loadstone.host.locks import measuring
from loadstone.measure.agent import checked, watched
from loadstone.model.errors import LoadstoneError, UsageError
from loadstone.model.figures import Criteria
from loadstone.model.machine import MachineSpec
from loadstone.model.records.manifest import Manifest, ProfileRecord, Status
from loadstone.model.system import Clock, Reference
from loadstone.model.target import Target
from loadstone.model.topology import topology_of
from loadstone.model.workload import WEB_NEEDS, Workload
from loadstone.platforms.cores import cores_taken
from loadstone.run import audit, preflight
from loadstone.run.criteria import make_criteria
from loadstone.run.disclosure import declarations, make_manifest, placement_record, system_record
from loadstone.run.driver import check_plan
from loadstone.run.executor import DriverJob, Executor, Listener
from loadstone.run.faults import Injector
from loadstone.run.hosts import disclosed, fleet_for, on_fleet
from loadstone.run.lifecycle import seal_after
from loadstone.run.plan import Part, Timing, data_sessions, make_plan, source_addresses
from loadstone.run.seeds import seed_of_iteration
from loadstone.run.signals import Signals
from loadstone.run.spec import Beginning, RunSpec, WorkloadLoad
from loadstone.services.registry import refuse_unfit
from loadstone.store.folder import LOGS, ResultFolder, RunFolder
from loadstone.store.read import FAULT
from loadstone.testbed import refuse_impossible, testbed_of
from loadstone.testbed.data import DataSet
from loadstone.testbed.machines import machines_of
from loadstone.workloads import is_unchanged, load, shipped

LOGGED = 200_000
"""Operations that a driver thread writes down one by one where a fault is planned: twenty megabytes of records."""
Begin = Callable[[Beginning], object]
"""Told before each iteration."""


async def run(spec: RunSpec, listener: Listener, begin: Begin) -> Path:
    """Makes a run; returns the result folder, which is judged and marked with how far it got. Raises LoadstoneError."""
    check(spec)
    if not isinstance(spec.system, Target) and spec.clock is Clock.REAL and spec.fleet is None:
        # Hosts of a fleet say themselves what cannot be.
        await refuse_impossible([spec.placement.machine, spec.placement.backend, *_machines(spec).values()])
    with Signals() as signals:
        folder = ResultFolder.create(spec.results, _manifest(spec))
        with measuring() as alone:
            folder.change(was_alone=alone or spec.clock is Clock.VIRTUAL)
            await seal_after(folder, _execute(spec, folder, listener, begin, signals))
    if signals.was_heard_late:
        raise KeyboardInterrupt
    return folder.path


def check(spec: RunSpec) -> None:
    """Says what cannot be run before anything is started; raises LoadstoneError."""
    if not spec.placement.is_plain and (isinstance(spec.system, Target) or spec.clock is Clock.VIRTUAL):
        raise UsageError("A machine is declared, but this system is managed elsewhere. Remove the machine.")
    if spec.fleet is not None and spec.clock is Clock.VIRTUAL:
        raise UsageError(
            "--virtual cannot be combined with --fleet: virtual time runs in this process only. Remove one of them."
        )
    if isinstance(spec.system, Reference):
        refuse_unfit(spec.system, spec.needs)
    _machines(spec)
    for url in spec.agents:
        checked(url)
    for parts in spec.rounds:
        plan = _plan(spec, parts, 1, _placeholders(spec))
        if not all(is_shipped(part.workload) for part in parts):
            check_plan(plan)


def _machines(spec: RunSpec) -> Mapping[str, MachineSpec]:
    """The machines of its system by name; none of a target that others set up. Raises UsageError."""
    if isinstance(spec.system, Target):
        return {}
    needs = spec.needs if isinstance(spec.system, Reference) else WEB_NEEDS
    return machines_of(spec.system, spec.placement, needs)


def is_shipped(workload: Workload) -> bool:
    """Whether a workload is one that comes with the program, unchanged."""
    name = workload.header.name
    is_ours = shipped().get(name) == workload.folder and is_unchanged(name)
    return is_ours and workload == load(f"{name}:{workload.mix_name}")


def _file_sets(spec: RunSpec) -> dict[str, int]:
    """Sessions that each workload's files are for, of those that have any."""
    with_files = [part for part in spec.parts if part.workload.name in topology_of(spec.needs.need).file_sets]
    return {part.workload.name: data_sessions(part.workload, part.load, spec.profile.phases) for part in with_files}


def driver_cores(spec: RunSpec) -> str:
    """Cores that machines with cores of their own leave to the driver; empty where none has any, or they leave fewer
    than the driver's threads.
    """
    machines = (spec.placement.machine, spec.placement.backend, *_machines(spec).values())
    taken = set().union(*map(cores_taken, machines))
    return cores_beside(taken, spec.threads)


async def _execute(
    spec: RunSpec, folder: ResultFolder, listener: Listener, begin: Begin, signals: Signals
) -> tuple[Status, str]:
    needs = replace(spec.needs, file_sets=_file_sets(spec)) if isinstance(spec.system, Reference) else WEB_NEEDS
    authority = None
    if isinstance(spec.system, Target):
        authority = spec.system.authority_pem
        seen = await preflight.check_target(spec.system, [part.workload for part in spec.parts])
        folder.change(notices=(*seen, *_notices(spec, spec.system)))
    logs = folder.path / LOGS
    async with (
        watched(spec.agents, authority) as hosts,
        fleet_for(spec.fleet, logs) as fleet,
        testbed_of(spec.system, spec.clock, logs, spec.placement, needs, fleet) as deployed,
    ):
        testbed = replace(deployed, hosts=hosts) if fleet is None else on_fleet(deployed, hosts, fleet)
        folder.change(target=testbed.about, machines=testbed.facts(), hosts=disclosed(fleet))
        folder.mark(Status.RUNNING)
        cores = driver_cores(spec)
        folder.change(driver_cores=cores)
        executor = Executor(testbed, listener, spec.joining, fleet, cores)
        with signals.report_to(executor.interrupt):
            status, reason = await _play(spec, folder, executor, begin)
        # What machines say of themselves may have changed: which side of a pair serves, how long it held its outputs.
        folder.change(machines=testbed.facts())
    folder.change(troubles=tuple(executor.troubles))
    return status, reason


def _notices(spec: RunSpec, target: Target) -> Iterator[str]:
    """What a run itself does on the way to its target that its users may not expect, as sentences."""
    if target.identity is not None:
        yield f"Users show the client certificate {target.identity.certificate}."
    if not target.is_local:
        return
    parts = [Part(part.workload, part.load, (target,)) for part in spec.parts]
    most = max(source_addresses(part, spec.profile.phases) for part in parts)
    if most > 1:
        last = f"127.0.0.{most}"
        yield (
            f"Users come from {most} source addresses, 127.0.0.1 to {last}. "
            "The server may see a user under several addresses."
        )


async def _play(spec: RunSpec, folder: ResultFolder, executor: Executor, begin: Begin) -> tuple[Status, str]:
    """Plays all rounds on a testbed that is up."""
    for parts in spec.rounds:
        for iteration in range(1, spec.profile.iterations + 1):
            if executor.interrupted:
                return Status.INTERRUPTED, "ended by a signal; later iterations were not begun"
            if executor.testbed.data is not None:
                await _restore(executor.testbed.data, is_first=(parts, iteration) == (spec.rounds[0], 1))
                folder.change(data=str(executor.testbed.data))
            begin(_beginning(spec, parts, iteration))
            await _iterate(spec, parts, iteration, folder, executor)
            if executor.troubles and not executor.interrupted:
                return Status.FAILED, "; ".join(map(str, executor.troubles))
    if executor.interrupted:
        return Status.INTERRUPTED, "ended by a signal; what was measured by then is kept"
    return Status.COMPLETE, ""


async def _restore(data: DataSet, *, is_first: bool) -> None:
    """Puts the data back to its beginning; before the first iteration it is there."""
    if not is_first:
        await data.put()


async def _iterate(
    spec: RunSpec, parts: tuple[WorkloadLoad, ...], iteration: int, folder: ResultFolder, executor: Executor
) -> None:
    """Plays one round once, and asks the application before and after what it holds, where workloads want that."""
    folders = {part.workload.name: folder.run(part.workload.name, iteration) for part in parts}
    audited: dict[str, RunFolder] = {
        part.workload.header.audit: folders[part.workload.name]
        for part in parts
        if part.workload.header.audit is not None and isinstance(spec.system, Reference)
    }
    targets = executor.testbed.targets
    before = await audit.read_holdings(targets[0]) if audited else None
    name = " + ".join(folders)
    if spec.fault is not None:
        executor.injector = Injector(executor.testbed, spec.fault, spec.profile.phases.lead_s)
    await executor.execute([DriverJob(name, _plan(spec, parts, iteration, targets), folders)])
    if executor.injector is not None and (done := executor.injector.concluded()) is not None:
        for each in folders.values():
            each.write(FAULT, asdict(done))
    if audited:
        try:
            after = await audit.read_holdings(targets[0])
        except LoadstoneError:
            if spec.fault is None:
                raise
            return  # a system that is dead on purpose tells nothing; the study says so
        audit.write_audits(audited, before, after)


def _plan(
    spec: RunSpec, parts: tuple[WorkloadLoad, ...], iteration: int, targets: tuple[Target, ...]
) -> dict[str, Any]:
    logged = LOGGED if spec.fault is not None else 0
    timing = Timing(spec.profile.phases, seed_of_iteration(spec.seed, iteration), spec.threads, logged)
    return make_plan([Part(part.workload, part.load, targets) for part in parts], timing)


def _beginning(spec: RunSpec, parts: tuple[WorkloadLoad, ...], iteration: int) -> Beginning:
    return Beginning(
        workload=" + ".join(part.workload.name for part in parts),
        load=" + ".join(str(part.load) for part in parts),
        iteration=iteration,
        iterations=spec.profile.iterations,
        seconds=spec.profile.phases.total_s,
        waits_for=f"{spec.joining.drivers} drivers to join at {spec.joining.address}" if spec.joining else "",
    )


def _placeholders(spec: RunSpec) -> tuple[Target, ...]:
    """Stands for what is not up yet while plans are checked: the reference server has both sides, a station one."""
    if isinstance(spec.system, Target):
        return (spec.system,)
    if spec.clock is Clock.VIRTUAL:
        return ()
    return (Target.parse(["http://localhost:1"] + ["https://localhost:1"] * isinstance(spec.system, Reference)),)


def criteria_of(spec: RunSpec) -> tuple[Criteria, ...]:
    """What each workload of a run is held to."""
    is_ours = isinstance(spec.system, Reference)
    return tuple(
        make_criteria(part.workload, spec.profile, part.load, is_shipped(part.workload), spec.driver_limits, is_ours)
        for part in spec.parts
    )


def _manifest(spec: RunSpec) -> Manifest:
    parts = spec.parts
    return make_manifest(
        name=spec.name,
        profile=ProfileRecord.from_profile(spec.profile),
        seed=spec.seed,
        driver_threads=spec.threads,
        joining_drivers=spec.joining.drivers if spec.joining else 0,
        together=spec.together,
        clock=spec.clock,
        key=spec.key,
        system=system_record(spec.system),
        placement=placement_record(spec.placement),
        notes=spec.notes,
        target="not up yet",
        verify_certificates=not isinstance(spec.system, Target) or spec.system.verify,
        criteria=criteria_of(spec),
        declarations=declarations((part.workload.name, part.workload) for part in parts),
    )
