"""The loads of one driver: workloads that it plays together against one copy of a system, in runs and tiles alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadstone.model.profile import Phases
from loadstone.model.target import Target
from loadstone.run.executor import DriverJob
from loadstone.run.plan import Json, Timing, WorkloadLoad, aim_plan, compile_plan, start_plan
from loadstone.run.rounds import AuditedSystem
from loadstone.store.folder import ResultFolder, RunFolder

RoleTargets = Mapping[str, tuple[Target, ...]]
"""Addresses of a system by the role of its machines; the empty role is the front."""


@dataclass(frozen=True)
class DriverLoads:
    """Workloads with their plan, which fits any target and iteration."""

    parts: tuple[WorkloadLoad, ...]
    phases: Phases
    compiled: Json

    def aim(self, targets: RoleTargets) -> Json:
        """Returns the plan for the machines of the system. Raises UsageError when they lack a side."""
        return aim_plan(self.compiled, [part.aim(targets[part.role]) for part in self.parts], self.phases)

    def prepare(self, name: str, targets: RoleTargets, seed: int, folder: ResultFolder, iteration: int) -> DriverJob:
        """Creates the folders of one iteration; returns what its driver does. Raises UsageError."""
        folders = {part.label: folder.run(part.label, iteration) for part in self.parts}
        return DriverJob(name, start_plan(self.aim(targets), seed), folders)

    def list_audits(self, job: DriverJob, targets: RoleTargets) -> list[AuditedSystem]:
        """Returns the applications that its workloads want audited, with the ledgers of each."""
        ledgers: dict[str, dict[str, RunFolder]] = {}
        for part in self.parts:
            if part.workload.header.audit is not None:
                ledgers.setdefault(part.role, {})[part.workload.header.audit] = job.folders[part.label]
        return [AuditedSystem(targets[role][0], folders) for role, folders in ledgers.items()]


def compile_loads(parts: Sequence[WorkloadLoad], timing: Timing) -> DriverLoads:
    """Compiles the plan of workloads that are played together. Raises UsageError."""
    return DriverLoads(tuple(parts), timing.phases, compile_plan(parts, timing))
