"""Reads what lists show of a result or a study from its documents."""

from dataclasses import replace
from pathlib import Path

from loadstone.model.errors import StoreError
from loadstone.model.records.listed import ListedLoad, ListedResult, ListedVerdict
from loadstone.model.records.manifest import Manifest, StudyManifest
from loadstone.model.records.verdict import ResultVerdict
from loadstone.store.layout import STUDY
from loadstone.store.read import read_verdict, read_written_manifest
from loadstone.store.study import read_written_study


def read_listed(path: Path) -> ListedResult:
    """Reads what lists show of a folder. Raises StoreError where its manifest cannot be read."""
    return _listed_study(path) if (path / STUDY).exists() else _listed_run(path)


def _listed_study(path: Path) -> ListedResult:
    manifest = read_written_study(path)
    workloads = tuple(workload.workload for workload in manifest.workloads)
    return replace(_listed_head(manifest), study=manifest.kind, workloads=workloads)


def _listed_run(path: Path) -> ListedResult:
    manifest = read_written_manifest(path)
    loads = tuple(ListedLoad(each.workload, each.sessions, each.load_in_words) for each in manifest.criteria)
    workloads = tuple(load.workload for load in loads)
    listed = replace(_listed_head(manifest), target=manifest.target, loads=loads, workloads=workloads)
    try:
        verdict = read_verdict(path)
    except StoreError as error:
        return replace(listed, problem=str(error), tiles=_tiles(manifest, None))
    return replace(listed, verdicts=_verdicts(verdict), tiles=_tiles(manifest, verdict))


def _listed_head(manifest: Manifest | StudyManifest) -> ListedResult:
    """What runs and studies have in common, with the status as it was written."""
    return ListedResult(manifest.started, manifest.status, manifest.profile.name, notes=manifest.notes)


def _verdicts(verdict: ResultVerdict | None) -> tuple[ListedVerdict, ...]:
    workloads = verdict.workloads if verdict else ()
    return tuple(
        ListedVerdict(each.workload, each.verdict, each.iterations[-1].headline if each.iterations else None)
        for each in workloads
    )


def _tiles(manifest: Manifest, verdict: ResultVerdict | None) -> str:
    """A run of tiles in a line; empty for other runs."""
    if not manifest.is_of_tiles:
        return ""
    count, name = len(manifest.tiles), manifest.tile.name if manifest.tile else ""
    title = f"{count} {name} tile{'s' * (count != 1)}"
    if verdict is None or verdict.consolidation is None:
        return f"{title}: not judged"
    return f"{title}: {verdict.consolidation.score:g}, {verdict.whole}"
