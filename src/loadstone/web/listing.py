"""What the page lists: results and studies of a folder, newest first, narrowed by words."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.model.errors import StoreError
from loadstone.store.folder import RUNS, Status
from loadstone.store.read import catalogue, read_verdict
from loadstone.store.study import STUDY, read_answer, studies

Json = dict[str, Any]


@dataclass(frozen=True)
class Row:
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


def rows(results: Path, words: str = "") -> list[Row]:
    """The list, newest first."""
    found = [row for row in (*_runs(results), *_studies(results)) if row.says(words)]
    return sorted(found, key=lambda row: row.name, reverse=True)


def _runs(results: Path) -> Iterator[Row]:
    for path, manifest in catalogue(results):
        kept = read_verdict(path) or {"workloads": []}
        what = ", ".join(f"{terms['workload']}: {terms['load'] or terms['sessions']}" for terms in manifest["terms"])
        verdicts = tuple((one["workload"], one["verdict"]) for one in kept["workloads"])
        yield _row(path, manifest, "run", what, verdicts)


def _studies(results: Path) -> Iterator[Row]:
    for path, manifest in studies(results):
        what = "; ".join(f"{name}: {said}" for name, said in _said(path, manifest))
        yield _row(path, manifest, manifest["kind"], what, ())


def _said(path: Path, manifest: Json) -> Iterator[tuple[str, str]]:
    """What a study says of each workload, in one sentence."""
    try:
        parts = {part["workload"]: part["headline"] for part in read_answer(path)["parts"]}
    except StoreError:
        parts = {}
    for one in manifest["workloads"]:
        yield one["workload"], next(iter(parts.get(one["workload"], ())), "nothing yet")


def _row(path: Path, manifest: Json, kind: str, what: str, verdicts: tuple[tuple[str, str], ...]) -> Row:
    started = manifest["started"][:19].replace("T", " ")
    return Row(path.name, kind, started, manifest["status"], manifest["profile"]["name"], what, verdicts)


def find(results: Path, name: str) -> Path:
    """The folder of a result, of a study (`NAME`) or of a study's run (`NAME/runs/NAME`); raises StoreError.

    Only what the catalogue itself would list is found, so no name leads anywhere else.
    """
    study, _, run = name.partition(f"/{RUNS}/")
    below = results / study / RUNS if run else results
    wanted = run or study
    for path in below.iterdir() if below.is_dir() and "/" not in study and ".." not in study else ():
        if path.name == wanted and path.is_dir():
            return path
    raise StoreError(f"There is no result `{name}`.")


def is_study(path: Path) -> bool:
    """Whether a folder is a study's."""
    return (path / STUDY).is_file()


def running(results: Path) -> Path | None:
    """The run that is under way, of its own or in a study; the one begun last where there are several."""
    own = [(path, manifest) for path, manifest in catalogue(results)]
    for path, manifest in studies(results):
        if manifest["status"] == Status.RUNNING:
            own += list(catalogue(path / RUNS))
    alive = [(manifest["started"], path) for path, manifest in own if manifest["status"] == Status.RUNNING]
    return max(alive)[1] if alive else None
