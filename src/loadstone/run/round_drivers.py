"""The drivers of a round: the loads of each, the copy of the system that it loads, its start and its seed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from loadstone.model.fleet import HostRole
from loadstone.model.role import MachineRole
from loadstone.model.system import Reference
from loadstone.model.tile import Role
from loadstone.model.tiles import Tiles
from loadstone.run.driver_loads import DriverLoads, RoleTargets, compile_loads
from loadstone.run.executor import DriverJob, StartMode
from loadstone.run.plan import LOGGED, Timing, WorkloadLoad
from loadstone.run.rounds import RoundJobs
from loadstone.run.seeds import derive_iteration_seed, derive_tile_seed
from loadstone.run.spec import RunSpec
from loadstone.run.tool_job import make_tool_job
from loadstone.store.folder import ResultFolder
from loadstone.testbed import Testbed

FRONT = ""
"""Role of the machines that all loads of a system without copies go to."""


@dataclass(frozen=True)
class RoundDriver:
    """A driver of a round, with the loads that it plays together."""

    spec: RunSpec
    parts: tuple[WorkloadLoad, ...]
    """They go to the same copy of the system, in the same phase of the run."""

    @property
    def copy(self) -> int | None:
        """The copy that it loads, counted from 1; None for a system without copies."""
        return self.parts[0].id.tile

    @property
    def is_idle(self) -> bool:
        """Whether it plays active idle."""
        return self.parts[0].is_idle

    @cached_property
    def loads(self) -> DriverLoads:
        """Its loads, compiled once for all iterations. Raises UsageError."""
        logged = LOGGED if self.spec.fault is not None and not self.is_idle else 0
        phases = self.spec.compute_phases(self.parts[0])
        return compile_loads(self.parts, Timing(phases, threads=self.spec.threads, log_operations=logged))

    def prepare(self, testbed: Testbed, folder: ResultFolder, iteration: int) -> RoundJobs:
        """Creates the folders of an iteration; returns its job, and the applications to audit. Raises UsageError."""
        targets = self._find_targets(testbed)
        job = self.loads.prepare(self._name, targets, self._derive_seed(iteration), folder, iteration)
        if self.copy is None:
            first = self.parts[0]
            job = replace(job, tool=make_tool_job(self.spec, first, testbed.targets, job.folders[first.label]))
        else:
            job = self._place(testbed, job, self.copy)
        is_audited = isinstance(self.spec.system, Reference | Tiles)
        return RoundJobs([job], self.loads.list_audits(job, targets) if is_audited else [])

    @property
    def _name(self) -> str:
        labels = " + ".join(part.label for part in self.parts)
        return labels if self.copy is None else str(MachineRole(self.parts[0].driver, tile=self.copy))

    def _derive_seed(self, iteration: int) -> int:
        seed = derive_iteration_seed(self.spec.seed, iteration)
        return seed if self.copy is None or self.is_idle else derive_tile_seed(seed, self.copy)

    def _find_targets(self, testbed: Testbed) -> RoleTargets:
        """Returns the addresses of its copy by role; active idle goes to all machines that answer heartbeats."""
        if self.copy is None:
            return {FRONT: testbed.targets}
        tile = testbed.tiles[self.copy - 1]
        if self.is_idle:
            return {Role.IDLE: tuple(tile.heartbeats.values())}
        return {str(role): targets for role, targets in tile.targets.items()}

    def _place(self, testbed: Testbed, job: DriverJob, copy: int) -> DriverJob:
        """Returns the job of a driver that starts with all others, and has the machines of its copy in its record."""
        drivers = {part.driver for part in self.spec.parts if part.id.tile == copy}
        roles = {driver: str(MachineRole(f"{driver}-driver", tile=copy)) for driver in drivers}
        return replace(
            job,
            role=roles[self.parts[0].driver],
            start=StartMode.TOGETHER,
            after_s=0.0 if self.is_idle else self.spec.stagger_s * (copy - 1),
            hosts=_choose_hosts(self.spec, copy),
            members=frozenset({*testbed.tiles[copy - 1].roles, *roles.values()}),
        )


def _choose_hosts(spec: RunSpec, copy: int) -> tuple[str, ...]:
    """Returns the host whose drivers load a copy: copies are dealt to those that make load."""
    hosts = spec.fleet.with_role(HostRole.DRIVER) if spec.fleet is not None else ()
    return (hosts[(copy - 1) % len(hosts)],) if hosts else ()


def list_round_drivers(spec: RunSpec, parts: Sequence[WorkloadLoad]) -> tuple[RoundDriver, ...]:
    """Returns the drivers of a round, those of a copy together."""
    by_driver: dict[tuple[int | None, str], list[WorkloadLoad]] = {}
    for part in parts:
        by_driver.setdefault((part.id.tile, part.driver), []).append(part)
    return tuple(RoundDriver(spec, tuple(played)) for played in by_driver.values())


def prepare_round(drivers: Sequence[RoundDriver], iteration: int, testbed: Testbed, folder: ResultFolder) -> RoundJobs:
    """Creates the folders of an iteration; returns the jobs of all drivers, and all applications to audit. Raises
    UsageError.
    """
    prepared = [driver.prepare(testbed, folder, iteration) for driver in drivers]
    return RoundJobs([job for each in prepared for job in each.jobs], [it for each in prepared for it in each.audits])
