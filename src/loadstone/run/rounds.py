"""A round: load that is played at the same time, in one measured window, by one driver or by several."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.model.profile import Phases
from loadstone.model.target import Target
from loadstone.run.executor import DriverJob
from loadstone.run.spec import Beginning
from loadstone.store.folder import ResultFolder, RunFolder
from loadstone.testbed import Testbed


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
