"""Taking published iterations into the store: as a result that can be judged, reported and compared like any other."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from loadstone.model.errors import UsageError
from loadstone.model.figures import IterationFigures
from loadstone.model.load import Population
from loadstone.model.printed_monitors import HOST_MACHINE
from loadstone.model.profile import PROFILES
from loadstone.model.topology import get_topology
from loadstone.model.workload import Workload
from loadstone.run.criteria import make_criteria
from loadstone.run.disclosure import read_declarations
from loadstone.run.imported import declare_published, store_published
from loadstone.store.figures import write_figures
from loadstone.store.folder import ResultFolder
from loadstone.store.printed_monitors import MONITOR_TABLE
from loadstone.store.published import TABLE_KINDS, list_unread_tables, read_published
from loadstone.workloads import load

DRIVER_MACHINE = "driver"
"""Name of the machines that generate the load."""
REPLICA = re.compile(r"-[0-9]+$")
"""Number of a machine among several of its role."""


def import_published(file: Path, sessions: Mapping[str, int], results: Path, name: str) -> Path:
    """Makes a judged result of a file of published iterations; returns its folder. Raises LoadstoneError."""
    published = read_published(file)
    if set(sessions) != set(published):
        wanted = ",".join(f"{workload}=N" for workload in published)
        raise UsageError(f"The number of sessions of each workload is missing. Add --sessions {wanted}.")
    workloads = {name: load(name) for name in published}
    for workload_name, iterations in published.items():
        _check(workloads[workload_name], {page.name for figures in iterations.values() for page in figures.operations})
        _check_machines(workloads[workload_name], iterations.values())
    counts = {len(iterations) for iterations in published.values()}
    seconds = {figures.steady_s for iterations in published.values() for figures in iterations.values()}
    profile = replace(PROFILES["full"].with_phases(steady_s=max(seconds)), iterations=max(counts))
    criteria = [
        make_criteria(workloads[name], profile, Population(sessions[name]), shipped=False) for name in published
    ]
    declarations = read_declarations(workloads.items())
    manifest = declare_published(file, name, profile, criteria=tuple(criteria), declarations=declarations)
    manifest = replace(manifest, notices=tuple(map(_describe_unread, list_unread_tables(file))))

    def write(folder: ResultFolder) -> None:
        for label, iterations in published.items():
            for number, figures in enumerate(iterations.values(), start=1):
                write_figures(folder.run(label, number).path, figures)

    return store_published(manifest, results, write)


def _describe_unread(table: str) -> str:
    known = ", ".join(f"`{name}`" for name in (*TABLE_KINDS, MONITOR_TABLE))
    return f"The table `{table[:60]}` is not known and was not read. Names of tables begin with {known}."


def _check_machines(workload: Workload, iterations: Iterable[IterationFigures]) -> None:
    """Checks the machines of monitors. Raises UsageError for one that the workload's system does not have."""
    roles = [role.name for role in get_topology(workload.header.needs).roles]
    known = (HOST_MACHINE, DRIVER_MACHINE, *roles)
    machines = {figure.subject.machine for figures in iterations for figure in figures.monitors}
    unknown = sorted(name for name in machines if REPLICA.sub("", name) not in known)
    if unknown:
        names, roles_text = ", ".join(f"`{name[:60]}`" for name in unknown), ", ".join(known)
        raise UsageError(
            f"`monitors of` names {names}, which `{workload.name}` does not have. Known machines: {roles_text}; "
            "`web-2` is the second of several."
        )


def _check(workload: Workload, pages: set[str]) -> None:
    unknown = sorted(pages - set(workload.operations))
    if unknown:
        raise UsageError(
            f"`{workload.name}` has no operation {', '.join(unknown)}. Use the page names of its declaration."
        )
