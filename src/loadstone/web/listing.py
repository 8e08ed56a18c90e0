"""What the page lists: results and studies of a folder, newest first, narrowed by words."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from loadstone.model.errors import StoreError
from loadstone.model.records.manifest import Manifest, Status, StudyManifest
from loadstone.store.folder import RUNS, is_folder
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

    def says(self, words: str) -> bool:
        """Whether every one of the words occurs in the line."""
        text = " ".join([self.name, self.kind, self.status, self.profile, self.what, *map(" ".join, self.verdicts)])
        return all(word in text.lower() for word in words.lower().split())


def rows(results: Path, words: str = "") -> list[ListRow]:
    """The list, newest first."""
    matching = [row for row in (*_runs(results), *_studies(results)) if row.says(words)]
    return sorted(matching, key=lambda row: row.name, reverse=True)


def _runs(results: Path) -> Iterator[ListRow]:
    for path, manifest in catalogue(results):
        what = ", ".join(f"{criteria.workload}: {criteria.load_in_words}" for criteria in manifest.criteria)
        yield _row(path, manifest, "run", what, _verdicts(path))


def _verdicts(path: Path) -> tuple[tuple[str, str], ...]:
    try:
        verdict = read_verdict(path)
    except StoreError:
        return (("all", "unreadable"),)
    return tuple((workload.workload, workload.verdict.value) for workload in verdict.workloads) if verdict else ()


def _studies(results: Path) -> Iterator[ListRow]:
    for path, manifest in studies(results):
        headlines = _headlines(path, manifest.kind)
        said = [
            f"{workload.workload}: {headlines.get(workload.workload, 'nothing yet')}" for workload in manifest.workloads
        ]
        yield _row(path, manifest, manifest.kind, "; ".join(said), ())


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
    path: Path, manifest: Manifest | StudyManifest, kind: str, what: str, verdicts: tuple[tuple[str, str], ...]
) -> ListRow:
    started = manifest.started[:19].replace("T", " ")
    return ListRow(path.name, kind, started, manifest.status, manifest.profile.name, what, verdicts)


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
    own = list(catalogue(results))
    for path, manifest in studies(results):
        if manifest.status is Status.RUNNING:
            own += list(catalogue(path / RUNS))
    alive = [(manifest.started, path) for path, manifest in own if manifest.status is Status.RUNNING]
    return max(alive)[1] if alive else None


__all__ = ["ListRow", "find", "is_study", "rows", "running"]
