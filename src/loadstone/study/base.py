"""The runs of a study, from one specification: its requests vary settings, or the number of tiles."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from loadstone.model.fleet import FleetSpec
from loadstone.model.records.manifest import Settings, StudiedWorkload, SystemKind, SystemRecord
from loadstone.model.records.result import Result
from loadstone.model.selector import limit_copies
from loadstone.platforms.registry import describe_machine
from loadstone.run.disclosure import record_placement, record_roles, record_system
from loadstone.run.executor import Listener
from loadstone.run.runner import check, run
from loadstone.run.seeds import derive_run_seed
from loadstone.run.spec import Begin, RunSpec
from loadstone.run.tiles.spec import get_tiles, replace_tile_loads
from loadstone.study.parameters import apply
from loadstone.study.summary import RunRequest, RunSummary, summarize, summarize_tiles
from loadstone.study.tenths import FULL, get_tenths, list_tile_loads


@dataclass(frozen=True)
class StudiedRuns:
    """What the manifest of a study states of all its runs."""

    spec: RunSpec
    system: SystemRecord
    placement: Mapping[str, Settings]
    workloads: tuple[StudiedWorkload, ...]


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

    def declare(self) -> StudiedRuns:
        """Returns what the study's manifest states of all its runs."""


class Runs(ABC):
    """Runs from one specification, which each request varies."""

    spec: RunSpec

    @property
    def results(self) -> Path:
        """Where the study's folder is made."""
        return self.spec.results

    @abstractmethod
    def make_spec(self, request: RunRequest, runs: Path) -> RunSpec:
        """The specification of one run. Raises UsageError when a setting does not fit."""

    def check(self, request: RunRequest) -> None:
        """Says what cannot be run before anything is started; raises LoadstoneError."""
        check(self.make_spec(request, Path()))

    async def run(self, request: RunRequest, runs: Path, listener: Listener, begin: Begin) -> Path:
        """Makes a run into a folder below `runs`. Raises LoadstoneError."""
        return await run(self.make_spec(request, runs), listener, begin)

    def declare(self) -> StudiedRuns:
        """Returns what the study's manifest states of all its runs."""
        placement = record_placement(self._largest.system, self.spec.placement)
        return StudiedRuns(self.spec, self._record_system(), placement, self._list_workloads())

    @property
    def _largest(self) -> RunSpec:
        """The run with the most copies of the system."""
        return self.spec

    def _record_system(self) -> SystemRecord:
        return record_system(self.spec.system)

    @abstractmethod
    def _list_workloads(self) -> tuple[StudiedWorkload, ...]:
        """Returns what the answers of the study are about."""


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
            "placement": record_placement(spec.system, spec.placement),
            "clock": spec.clock,
            "fitness": asdict(spec.driver_limits),
            **_hosts(spec.fleet),
        }

    def _list_workloads(self) -> tuple[StudiedWorkload, ...]:
        workloads = [part.workload for part in self.spec.parts]
        return tuple(
            StudiedWorkload(workload.name, workload.header.title, workload.limits.good_s, workload.limits.tolerable_s)
            for workload in workloads
        )


@dataclass(frozen=True)
class TileRuns(Runs):
    """Runs of tiles: full ones, and a fraction of one more."""

    spec: RunSpec
    most_tiles: int

    def make_spec(self, request: RunRequest, runs: Path) -> RunSpec:
        """The specification of one run."""
        loads = list_tile_loads(get_tenths(request))
        seed = derive_run_seed(self.spec.seed, request.seed)
        roles = limit_copies(self.spec.placement.roles, len(loads))
        placement = replace(self.spec.placement, roles=roles)
        named = replace(self.spec, name=request.key, key=request.key, results=runs, seed=seed, placement=placement)
        return replace_tile_loads(named, loads)

    def check(self, request: RunRequest) -> None:
        """Checks the machines of all tiles that the search may reach, whatever the request. Raises UsageError."""
        check(self._largest)

    @property
    def _largest(self) -> RunSpec:
        """The run of the most tiles."""
        return replace_tile_loads(self.spec, list_tile_loads(self.most_tiles * FULL))

    def summarize(self, request: RunRequest, result: Result) -> RunSummary:
        """Returns the summary of a finished run of tiles."""
        return summarize_tiles(request, result)

    def identify(self) -> dict[str, Any]:
        """The tile as declared, and all settings."""
        spec, tiles = self.spec, get_tiles(self.spec)
        return {
            "tile": str(tiles.tile),
            "phases": asdict(spec.profile.phases),
            "most": self.most_tiles,
            "machine": spec.placement.machine.model_dump(mode="json"),
            "roles": record_roles(spec.placement.roles),
            "software": tiles.software,
            "seed": spec.seed,
            **_hosts(spec.fleet),
        }

    def _record_system(self) -> SystemRecord:
        settings = {"machine": describe_machine(self.spec.placement.machine), **get_tiles(self.spec).software}
        return SystemRecord(SystemKind.TILES, settings)

    def _list_workloads(self) -> tuple[StudiedWorkload, ...]:
        tile = get_tiles(self.spec).tile
        return (StudiedWorkload(tile.name, tile.header.title),)


def _hosts(fleet: FleetSpec | None) -> dict[str, Any]:
    """Of studies on other hosts, so that those on this one are what they were."""
    return {} if fleet is None else {"fleet": fleet.model_dump(mode="json")}


def _digest(folder: Path) -> str:
    return hashlib.sha256((folder / "workload.toml").read_bytes()).hexdigest()
