"""A run of tiles as a deployment: six machines a tile, all loads at once in one measured window."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from loadstone.fleet.open import OpenFleet
from loadstone.model.errors import UsageError
from loadstone.model.fleet import HostRole
from loadstone.model.machine import MachineSpec
from loadstone.model.records.manifest import (
    Manifest,
    ProfileRecord,
    Settings,
    SystemKind,
    SystemRecord,
    TileDeclaration,
    TileEntry,
)
from loadstone.model.role import MachineRole
from loadstone.model.selector import merge_roles
from loadstone.model.tile import Role
from loadstone.platforms.roles import refuse_unknown_roles
from loadstone.run.criteria import make_criteria
from loadstone.run.deployment import Round, RoundJobs
from loadstone.run.disclosure import make_manifest, read_declarations, record_machine, record_roles
from loadstone.run.driver_loads import RoleTargets, compile_loads
from loadstone.run.executor import DriverJob, StartMode
from loadstone.run.plan import LOGGED, Timing
from loadstone.run.seeds import derive_tile_seed
from loadstone.run.spec import Beginning
from loadstone.run.tiles.spec import (
    PLAYED_BY,
    TilesSpec,
    build_polling,
    compute_maxima,
    list_tile_parts,
)
from loadstone.store.folder import ResultFolder
from loadstone.testbed import Testbed
from loadstone.testbed.machines import PlannedMachine
from loadstone.testbed.tiles import start_tiles
from loadstone.testbed.up import TileUp
from loadstone.workloads import is_unchanged


@dataclass(frozen=True)
class TilesRun:
    """Tiles under all their loads at once; with a power meter, a round of active idle follows."""

    spec: TilesSpec
    authority: str | None = None
    """None: the lab starts all servers."""

    @property
    def results(self) -> Path:
        """Folder in which the result's folder is created."""
        return self.spec.results

    def check(self) -> None:
        """Raises UsageError for settings of a machine that is not there, or that its platform lacks."""
        spec = self.spec
        if spec.machine.count > 1:
            raise UsageError("`count` cannot be set: a tile has one machine of each role. Use --tiles for more tiles.")
        refuse_unknown_roles(spec.roles, dict.fromkeys(Role, len(spec.loads)))
        self.plan_machines()
        if spec.fleet is None:
            spec.system.check_services()

    def plan_machines(self) -> Sequence[PlannedMachine]:
        """Returns the machines of all tiles. Raises UsageError."""
        return self.spec.system.plan_machines()

    @property
    def declared_machines(self) -> Sequence[MachineSpec]:
        """Returns the machine as declared for all roles."""
        return (self.spec.machine,)

    def declare_manifest(self) -> Manifest:
        """Returns the manifest of a run that begins now."""
        return _manifest(self.spec)

    def choose_cores(self) -> None:
        """Returns None: drivers of tiles have no cores of their own."""

    async def check_target(self) -> tuple[str, ...]:
        """Returns nothing: no system is run by others."""
        return ()

    def open(self, logs: Path, fleet: OpenFleet | None) -> AbstractAsyncContextManager[Testbed]:
        """Puts all tiles up; they are down when the block ends."""
        return start_tiles(self.spec.system, logs, fleet)

    def plan_rounds(self) -> Sequence[Round]:
        """Returns the loaded round, and one of active idle where power is measured."""
        spec = self.spec
        loaded = Round(spec.compute_phases(1), partial(_loaded, spec), _beginning(spec))
        return [loaded, *([Round(spec.idle_phases, partial(_active_idle, spec))] if spec.power else [])]


def _loaded(spec: TilesSpec, testbed: Testbed, folder: ResultFolder) -> RoundJobs:
    """Returns the drivers of all tiles, and the application of each tile."""
    played = [_loaded_tile(spec, tile, folder) for tile in testbed.tiles]
    return RoundJobs([job for tile in played for job in tile.jobs], [audit for tile in played for audit in tile.audits])


def _loaded_tile(spec: TilesSpec, tile: TileUp, folder: ResultFolder) -> RoundJobs:
    parts = list_tile_parts(spec, spec.loads[tile.number - 1])
    timing = Timing(spec.compute_phases(tile.number), log_operations=LOGGED if spec.fault is not None else 0)
    targets: RoleTargets = {str(role): (target,) for role, target in tile.targets.items()}
    jobs, audits = [], []
    for driver, kinds in PLAYED_BY.items():
        loads = compile_loads([part for part in parts if part.kind in kinds], timing)
        name = str(MachineRole(driver, tile=tile.number))
        job = loads.prepare(name, targets, derive_tile_seed(spec.seed, tile.number), folder, 1)
        jobs.append(replace(_on_tile(spec, tile, job), after_s=spec.stagger_s * (tile.number - 1)))
        audits += loads.list_audits(job, targets)
    return RoundJobs(jobs, audits)


