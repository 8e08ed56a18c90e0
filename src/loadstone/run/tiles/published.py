"""Taking a printed table of tiles into the store: a result for each system, judged as far as it was disclosed."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from loadstone.judge.audits import SECONDS
from loadstone.judge.check import UNDISCLOSED
from loadstone.judge.consolidation import CLASSIC
from loadstone.judge.tiles import StoredTile
from loadstone.model.files import read_bytes
from loadstone.model.profile import PROFILES
from loadstone.model.records.manifest import (
    HostFacts,
    ImportedFrom,
    Manifest,
    ProfileRecord,
    Status,
    SystemKind,
    SystemRecord,
    TileDeclaration,
    TileEntry,
)
from loadstone.run.disclosure import make_manifest
from loadstone.run.judging import judge
from loadstone.run.tiles.table import SYSTEM_COLUMNS, read_systems
from loadstone.store.folder import ResultFolder


def import_tiles(file: Path, results: Path, name: str) -> list[Path]:
    """Makes a judged result of each system of a table; returns their folders. Raises LoadstoneError."""
    systems = read_systems(file)
    names = {system: name if len(systems) == 1 else f"{name}-{system}" for system in systems}
    return [_import_system(file, results, names[system], tiles) for system, tiles in systems.items()]


def _import_system(file: Path, results: Path, name: str, tiles: Sequence[StoredTile]) -> Path:
    manifest = _declare(file, name, tiles)
    # The machine they were measured on is not this one.
    folder = ResultFolder.create(results, replace(manifest, host=HostFacts()))
    folder.mark(Status.COMPLETE, "", datetime.now(UTC))
    judge(folder.path)
    folder.seal()
    return folder.path


def _declare(file: Path, name: str, tiles: Sequence[StoredTile]) -> Manifest:
    seconds = float(tiles[0].groups.get("seconds") or SECONDS)
    profile = PROFILES["full"].with_phases(steady_s=seconds)
    return make_manifest(
        name=name,
        imported=ImportedFrom(file.name, hashlib.sha256(read_bytes(file)).hexdigest()),
        profile=ProfileRecord.from_profile(profile, "as published"),
        seed=0,
        driver_threads=0,
        system=SystemRecord(SystemKind.PUBLISHED),
        target=f"a published system; figures from {file.name}, not measured here",
        criteria=(),
        tile=TileDeclaration("published", "Published tile", {}, CLASSIC.record, 0.0, UNDISCLOSED, {}),
        tiles=tuple(map(_enter, tiles)),
    )


def _enter(tile: StoredTile) -> TileEntry:
    """Returns a tile with its row; the system that it ran on is a group of it."""
    groups = {name: tile.groups[name] for name in SYSTEM_COLUMNS if tile.groups.get(name)}
    return TileEntry(tile.number, tile.pct_load, groups, {name: text for name, text in tile.groups.items() if text})
