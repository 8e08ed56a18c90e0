"""What a study's runs are made from: single runs of workloads, or runs of tiles. The runner knows no more."""

import hashlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from loadstone.model.fleet import FleetSpec
from loadstone.model.profile import Profile
from loadstone.model.records.manifest import ProfileRecord, StudiedWorkload, SystemKind, SystemRecord
from loadstone.model.records.result import Result
from loadstone.model.system import Clock
from loadstone.platforms.registry import described
from loadstone.run.disclosure import machine_record, placement_record, system_record
from loadstone.run.executor import Listener
from loadstone.run.runner import Begin, check, run
from loadstone.run.seeds import seed_of_run
from loadstone.run.spec import RunSpec
from loadstone.run.tiles.runner import run_tiles
from loadstone.run.tiles.spec import TilesSpec
from loadstone.study.parameters import apply
from loadstone.study.summary import RunRequest, RunSummary, summarize, summarize_tiles
from loadstone.study.tenths import tenths_of, tile_loads


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
        """What came of it."""

    def identity(self) -> dict[str, Any]:
        """All that is not varied: what makes two studies the same, beside their question."""

    def declared(self) -> dict[str, Any]:
        """Fields of the study's manifest."""


@dataclass(frozen=True)
class WorkloadRuns:
    """Runs of one workload each, from a specification that the question's settings are applied to."""

    spec: RunSpec
    """It holds every workload that the study is about."""

    @property
    def results(self) -> Path:
        """Where the study's folder is made."""
        return self.spec.results

    def make_spec(self, request: RunRequest, runs: Path) -> RunSpec:
        """The specification of one run. Raises UsageError when a setting does not fit."""
        parts = tuple(part for part in self.spec.parts if part.workload.name == request.workload)
        seed = seed_of_run(self.spec.seed, request.seed)
        spec = replace(self.spec, name=request.key, key=request.key, parts=parts, seed=seed, results=runs)
        return apply(spec, request.settings)

    def check(self, request: RunRequest) -> None:
        """Says what cannot be run before anything is started; raises LoadstoneError."""
        check(self.make_spec(request, Path()))

    async def run(self, request: RunRequest, runs: Path, listener: Listener, begin: Begin) -> Path:
        """Makes a run into a folder below `runs`. Raises LoadstoneError."""
        return await run(self.make_spec(request, runs), listener, begin)

    def summarize(self, request: RunRequest, result: Result) -> RunSummary:
        """What came of it."""
        return summarize(request, result)

    def identity(self) -> dict[str, Any]:
        """Workloads as declared, and all settings."""
        spec = self.spec
        return {
            "workloads": {part.workload.name: _digest(part.workload.folder) for part in spec.parts},
            "loads": [str(part.load) for part in spec.parts],
            "profile": asdict(spec.profile),
            "seed": spec.seed,
            "threads": spec.threads,
            "system": asdict(system_record(spec.system)),
            "placement": placement_record(spec.placement),
            "clock": spec.clock,
            "fitness": asdict(spec.driver_limits),
            **_hosts(spec.fleet),
        }

    def declared(self) -> dict[str, Any]:
        """Fields of the study's manifest."""
        spec = self.spec
        return {
            "profile": ProfileRecord.from_profile(spec.profile),
            "seed": spec.seed,
            "driver_threads": spec.threads,
            "system": system_record(spec.system),
            "placement": placement_record(spec.placement),
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
class TileRuns:
    """Runs of tiles: full ones, and a fraction of one more."""

    spec: TilesSpec
    most_tiles: int

    @property
    def results(self) -> Path:
        """Where the study's folder is made."""
        return self.spec.results

    @property
    def profile(self) -> Profile:
        """How long runs are."""
        return self.spec.profile

    def make_spec(self, request: RunRequest, runs: Path) -> TilesSpec:
        """The specification of one run."""
        loads = tile_loads(tenths_of(request))
        seed = seed_of_run(self.spec.seed, request.seed)
        return replace(self.spec, loads=loads, name=request.key, key=request.key, results=runs, seed=seed)

    def check(self, request: RunRequest) -> None:
        """Nothing of a tile depends on the load."""

    async def run(self, request: RunRequest, runs: Path, listener: Listener, begin: Begin) -> Path:
        """Makes a run into a folder below `runs`. Raises LoadstoneError."""
        return await run_tiles(self.make_spec(request, runs), listener, begin)

    def summarize(self, request: RunRequest, result: Result) -> RunSummary:
        """What came of it."""
        return summarize_tiles(request, result)

    def identity(self) -> dict[str, Any]:
        """The tile as declared, and all settings."""
        spec = self.spec
        return {
            "tile": str(spec.tile),
            "phases": asdict(spec.phases),
            "most": self.most_tiles,
            "machine": spec.machine.model_dump(mode="json"),
            "software": [spec.database, spec.imap, spec.store],
            "seed": spec.seed,
            **_hosts(spec.fleet),
        }

    def declared(self) -> dict[str, Any]:
        """Fields of the study's manifest."""
        spec = self.spec
        software = {"database": spec.database, "imap": spec.imap, "store": spec.store}
        settings = {"machine": described(spec.machine), **software}
        return {
            "profile": ProfileRecord.from_profile(spec.profile),
            "seed": spec.seed,
            "driver_threads": 1,
            "system": SystemRecord(SystemKind.TILES, settings),
            "placement": {"machine": machine_record(spec.machine)},
            "clock": Clock.REAL,
            "workloads": (StudiedWorkload(spec.tile.name, spec.tile.header.title),),
        }


def _hosts(fleet: FleetSpec | None) -> dict[str, Any]:
    """Of studies on other hosts, so that those on this one are what they were."""
    return {} if fleet is None else {"fleet": fleet.model_dump(mode="json")}


def _digest(folder: Path) -> str:
    return hashlib.sha256((folder / "workload.toml").read_bytes()).hexdigest()
