"""What the page lists: results and studies of a folder, newest first, narrowed by words."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from loadstone.model.errors import StoreError
from loadstone.model.records.manifest import Manifest, Status, StudyManifest
from loadstone.model.records.verdict import Headline
from loadstone.store.folder import REJUDGED, RUNS, VERDICT, is_folder
from loadstone.store.read import KEPT_MANIFESTS, catalogue, read_verdict
from loadstone.store.study import ANSWER, is_study, read_answer, studies
from loadstone.study.registry import kind_of


@dataclass(frozen=True)
class ListRow:
    """A line of the list."""

    name: str
    kind: str
    """`run`, or the kind of study."""
    started: str
    status: str
    profile: str
    what: str
    """Workloads with their loads."""
    verdicts: tuple[tuple[str, str], ...]
    """Workload and verdict, of runs."""
    target: str = ""
    """Where the load of a run went."""
    notes: str = ""
    """What the user noted."""
    headlines: tuple[Headline | None, ...] = ()
    """Of each workload's last iteration, in the order of the verdicts."""

    def says(self, query: str) -> bool:
        """Whether every one of the words occurs in the line."""
        parts = [self.name, self.kind, self.status, self.profile, self.what, self.target, self.notes]
        text = " ".join([*parts, *map(" ".join, self.verdicts)])
        return all(term in text.lower() for term in query.lower().split())


PAGE = 100
"""Lines that are shown at once."""


@dataclass(frozen=True)
class Listed:
    """A page of the list."""

    rows: tuple[ListRow, ...]
    page: int
    """Counted from 1."""
    pages: int
    count: int
    """Of all lines that match."""


def rows(results: Path, query: str = "") -> list[ListRow]:
    """The list, newest first."""
    matching = [row for row in (*_runs(results), *_studies(results)) if row.says(query)]
    return sorted(matching, key=lambda row: row.name, reverse=True)


def page_of(results: Path, query: str, page: int) -> Listed:
    """One page of it; of a page that there is none of, the nearest."""
    matching = rows(results, query)
    pages = max(1, -(-len(matching) // PAGE))
    page = min(max(1, page), pages)
    return Listed(tuple(matching[(page - 1) * PAGE : page * PAGE]), page, pages, len(matching))


def _runs(results: Path) -> Iterator[ListRow]:
    for path, manifest in catalogue(results):
        loads = ", ".join(f"{criteria.workload}: {criteria.load_in_words}" for criteria in manifest.criteria)
        verdicts, headlines = _judged(path)
        row = _row(path, manifest, "run", loads, verdicts)
        yield replace(row, target=manifest.target, headlines=headlines)


def _judged(path: Path) -> tuple[tuple[tuple[str, str], ...], tuple[Headline | None, ...]]:
    """Verdict and figures of each workload; read once for each time that they were written."""
    try:
        return _read_judged(path, tuple(_written_ns(path / name) for name in (REJUDGED, VERDICT)))
    except StoreError:
        return (("all", "unreadable"),), ()


def _written_ns(file: Path) -> int:
    try:
        return file.lstat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(KEPT_MANIFESTS)
def _read_judged(
    path: Path, written_ns: tuple[int, ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[Headline | None, ...]]:
    verdict = read_verdict(path)
    if verdict is None:
        return (), ()
    verdicts = tuple((workload.workload, workload.verdict.value) for workload in verdict.workloads)
    iterations = (workload.iterations for workload in verdict.workloads)
    return verdicts, tuple(each[-1].headline if each else None for each in iterations)


def _studies(results: Path) -> Iterator[ListRow]:
    for path, manifest in studies(results):
        headlines = _headlines(path, manifest.kind)
        answers = [
            f"{workload.workload}: {headlines.get(workload.workload, 'nothing yet')}" for workload in manifest.workloads
        ]
        yield _row(path, manifest, manifest.kind, "; ".join(answers), ())


def _headlines(path: Path, kind: str) -> dict[str, str]:
    """What a study says of each workload, in one sentence."""
    try:
        written_ns = (path / ANSWER).lstat().st_mtime_ns
        return _first_lines(path, kind, written_ns)
    except (OSError, StoreError):
        return {}


@lru_cache(KEPT_MANIFESTS)
def _first_lines(path: Path, kind: str, written_ns: int) -> dict[str, str]:
    """Read once for each time an answer was written."""
    answer = read_answer(path, kind_of(kind).adapter)
    return {part.workload: part.headline[0] for part in answer.parts if part.headline}


def _row(
    path: Path, manifest: Manifest | StudyManifest, kind: str, subject: str, verdicts: tuple[tuple[str, str], ...]
) -> ListRow:
    started = manifest.started[:19].replace("T", " ")
    notes = ", ".join(f"{name}={text}" for name, text in manifest.notes.items())
    return ListRow(path.name, kind, started, manifest.status, manifest.profile.name, subject, verdicts, notes=notes)


def find(results: Path, name: str) -> Path:
    """The folder of a result, of a study (`NAME`) or of a study's run (`NAME/runs/NAME`); raises StoreError.

    Only what the catalogue itself would list is found, so no name leads anywhere else; links are none of it.
    """
    study, _, run = name.partition(f"/{RUNS}/")
    above = results / study
    below = above / RUNS if run else results
    is_inside = "/" not in study and ".." not in study and (not run or (is_folder(above) and is_folder(below)))
    for path in below.iterdir() if is_inside and below.is_dir() else ():
        if path.name == (run or study) and is_folder(path):
            return path
    raise StoreError(f"There is no result `{name}`.")


def running(results: Path) -> Path | None:
    """The run that is under way, of its own or in a study; the one begun last where there are several."""
    listed = list(catalogue(results))
    for path, manifest in studies(results):
        if manifest.status is Status.RUNNING:
            listed += list(catalogue(path / RUNS))
    alive = [(manifest.started, path) for path, manifest in listed if manifest.status is Status.RUNNING]
    return max(alive)[1] if alive else None


__all__ = ["ListRow", "Listed", "find", "is_study", "page_of", "rows", "running"]