def _active_idle(spec: TilesSpec, testbed: Testbed, folder: ResultFolder) -> RoundJobs:
    """Returns a driver for each tile that sends heartbeats to all its machines."""
    return RoundJobs([_poll(spec, tile, folder) for tile in testbed.tiles])


def _poll(spec: TilesSpec, tile: TileUp, folder: ResultFolder) -> DriverJob:
    part = build_polling(spec, tile.number)
    targets = {part.role: tuple(tile.heartbeats.values())}
    job = compile_loads([part], Timing(spec.idle_phases)).prepare(part.label, targets, spec.seed, folder, 1)
    return _on_tile(spec, tile, job)


def _hosts(spec: TilesSpec, tile: TileUp) -> tuple[str, ...]:
    """The host whose drivers load a tile: tiles are dealt to those that make load."""
    hosts = spec.fleet.with_role(HostRole.DRIVER) if spec.fleet is not None else ()
    return (hosts[(tile.number - 1) % len(hosts)],) if hosts else ()


def _on_tile(spec: TilesSpec, tile: TileUp, job: DriverJob) -> DriverJob:
    """A driver of a tile: it starts with all others, and only its own tile's machines are in its record."""
    role = f"{job.name}-driver"
    drivers = {str(MachineRole(f"{driver}-driver", tile=tile.number)) for driver in PLAYED_BY}
    members = frozenset({*tile.roles, *drivers, role})
    return replace(job, role=role, start=StartMode.TOGETHER, hosts=_hosts(spec, tile), members=members)


def describe_placement(spec: TilesSpec) -> dict[str, Settings]:
    """Returns what is declared of machines, as kept: only what was declared other than usual."""
    roles = merge_roles(spec.tile.list_settings(len(spec.loads)), spec.roles)
    return {"machine": record_machine(spec.machine), **record_roles(roles)}


def _beginning(spec: TilesSpec) -> Beginning:
    fraction = "" if spec.loads[-1].pct == 100 else f", the last at {spec.loads[-1].pct} %"
    count = len(spec.loads)
    seconds = spec.phases.total_s + spec.stagger_s * (count - 1)
    return Beginning(f"{count} {spec.tile.name} tile{'s' * (count != 1)}{fraction}", "all loads at once", 1, 1, seconds)


def _manifest(spec: TilesSpec) -> Manifest:
    loaded = [part for load in spec.loads for part in list_tile_parts(spec, load)]
    polls = [build_polling(spec, load.number) for load in spec.loads] if spec.power else []
    at_idle = replace(spec.profile, phases=spec.idle_phases)
    profiles = [*((part, spec.profile) for part in loaded), *((part, at_idle) for part in polls)]
    return make_manifest(
        name=spec.name,
        profile=ProfileRecord.from_profile(spec.profile),
        seed=spec.seed,
        driver_threads=1,
        together=True,
        key=spec.key,
        system=SystemRecord(SystemKind.TILES, spec.software),
        placement=describe_placement(spec),
        notes=spec.notes,
        target="not up yet",
        tile=TileDeclaration(
            name=spec.tile.name,
            title=spec.tile.header.title,
            loads=spec.tile.loads.model_dump(),
            maxima=compute_maxima(spec.tile).record,
            stagger_s=spec.stagger_s,
            file_store=spec.system.file_store,
            machines={role.value: spec.system.get_machine(1, role).model_dump(mode="json") for role in Role},
        ),
        tiles=tuple(TileEntry(load.number, load.pct, spec.group_of(load.number)) for load in spec.loads),
        criteria=tuple(
            make_criteria(
                part.workload,
                profile,
                part.load,
                is_unchanged(part.id.workload),
                driver_limits=spec.driver_limits,
                is_ours=part in loaded,
                identity=part.id,
                is_bent=part.curve is not None,
            )
            for part, profile in profiles
        ),
        declarations=read_declarations((part.label, part.workload) for part in (*loaded, *polls)),
    )
