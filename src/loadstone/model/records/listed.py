"""What lists show of a result or a study."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from loadstone.model.records.status import Status
from loadstone.model.records.verdict import Headline, Verdict


@dataclass(frozen=True)
class ListedLoad:
    """A workload of a result and its load."""

    workload: str
    """Its label."""
    sessions: int
    """0 for an open load."""
    load: str
    """The load in words."""


@dataclass(frozen=True)
class ListedVerdict:
    """The verdict on a workload, with the main figures of its last iteration."""

    workload: str
    verdict: Verdict
    headline: Headline | None = None


@dataclass(frozen=True)
class ListedResult:
    """A result or a study as lists show it."""

    started: str
    status: Status
    profile: str
    study: str = ""
    """Kind of study; empty for a run."""
    target: str = ""
    """Where the load of a run went."""
    notes: Mapping[str, str] = field(default_factory=dict)
    workloads: tuple[str, ...] = ()
    """Labels."""
    loads: tuple[ListedLoad, ...] = ()
    """Of a run."""
    verdicts: tuple[ListedVerdict, ...] = ()
    """Of a run that was judged."""
    tiles: str = ""
    """A run of tiles in a line."""
    problem: str = ""
    """Why the verdict cannot be read; empty where it can, or where there is none."""

    @property
    def is_study(self) -> bool:
        """Whether it is a study."""
        return bool(self.study)
