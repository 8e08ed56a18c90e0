"""What the runner needs of a run, whatever its systems and loads: machines, a testbed, and rounds of load."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from loadstone.fleet.open import OpenFleet
from loadstone.model.errors import UsageError
from loadstone.model.machine import MachineSpec
from loadstone.model.profile import Phases
from loadstone.model.records.manifest import Manifest
from loadstone.model.target import Target
from loadstone.run.executor import DriverJob
from loadstone.run.spec import Beginning, DeploymentSpec
from loadstone.store.folder import ResultFolder, RunFolder
from loadstone.testbed import Testbed
from loadstone.testbed.machines import PlannedMachine, find_machine


@dataclass(frozen=True)
class AuditedSystem:
    """An application that is audited: what it holds is read before and after the load."""

    target: Target
    folders: Mapping[str, RunFolder]
    """Folder of the workload whose records each ledger is compared with, by ledger."""


@dataclass(frozen=True)
class RoundJobs:
    """The drivers of a round and the applications that they load."""

    jobs: Sequence[DriverJob]
    audits: Sequence[AuditedSystem] = ()


@dataclass(frozen=True)
class Round:
    """Load that is played at the same time, in one measured window."""

    phases: Phases
    """Phases of the driver that starts first."""
    prepare: Callable[[Testbed, ResultFolder], RoundJobs]
    """Creates the folders and plans of its drivers."""
    beginning: Beginning | None = None
    """Announcement of its load; None for a round without one, which has no fault either."""


class Deployment(Protocol):
    """Systems with their machines, loads, and measured windows."""

    @property
    def spec(self) -> DeploymentSpec:
        """What is common to all runs."""

    @property
    def results(self) -> Path:
        """Folder in which the result's folder is created."""

    @property
    def authority(self) -> str | None:
        """Certificate to trust, as PEM, of a system that others run."""

    def check(self) -> None:
        """Raises LoadstoneError for what cannot be run, before anything is started."""

    def plan_machines(self) -> Sequence[PlannedMachine]:
        """Returns the machines that the lab starts. Raises UsageError."""

    @property
    def declared_machines(self) -> Sequence[MachineSpec]:
        """Returns the machines as declared for all roles; empty where the lab starts none."""

    def declare_manifest(self) -> Manifest:
        """Returns the manifest of a run that begins now."""

    def choose_cores(self) -> str | None:
        """Returns the cores that machines with assigned cores leave to the drivers; empty where they share, None where
        it is not recorded.
        """

    async def check_target(self) -> tuple[str, ...]:
        """Checks a system that others run; returns notices about the route to it. Raises LoadstoneError."""

    def open(self, logs: Path, fleet: OpenFleet | None) -> AbstractAsyncContextManager[Testbed]:
        """Puts the systems up; they are down when the block ends."""

    def plan_rounds(self) -> Sequence[Round]:
        """Returns what is played, one round after the other."""


def find_faulty_machine(deployment: Deployment) -> PlannedMachine | None:
    """Returns the machine that the fault of a run is injected into; None without a fault. Raises UsageError where the
    system does not have it.
    """
    fault = deployment.spec.fault
    if fault is None:
        return None
    machines = deployment.plan_machines()
    if not machines:
        remedy = "Remove the fault, or --target and --virtual"
        raise UsageError(f"The fault `{fault}` requires a machine that Loadstone starts. {remedy}.")
    return find_machine(machines, fault.machine) if fault.machine else machines[0]
