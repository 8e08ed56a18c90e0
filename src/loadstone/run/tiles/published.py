"""Taking a printed table of tiles into the store: a result for each system, judged as far as it was disclosed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from loadstone.judge.audits import SECONDS
from loadstone.judge.check import UNDISCLOSED
from loadstone.judge.consolidation import CLASSIC
from loadstone.judge.tiles import StoredTile
from loadstone.model.profile import PROFILES
from loadstone.model.records.manifest import Manifest, TileDeclaration, TileEntry
from loadstone.run.imported import declare_published, store_published
from loadstone.run.tiles.table import SYSTEM_COLUMNS, UNPRINTED, describe_unknown, list_unknown_columns, read_systems
from loadstone.store.printed_monitors import is_monitor_table


def import_tiles(file: Path, results: Path, name: str) -> list[Path]:
    """Makes a judged result of each system of a table; returns their folders. Raises LoadstoneError."""
    systems = read_systems(file)
    names = {system: name if len(systems) == 1 else f"{name}-{system}" for system in systems}
    first = next(iter(systems.values()))[0]  # each row has a value for each column
    notice = describe_unknown(list_unknown_columns(first.groups))
    manifests = (_declare(file, names[system], tiles) for system, tiles in systems.items())
    return [store_published(replace(manifest, notices=(notice,) if notice else ()), results) for manifest in manifests]


def _declare(file: Path, name: str, tiles: Sequence[StoredTile]) -> Manifest:
    seconds = float(tiles[0].groups.get("seconds") or SECONDS)
    manifest = declare_published(file, name, PROFILES["full"].with_phases(steady_s=seconds))
    tile = TileDeclaration("published", "Published tile", {}, CLASSIC.record, 0.0, UNDISCLOSED, {})
    return replace(manifest, tile=tile, tiles=tuple(map(_enter, tiles)))


def _enter(tile: StoredTile) -> TileEntry:
    """Returns a tile with its row; the system that it ran on is a group of it."""
    groups = {name: tile.groups[name] for name in SYSTEM_COLUMNS if tile.groups.get(name)}
    printed = {
        name: text for name, text in tile.groups.items() if text.lower() not in UNPRINTED and not is_monitor_table(name)
    }
    return TileEntry(tile.number, tile.pct_load, groups, printed, tile.monitors)
