"""What a study's runs are made from: single runs of workloads, or runs of tiles. The runner knows no more."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from loadstone.model.fleet import FleetSpec
from loadstone.model.profile import Profile
from loadstone.model.records.manifest import ProfileRecord, StudiedWorkload, SystemKind, SystemRecord
from loadstone.model.records.result import Result
from loadstone.model.selector import limit_copies
from loadstone.model.system import Clock
from loadstone.platforms.registry import describe_machine
from loadstone.run.disclosure import record_placement, record_roles, record_system
from loadstone.run.executor import Listener
from loadstone.run.runner import check, run
from loadstone.run.seeds import derive_run_seed
from loadstone.run.spec import Begin, RunSpec
from loadstone.run.tiles.spec import TilesSpec
from loadstone.run.tiles.tile_run import describe_placement
from loadstone.study.parameters import apply
from loadstone.study.summary import RunRequest, RunSummary, summarize, summarize_tiles
from loadstone.study.tenths import FULL, get_tenths, list_tile_loads


class StudyBase(Protocol):
    """What all runs of a study have in common."""

    @property
    def results(self) -> Path:
        """Where the study's folder is made."""

    def check(self, request: RunRequest) -> None:
        """Says what cannot be run before anything is started; raises LoadstoneError."""

    async def run(self, request: RunRequest, runs: Path, listener: Listener, begin: Begin) -> Path:
        """Makes a run into a folder below `runs`. Raises LoadstoneError."""

    def summarize(self, request: RunRequest, result: Result) -> RunSummary:
        """Returns the summary of a finished run."""

    def identify(self) -> dict[str, Any]:
        """All that is not varied: what makes two studies the same, beside their question."""

    def declare(self) -> dict[str, Any]:
        """Fields of the study's manifest."""


class Runs(ABC):
    """What runs of workloads and runs of tiles share: each is made from one specification."""

    spec: RunSpec | TilesSpec

    @property
    def results(self) -> Path:
        """Where the study's folder is made."""
        return self.spec.results

    @abstractmethod
    def make_spec(self, request: RunRequest, runs: Path) -> RunSpec | TilesSpec:
        """The specification of one run. Raises UsageError when a setting does not fit."""

    def check(self, request: RunRequest) -> None:
        """Says what cannot be run before anything is started; raises LoadstoneError."""
        check(self.make_spec(request, Path()))

    async def run(self, request: RunRequest, runs: Path, listener: Listener, begin: Begin) -> Path:
        """Makes a run into a folder below `runs`. Raises LoadstoneError."""
        return await run(self.make_spec(request, runs), listener, begin)


@dataclass(frozen=True)
class WorkloadRuns(Runs):
    """Runs of one workload each, from a specification that the question's settings are applied to."""

    spec: RunSpec
    """It holds every workload that the study is about."""

    def make_spec(self, request: RunRequest, runs: Path) -> RunSpec:
        """The specification of one run. Raises UsageError when a setting does not fit."""
        parts = tuple(part for part in self.spec.parts if part.workload.name == request.workload)
        seed = derive_run_seed(self.spec.seed, request.seed)
        spec = replace(self.spec, name=request.key, key=request.key, parts=parts, seed=seed, results=runs)
        return apply(spec, request.settings)

    def summarize(self, request: RunRequest, result: Result) -> RunSummary:
        """Returns the summary of a finished run of workloads."""
        return summarize(request, result)

    def identify(self) -> dict[str, Any]:
        """Workloads as declared, and all settings."""
        spec = self.spec
        return {
            "workloads": {part.workload.name: _digest(part.workload.folder) for part in spec.parts},
            "loads": [str(part.load) for part in spec.parts],
            "profile": asdict(spec.profile),
            "seed": spec.seed,
            "threads": spec.threads,
            "system": asdict(record_system(spec.system)),
            "placement": record_placement(spec.placement),
            "clock": spec.clock,
            "fitness": asdict(spec.driver_limits),
            **_hosts(spec.fleet),
        }

    def declare(self) -> dict[str, Any]:
        """Fields of the study's manifest."""
        spec = self.spec
        return {
            "profile": ProfileRecord.from_profile(spec.profile),
            "seed": spec.seed,
            "driver_threads": spec.threads,
            "system": record_system(spec.system),
            "placement": record_placement(spec.placement),
            "notes": spec.notes,
            "clock": spec.clock,
            "workloads": tuple(
                StudiedWorkload(
                    part.workload.name,
                    part.workload.header.title,
                    part.workload.limits.good_s,
                    part.workload.limits.tolerable_s,
                )
                for part in spec.parts
            ),
        }


@dataclass(frozen=True)
class TileRuns(Runs):
    """Runs of tiles: full ones, and a fraction of one more."""

    spec: TilesSpec
    most_tiles: int

    @property
    def profile(self) -> Profile:
        """How long runs are."""
        return self.spec.profile

    def make_spec(self, request: RunRequest, runs: Path) -> TilesSpec:
        """The specification of one run."""
        loads = list_tile_loads(get_tenths(request))
        seed = derive_run_seed(self.spec.seed, request.seed)
        roles = limit_copies(self.spec.roles, len(loads))
        return replace(self.spec, loads=loads, name=request.key, key=request.key, results=runs, seed=seed, roles=roles)

    def check(self, request: RunRequest) -> None:
        """Checks the machines of all tiles that the search may reach, whatever the request. Raises UsageError."""
        check(self._largest)

    @property
    def _largest(self) -> TilesSpec:
        """The run of the most tiles."""
        return replace(self.spec, loads=list_tile_loads(self.most_tiles * FULL))

    def summarize(self, request: RunRequest, result: Result) -> RunSummary:
        """Returns the summary of a finished run of tiles."""
        return summarize_tiles(request, result)

    def identify(self) -> dict[str, Any]:
        """The tile as declared, and all settings."""
        spec = self.spec
        return {
            "tile": str(spec.tile),
            "phases": asdict(spec.phases),
            "most": self.most_tiles,
            "machine": spec.machine.model_dump(mode="json"),
            "roles": record_roles(spec.roles),
            "software": spec.software,
            "seed": spec.seed,
            **_hosts(spec.fleet),
        }

    def declare(self) -> dict[str, Any]:
        """Fields of the study's manifest."""
        spec = self.spec
        settings = {"machine": describe_machine(spec.machine), **spec.software}
        return {
            "profile": ProfileRecord.from_profile(spec.profile),
            "seed": spec.seed,
            "driver_threads": 1,
            "system": SystemRecord(SystemKind.TILES, settings),
            "placement": describe_placement(self._largest),
            "notes": spec.notes,
            "clock": Clock.REAL,
            "workloads": (StudiedWorkload(spec.tile.name, spec.tile.header.title),),
        }


def _hosts(fleet: FleetSpec | None) -> dict[str, Any]:
    """Of studies on other hosts, so that those on this one are what they were."""
    return {} if fleet is None else {"fleet": fleet.model_dump(mode="json")}


def _digest(folder: Path) -> str:
    return hashlib.sha256((folder / "workload.toml").read_bytes()).hexdigest()
