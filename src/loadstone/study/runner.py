"""Running a study: asks its questions for the next run, makes it or takes the one there is, keeps the answer."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from loadstone import __version__
from loadstone.model.errors import LoadstoneError, StoreError
from loadstone.model.records.manifest import ProfileRecord, StudyManifest
from loadstone.model.records.status import Status
from loadstone.run.disclosure import read_origin
from loadstone.run.executor import Listener
from loadstone.run.judging import judge
from loadstone.run.lifecycle import mark_after
from loadstone.run.spec import Begin
from loadstone.store.read import read_manifest, read_result, read_verdict
from loadstone.store.study import StudyFolder, find_unfinished
from loadstone.study.duet import refuse_impossible_duet, run_at_once
from loadstone.study.kind import StudyAnswer
from loadstone.study.question import Answer
from loadstone.study.spec import StudySpec
from loadstone.study.summary import RunRequest, RunSummary, summarize_unmade

A = TypeVar("A", bound=Answer)


@dataclass(frozen=True)
class Progress:
    """How far a study is."""

    name: str
    done: int
    reused: int
    """Of those done, taken over from before an interruption."""
    left: int
    """About how many are still to be made, the next one included."""
    next: RunRequest | None
    """The run that comes next."""
    last: RunSummary | None
    """The run that was made last."""


Tell = Callable[[Progress], object]


async def run_study(spec: StudySpec[A], listener: Listener, begin: Begin, tell: Tell) -> Path:
    """Runs a study to its end, or on from where it was interrupted; returns its folder. Raises LoadstoneError."""
    for request in spec.questions.plan_runs():
        spec.base.check(request)
    duets = [request for request in spec.questions.plan_runs() if request.duet]
    if duets:
        refuse_impossible_duet(spec.base, duets)
    identity = compute_identity(spec)
    resumed = None if spec.fresh else find_unfinished(spec.base.results, identity)
    folder = resumed or StudyFolder.create(spec.base.results, build_manifest(spec, identity))
    await mark_after(folder, lambda: _make_all(spec, folder, listener, begin, tell))
    return folder.path


async def _make_all(
    spec: StudySpec[A], folder: StudyFolder, listener: Listener, begin: Begin, tell: Tell
) -> tuple[Status, str]:
    complete, taken = folder.complete_runs(), 0
    runs: list[RunSummary] = []
    while True:
        request = spec.questions.plan_next(runs)
        answer = answer_of(spec, runs)
        folder.write_answer(spec.kind.adapter, answer)
        tell(Progress(spec.name, len(runs), taken, answer.left, request, runs[-1] if runs else None))
        if request is None:
            return Status.COMPLETE, ""
        batch = _at_once(spec, request)
        paths = [complete[request.key] for request in batch if request.key in complete]
        if len(paths) == len(batch):
            taken += len(batch)
            for path in paths:
                if read_verdict(path) is None:  # a signal came between the end of the run and its judgement
                    judge(path)
        else:
            try:
                paths = await _make(spec, batch, folder.runs, listener, begin)
            except LoadstoneError as error:
                if not spec.kind.keeps_going or isinstance(error, StoreError):
                    raise
                runs += [summarize_unmade(request, str(error)) for request in batch]
                continue
            if any(read_manifest(path).status is Status.INTERRUPTED for path in paths):
                return Status.INTERRUPTED, "ended by a signal; the same command resumes the study"
        runs += [spec.base.summarize(request, read_result(path)) for request, path in zip(batch, paths, strict=True)]


def _at_once(spec: StudySpec[A], request: RunRequest) -> list[RunRequest]:
    """The run, with the one that is made at the same time."""
    if not request.duet:
        return [request]
    return [candidate for candidate in spec.questions.plan_runs() if candidate.duet == request.duet]


async def _make(
    spec: StudySpec[A], batch: Sequence[RunRequest], runs: Path, listener: Listener, begin: Begin
) -> list[Path]:
    """Makes a run, or two at the same time, of which the first is shown."""
    if len(batch) == 1:
        return [await spec.base.run(batch[0], runs, listener, begin)]
    first, second = batch
    return await run_at_once(
        [
            lambda: spec.base.run(first, runs, listener, begin),
            lambda: spec.base.run(second, runs, _unheard, _unheard),
        ]
    )


def _unheard(_: object) -> None:
    """Nobody watches the other run."""


def answer_of(spec: StudySpec[A], runs: Sequence[RunSummary]) -> StudyAnswer[A]:
    """Returns the answer of the runs so far, together with all of them."""
    parts = spec.questions.answer_all(runs)
    left = spec.questions.estimate_left(runs)
    kind = spec.kind
    return StudyAnswer(kind.name, parts, left, tuple(runs), kind.index(parts), kind.indices(parts))


def compute_identity(spec: StudySpec[A]) -> str:
    """Returns the identity of a study, which is the same for the same question, workloads and settings that are not
    varied.
    """
    identity = {"declaration": spec.declaration, **spec.base.identify(), "version": __version__}
    return hashlib.sha256(json.dumps(identity, sort_keys=True, default=str).encode()).hexdigest()


def build_manifest(spec: StudySpec[A], identity: str) -> StudyManifest:
    """A study's declaration, as kept."""
    origin, declared = read_origin(), spec.base.declare()
    return StudyManifest(
        started=origin.started,
        command=origin.command,
        versions=origin.versions,
        host=origin.host,
        name=spec.name,
        kind=spec.kind.name,
        identity=identity,
        declaration=spec.declaration,
        profile=ProfileRecord.from_profile(declared.spec.profile),
        seed=declared.spec.seed,
        driver_threads=declared.spec.threads,
        system=declared.system,
        placement=declared.placement,
        notes=declared.spec.notes,
        clock=declared.spec.clock,
        workloads=declared.workloads,
    )
