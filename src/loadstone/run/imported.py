"""Results of figures that others have published: declared, stored, judged and sealed as those of a run."""

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from loadstone.model.figures import Criteria
from loadstone.model.files import read_bytes
from loadstone.model.profile import Profile
from loadstone.model.records.manifest import HostFacts, ImportedFrom, Manifest, ProfileRecord, SystemKind, SystemRecord
from loadstone.model.records.status import Status
from loadstone.run.disclosure import read_origin
from loadstone.run.judging import judge
from loadstone.store.folder import ResultFolder


def declare_published(
    file: Path,
    name: str,
    profile: Profile,
    criteria: tuple[Criteria, ...] = (),
    declarations: Mapping[str, str] | None = None,
) -> Manifest:
    """Returns the manifest of a published system whose figures are in a file. Raises LoadstoneError where the file
    cannot be read.
    """
    origin = read_origin()
    return Manifest(
        started=origin.started,
        command=origin.command,
        versions=origin.versions,
        host=HostFacts(),  # the machine that was measured is not this one
        name=name,
        imported=ImportedFrom(file.name, hashlib.sha256(read_bytes(file)).hexdigest()),
        profile=ProfileRecord.from_profile(profile, "as published"),
        seed=0,
        driver_threads=0,
        system=SystemRecord(SystemKind.PUBLISHED),
        target=f"a published system; figures from {file.name}, not measured here",
        criteria=criteria,
        declarations=declarations or {},
    )


def store_published(
    manifest: Manifest, results: Path, write: Callable[[ResultFolder], None] = lambda folder: None
) -> Path:
    """Stores a judged and sealed result, whose figures `write` puts into its folder; returns the folder."""
    folder = ResultFolder.create(results, manifest)
    write(folder)
    folder.mark(Status.COMPLETE, "", datetime.now(UTC))
    judge(folder.path)
    folder.seal()
    return folder.path
