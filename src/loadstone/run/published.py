"""Taking published iterations into the store: as a result that can be judged, reported and compared like any other."""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadstone.measure import facts as host
from loadstone.model.errors import UsageError
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.workload import Workload
from loadstone.run.criteria import make_terms
from loadstone.run.runner import judge
from loadstone.store.folder import ResultFolder, Status
from loadstone.store.published import FIGURES, as_document, read_published
from loadstone.workloads import load

Json = dict[str, Any]


def take_in(file: Path, sessions: Mapping[str, int], results: Path, name: str) -> Path:
    """Makes a judged result of a file of published iterations; returns its folder. Raises LoadstoneError."""
    published = read_published(file)
    if set(sessions) != set(published):
        wanted = ",".join(f"{workload}=N" for workload in published)
        raise UsageError(f"Say how many sessions each of its workloads had: --sessions {wanted}.")
    workloads = {one: load(one) for one in published}
    for one, iterations in published.items():
        _check(workloads[one], {page.name for figures in iterations.values() for page in figures.operations})
    counts = {len(iterations) for iterations in published.values()}
    seconds = {figures.steady_s for iterations in published.values() for figures in iterations.values()}
    profile = replace(PROFILES["full"].changed(steady_s=max(seconds)), iterations=max(counts))
    terms = [make_terms(workloads[one], profile, Population(sessions[one]), shipped=False) for one in published]
    manifest = {
        "command": sys.argv,
        "imported": {"file": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()},
        "profile": {"name": "as published", "about": profile.about, **asdict(profile.phases)},
        "seed": 0,
        "driver_threads": 0,
        "joining_drivers": 0,
        "together": False,
        "clock": "real",
        "key": "",
        "system": {"kind": "published"},
        "target": f"a published system; figures from {file.name}, not measured here",
        "verify_certificates": True,
        "versions": host.versions(),
        "host": {"cores": None, "mitigations": {}, "cgroup_limits": {}},
        "terms": [asdict(one) for one in terms],
        "declarations": {one: (held.folder / "workload.toml").read_text() for one, held in workloads.items()},
    }
    folder = ResultFolder.create(results, name, datetime.now(UTC), manifest)
    for one, iterations in published.items():
        for number, figures in enumerate(iterations.values(), start=1):
            folder.run(one, number).write(FIGURES, as_document(figures))
    folder.mark(Status.COMPLETE, "", datetime.now(UTC))
    folder.seal()
    judge(folder.path)
    return folder.path


def _check(workload: Workload, pages: set[str]) -> None:
    unknown = sorted(pages - set(workload.operations))
    if unknown:
        raise UsageError(
            f"`{workload.name}` has no operation {', '.join(unknown)}. Name pages as its declaration does."
        )
