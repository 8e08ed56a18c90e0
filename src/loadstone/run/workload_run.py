"""A run of workloads as a deployment of one system."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path

from loadstone.fleet.open import OpenFleet
from loadstone.host.cores import list_free_cores
from loadstone.measure.agent import split_address
from loadstone.model.errors import UsageError
from loadstone.model.figures import Criteria
from loadstone.model.machine import MachineSpec
from loadstone.model.records.manifest import Manifest, ProfileRecord
from loadstone.model.system import Clock, Reference
from loadstone.model.target import Target
from loadstone.model.topology import get_topology
from loadstone.model.workload import WEB_NEEDS, ServerNeeds, Workload
from loadstone.platforms.cores import list_taken_cores
from loadstone.run import preflight
from loadstone.run.criteria import make_criteria
from loadstone.run.deployment import Round, RoundJobs
from loadstone.run.disclosure import make_manifest, read_declarations, record_placement, record_system
from loadstone.run.driver import check_plan
from loadstone.run.driver_loads import DriverLoads, compile_loads
from loadstone.run.plan import (
    LOGGED,
    Timing,
    WorkloadLoad,
    compute_data_sessions,
    count_source_addresses,
    start_plan,
)
from loadstone.run.seeds import derive_iteration_seed
from loadstone.run.spec import Beginning, RunSpec
from loadstone.run.tool_job import make_tool_job, refuse_unfit_tool
from loadstone.services.registry import refuse_unfit
from loadstone.store.folder import ResultFolder
from loadstone.testbed import Testbed, refuse_unequipped, start_testbed
from loadstone.testbed.machines import PlannedMachine, plan_machines
from loadstone.workloads import is_unchanged, list_shipped, load

Parts = tuple[WorkloadLoad, ...]
FRONT = ""
"""Role of the machines that all loads of a run go to."""


@dataclass(frozen=True)
class WorkloadRun:
    """Workloads on one system, one after the other or together, each as often as the profile says."""

    spec: RunSpec

    @property
    def results(self) -> Path:
        """Folder in which the result's folder is created."""
        return self.spec.results

    @property
    def authority(self) -> str | None:
        """Certificate to trust, as PEM, of a system that others run."""
        return self.spec.system.authority_pem if isinstance(self.spec.system, Target) else None

    def check(self) -> None:
        """Raises LoadstoneError for what cannot be run, before anything is started."""
        spec = self.spec
        if not spec.placement.is_plain and (isinstance(spec.system, Target) or spec.clock is Clock.VIRTUAL):
            raise UsageError("A machine is declared, but this system is managed elsewhere. Remove the machine.")
        if spec.fleet is not None and spec.clock is Clock.VIRTUAL:
            raise UsageError(
                "--virtual cannot be combined with --fleet: virtual time runs in this process only. Remove one of them."
            )
        refuse_unfit_tool(spec)
        if isinstance(spec.system, Reference):
            refuse_unfit(spec.system, spec.needs)
        self.plan_machines()
        for url in spec.agents:
            split_address(url)
        for loads in self.loads:
            aimed = loads.aim({FRONT: _placeholders(spec)})
            if not all(is_shipped(part.workload) for part in loads.parts):
                check_plan(start_plan(aimed, spec.seed))

    @cached_property
    def loads(self) -> tuple[DriverLoads, ...]:
        """The loads of all rounds, each compiled once. Raises UsageError."""
        spec = self.spec
        logged = LOGGED if spec.fault is not None else 0
        timing = Timing(spec.profile.phases, threads=spec.threads, log_operations=logged)
        return tuple(compile_loads(parts, timing) for parts in spec.rounds)

    def check_software(self) -> None:
        """Raises LoadstoneError where a machine of the run cannot have the programs of its service."""
        spec = self.spec
        if isinstance(spec.system, Reference) and spec.fleet is None and spec.clock is Clock.REAL:
            refuse_unequipped(spec.system, spec.placement, spec.needs)

    def plan_machines(self) -> Sequence[PlannedMachine]:
        """Returns the machines that the lab starts. Raises UsageError."""
        spec = self.spec
        if isinstance(spec.system, Target) or spec.clock is Clock.VIRTUAL:
            return ()
        needs = spec.needs if isinstance(spec.system, Reference) else WEB_NEEDS
        return plan_machines(spec.system, spec.placement, needs)

    @property
    def declared_machines(self) -> Sequence[MachineSpec]:
        """Returns the machines as declared for all roles; empty where the lab starts none."""
        placement = self.spec.placement
        return (placement.machine, placement.backend) if self.plan_machines() else ()

    def declare_manifest(self) -> Manifest:
        """Returns the manifest of a run that begins now."""
        spec = self.spec
        return make_manifest(
            name=spec.name,
            profile=ProfileRecord.from_profile(spec.profile),
            seed=spec.seed,
            driver_threads=spec.threads,
            joining_drivers=spec.joining.drivers if spec.joining else 0,
            together=spec.together,
            clock=spec.clock,
            key=spec.key,
            system=record_system(spec.system),
            placement=record_placement(spec.placement),
            notes=spec.notes,
            target="not up yet",
            verify_certificates=not isinstance(spec.system, Target) or spec.system.verify,
            criteria=list_criteria(spec),
            declarations=read_declarations((part.workload.name, part.workload) for part in spec.parts),
        )

    def choose_cores(self) -> str:
        """Returns the cores that machines with assigned cores leave to the driver; empty where none has any, or they
        leave fewer than the driver's threads.
        """
        machines = [*self.declared_machines, *(machine.spec for machine in self.plan_machines())]
        return list_free_cores(set().union(*map(list_taken_cores, machines)), self.spec.threads)

    async def check_target(self) -> tuple[str, ...]:
        """Checks a system that others run; returns notices about the route to it. Raises LoadstoneError."""
        spec = self.spec
        if not isinstance(spec.system, Target):
            return ()
        seen = await preflight.check_target(spec.system, [part.workload for part in spec.parts])
        return (*seen, *_notices(spec, spec.system))

    def open(self, logs: Path, fleet: OpenFleet | None) -> AbstractAsyncContextManager[Testbed]:
        """Puts the system up; it is down when the block ends."""
        spec = self.spec
        return start_testbed(spec.system, spec.clock, logs, spec.placement, _needs_with_files(spec), fleet)

    def plan_rounds(self) -> Sequence[Round]:
        """Returns every iteration of every workload."""
        spec = self.spec
        return [
            Round(spec.profile.phases, partial(_jobs, spec, loads, iteration), _beginning(spec, loads.parts, iteration))
            for loads in self.loads
            for iteration in range(1, spec.profile.iterations + 1)
        ]


