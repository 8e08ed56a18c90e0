"""The manifest of a run, from its specification: everything that is declared before anything is started."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from loadstone.model.figures import Criteria
from loadstone.model.profile import Profile
from loadstone.model.records.manifest import Manifest, ProfileRecord, TileDeclaration, TileEntry
from loadstone.model.system import Reference
from loadstone.model.target import Target
from loadstone.model.tile import Role
from loadstone.model.tiles import Tiles
from loadstone.model.workload import Workload
from loadstone.run.criteria import make_criteria
from loadstone.run.disclosure import read_declarations, read_origin, record_placement, record_system
from loadstone.run.plan import WorkloadLoad
from loadstone.run.spec import RunSpec
from loadstone.run.tiles.spec import compute_maxima
from loadstone.testbed.tiles import PlacedTiles
from loadstone.workloads import is_unchanged, list_shipped, load


def declare_manifest(spec: RunSpec) -> Manifest:
    """Returns the manifest of a run that begins now."""
    origin = read_origin()
    manifest = Manifest(
        started=origin.started,
        command=origin.command,
        versions=origin.versions,
        host=origin.host,
        name=spec.name,
        profile=ProfileRecord.from_profile(spec.profile),
        seed=spec.seed,
        driver_threads=spec.threads,
        joining_drivers=spec.joining.drivers if spec.joining else 0,
        together=spec.together,
        clock=spec.clock,
        key=spec.key,
        system=record_system(spec.system),
        placement=record_placement(spec.system, spec.placement),
        notes=spec.notes,
        target="not up yet",
        verify_certificates=not isinstance(spec.system, Target) or spec.system.verify,
        criteria=tuple(list_criteria(spec)),
        declarations=read_declarations((part.label, part.workload) for part in spec.parts),
    )
    return _with_tiles(manifest, spec, spec.system) if isinstance(spec.system, Tiles) else manifest


def _with_tiles(manifest: Manifest, spec: RunSpec, tiles: Tiles) -> Manifest:
    """Returns the manifest with what the score of its tiles is computed from."""
    tile, placed = tiles.tile, PlacedTiles(tiles, spec.placement)
    declaration = TileDeclaration(
        name=tile.name,
        title=tile.header.title,
        loads=tile.loads.model_dump(),
        maxima=compute_maxima(tile).record,
        stagger_s=spec.stagger_s,
        file_store=placed.file_store,
        machines={role.value: placed.get_machine(1, role).model_dump(mode="json") for role in Role},
    )
    entries = tuple(TileEntry(load.number, load.pct, tiles.group_of(load.number)) for load in tiles.loads)
    return replace(manifest, tile=declaration, tiles=entries)


def list_criteria(spec: RunSpec) -> Iterator[Criteria]:
    """Yields the criteria of each load of a run."""
    is_ours = isinstance(spec.system, Reference | Tiles)
    for part in spec.parts:
        yield make_criteria(
            part.workload,
            _choose_profile(spec, part),
            part.load,
            is_shipped_part(part),
            spec.driver_limits,
            is_ours,
            identity=part.id,
            is_bent=part.curve is not None,
        )


def _choose_profile(spec: RunSpec, part: WorkloadLoad) -> Profile:
    """Returns the profile that a load is judged by, whose window is that of all copies."""
    return replace(spec.profile, phases=spec.compute_phases(part)) if part.is_idle else spec.profile


def is_shipped_part(part: WorkloadLoad) -> bool:
    """Whether a load is one of a workload that comes with the program. Tiles adapt theirs to the declared tile."""
    return is_shipped(part.workload) if part.tile_id is None else is_unchanged(part.id.workload)


def is_shipped(workload: Workload) -> bool:
    """Whether a workload is one that comes with the program, unchanged."""
    name = workload.header.name
    is_ours = list_shipped().get(name) == workload.folder and is_unchanged(name)
    return is_ours and workload == _load_shipped(f"{name}:{workload.mix_name}")


@cache
def _load_shipped(name: str) -> Workload:
    """A shipped workload, which is read once: a study compares it with the workload of each run."""
    return load(name)
