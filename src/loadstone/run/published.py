"""Taking published iterations into the store: as a result that can be judged, reported and compared like any other."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from loadstone.model.errors import UsageError
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.workload import Workload
from loadstone.run.criteria import make_criteria
from loadstone.run.disclosure import read_declarations
from loadstone.run.imported import declare_published, store_published
from loadstone.store.figures import write_figures
from loadstone.store.folder import ResultFolder
from loadstone.store.published import read_published
from loadstone.workloads import load


def import_published(file: Path, sessions: Mapping[str, int], results: Path, name: str) -> Path:
    """Makes a judged result of a file of published iterations; returns its folder. Raises LoadstoneError."""
    published = read_published(file)
    if set(sessions) != set(published):
        wanted = ",".join(f"{workload}=N" for workload in published)
        raise UsageError(f"The number of sessions of each workload is missing. Add --sessions {wanted}.")
    workloads = {name: load(name) for name in published}
    for workload_name, iterations in published.items():
        _check(workloads[workload_name], {page.name for figures in iterations.values() for page in figures.operations})
    counts = {len(iterations) for iterations in published.values()}
    seconds = {figures.steady_s for iterations in published.values() for figures in iterations.values()}
    profile = replace(PROFILES["full"].with_phases(steady_s=max(seconds)), iterations=max(counts))
    criteria = [
        make_criteria(workloads[name], profile, Population(sessions[name]), shipped=False) for name in published
    ]
    manifest = declare_published(
        file, name, profile, criteria=tuple(criteria), declarations=read_declarations(workloads.items())
    )

    def write(folder: ResultFolder) -> None:
        for label, iterations in published.items():
            for number, figures in enumerate(iterations.values(), start=1):
                write_figures(folder.run(label, number).path, figures)

    return store_published(manifest, results, write)


def _check(workload: Workload, pages: set[str]) -> None:
    unknown = sorted(pages - set(workload.operations))
    if unknown:
        raise UsageError(
            f"`{workload.name}` has no operation {', '.join(unknown)}. Use the page names of its declaration."
        )
