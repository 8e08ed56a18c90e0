"""What the page lists: results and studies of a folder, newest first, narrowed by words."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from loadstone.model.errors import StoreError
from loadstone.model.records.listed import ListedResult
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import Headline
from loadstone.store.folder import is_folder
from loadstone.store.index import ResultIndex
from loadstone.store.layout import ANSWER, RUNS
from loadstone.store.read import list_results
from loadstone.store.study import is_study, read_answer
from loadstone.study.registry import get_kind


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

    def has_all_of(self, query: str) -> bool:
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


def list_rows(results: Path, query: str = "") -> list[ListRow]:
    """The list, newest first."""
    return [
        row for path, listed in _index(results).sort_newest_first() if (row := _row(path, listed)).has_all_of(query)
    ]


@cache
def _index(results: Path) -> ResultIndex:
    """The index of a folder, kept while the page is served."""
    return ResultIndex.load(results)


def select_page(results: Path, query: str, page: int) -> Listed:
    """One page of it; of a page that there is none of, the nearest."""
    matching = list_rows(results, query)
    pages = max(1, -(-len(matching) // PAGE))
    page = min(max(1, page), pages)
    return Listed(tuple(matching[(page - 1) * PAGE : page * PAGE]), page, pages, len(matching))


def _row(path: Path, listed: ListedResult) -> ListRow:
    verdicts = tuple((each.workload, each.verdict.value) for each in listed.verdicts)
    return ListRow(
        name=path.name,
        kind=listed.study or "run",
        started=listed.started[:19].replace("T", " "),
        status=listed.status,
        profile=listed.profile,
        what=_findings(path, listed) if listed.is_study else ", ".join(f"{x.workload}: {x.load}" for x in listed.loads),
        verdicts=(("all", "unreadable"),) if listed.problem else verdicts,
        target=listed.target,
        notes=", ".join(f"{name}={text}" for name, text in listed.notes.items()),
        headlines=tuple(each.headline for each in listed.verdicts),
    )


def _findings(path: Path, listed: ListedResult) -> str:
    """What a study says of its workloads."""
    headlines = _headlines(path, listed.study)
    return "; ".join(f"{workload}: {headlines.get(workload, 'nothing yet')}" for workload in listed.workloads)


def _headlines(path: Path, kind: str) -> dict[str, str]:
    """What a study says of each workload, in one sentence."""
    try:
        written_ns = (path / ANSWER).lstat().st_mtime_ns
        return _first_lines(path, kind, written_ns)
    except (OSError, StoreError):
        return {}


@cache
def _first_lines(path: Path, kind: str, written_ns: int) -> dict[str, str]:
    """Read once for each time an answer was written."""
    answer = read_answer(path, get_kind(kind).adapter)
    return {part.workload: part.headline[0] for part in answer.parts if part.headline}


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


def find_running(results: Path) -> Path | None:
    """The run that is under way, of its own or in a study; the one begun last where there are several."""
    listed = (each for each in _index(results).sort_newest_first() if each[1].status is Status.RUNNING)
    alive = [run for path, result in listed for run in _under_way(path, result)]
    return max(alive)[1] if alive else None


def _under_way(path: Path, listed: ListedResult) -> list[tuple[str, Path]]:
    """Starts and folders of the runs under way of a running result or study."""
    if not listed.is_study:
        return [(listed.started, path)]
    return [(run.started, folder) for folder, run in list_results(path / RUNS) if run.status is Status.RUNNING]


__all__ = ["ListRow", "Listed", "find", "find_running", "is_study", "list_rows", "select_page"]