def is_shipped(workload: Workload) -> bool:
    """Whether a workload is one that comes with the program, unchanged."""
    name = workload.header.name
    is_ours = list_shipped().get(name) == workload.folder and is_unchanged(name)
    return is_ours and workload == _load_shipped(f"{name}:{workload.mix_name}")


@cache
def _load_shipped(name: str) -> Workload:
    """A shipped workload, which is read once: a study compares it with the workload of each run."""
    return load(name)


def list_criteria(spec: RunSpec) -> tuple[Criteria, ...]:
    """Returns the criteria of each workload of a run."""
    is_ours = isinstance(spec.system, Reference)
    return tuple(
        make_criteria(part.workload, spec.profile, part.load, is_shipped(part.workload), spec.driver_limits, is_ours)
        for part in spec.parts
    )


def _needs_with_files(spec: RunSpec) -> ServerNeeds:
    """What the workloads want of the reference servers, with the sessions that each workload's files are for."""
    if not isinstance(spec.system, Reference):
        return WEB_NEEDS
    with_files = [part for part in spec.parts if part.workload.name in get_topology(spec.need).file_sets]
    phases = spec.profile.phases
    file_sets = {part.workload.name: compute_data_sessions(part.workload, part.load, phases) for part in with_files}
    return replace(spec.needs, file_sets=file_sets)


def _notices(spec: RunSpec, target: Target) -> Iterator[str]:
    """What a run itself does on the way to its target that its users may not expect, as sentences."""
    if target.identity is not None:
        yield f"Users show the client certificate {target.identity.certificate}."
    if not target.is_local:
        return
    most = max(count_source_addresses(part.aim((target,)), spec.profile.phases) for part in spec.parts)
    if most > 1:
        last = f"127.0.0.{most}"
        yield (
            f"Users come from {most} source addresses, 127.0.0.1 to {last}. "
            "The server may see a user under several addresses."
        )


def _jobs(spec: RunSpec, loads: DriverLoads, iteration: int, testbed: Testbed, folder: ResultFolder) -> RoundJobs:
    """Returns the driver of one iteration, and the application where workloads want it audited."""
    targets, first = {FRONT: testbed.targets}, loads.parts[0]
    name = " + ".join(part.label for part in loads.parts)
    job = loads.prepare(name, targets, derive_iteration_seed(spec.seed, iteration), folder, iteration)
    tool = make_tool_job(spec, first, testbed.targets, job.folders[first.label])
    audits = loads.list_audits(job, targets) if isinstance(spec.system, Reference) else []
    return RoundJobs([replace(job, tool=tool)], audits)


def _beginning(spec: RunSpec, parts: Parts, iteration: int) -> Beginning:
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
