"""Conducting a study: asks its question for the next run, makes it or takes the one there is, keeps the answer."""

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadstone.measure import facts as host
from loadstone.run.executor import Listener
from loadstone.run.lifecycle import mark_after
from loadstone.run.runner import Beginning, RunOrder, check, judge, placement_of, system_of
from loadstone.run.runner import run as make_run
from loadstone.store.folder import Status
from loadstone.store.read import read_manifest, read_result, read_verdict
from loadstone.store.study import StudyFolder, unfinished
from loadstone.study.parameters import apply
from loadstone.study.question import Question
from loadstone.study.summary import Made, Wanted, made_of

Json = dict[str, Any]


@dataclass(frozen=True)
class StudyOrder:
    """What to find out."""

    name: str
    question: Question
    base: RunOrder
    """What the question's settings are applied to; it holds every workload that the question is about."""
    declaration: Json
    """The question as it was declared."""
    fresh: bool = False
    """Do not go on with an unfinished study that asks the same."""


@dataclass(frozen=True)
class Progress:
    """How far a study is."""

    name: str
    done: int
    kept: int
    """Of those done, taken over from before an interruption."""
    left: int
    """About how many are still to be made, the next one included."""
    wanted: Wanted | None
    """The run that comes next."""
    last: Made | None
    """The run that was made last."""


async def conduct(
    order: StudyOrder, listener: Listener, begin: Callable[[Beginning], object], tell: Callable[[Progress], object]
) -> Path:
    """Conducts a study to its end, or on from where it was interrupted; returns its folder. Raises LoadstoneError."""
    for wanted in order.question.wanted():
        check(run_order(order, wanted, Path()))
    identity = identity_of(order)
    found = None if order.fresh else unfinished(order.base.results, identity)
    folder = found or StudyFolder.create(
        order.base.results, order.name, datetime.now(UTC), manifest_of(order, identity)
    )
    await mark_after(folder, lambda: _make_all(order, folder, listener, begin, tell))
    return folder.path


async def _make_all(
    order: StudyOrder,
    folder: StudyFolder,
    listener: Listener,
    begin: Callable[[Beginning], object],
    tell: Callable[[Progress], object],
) -> tuple[Status, str]:
    kept, taken = folder.complete_runs(), 0
    made: list[Made] = []
    while True:
        wanted = order.question.next(made)
        folder.answer(answer_of(order.question, made))
        left = order.question.left(made)
        tell(Progress(order.name, len(made), taken, left, wanted, made[-1] if made else None))
        if wanted is None:
            return Status.COMPLETE, ""
        path = kept.get(wanted.key)
        if path is not None:
            taken += 1
            if read_verdict(path) is None:  # a signal came between the end of the run and its judgement
                judge(path)
        else:
            path = await make_run(run_order(order, wanted, folder.runs), listener, begin)
            if read_manifest(path)["status"] == Status.INTERRUPTED:
                return Status.INTERRUPTED, "ended by a signal; the same command goes on from here"
        made.append(made_of(wanted, read_result(path)))


def answer_of(question: Question, made: Sequence[Made]) -> Json:
    """What the runs say so far, with all of them."""
    return {**question.answer(made), "left": question.left(made), "runs": [one.as_json() for one in made]}


def run_order(order: StudyOrder, wanted: Wanted, runs: Path) -> RunOrder:
    """The order of one run of a study. Raises UsageError when a setting does not fit."""
    parts = tuple(part for part in order.base.parts if part.workload.name == wanted.workload)
    seed = order.base.seed + wanted.seed
    base = replace(order.base, name=wanted.key, key=wanted.key, parts=parts, seed=seed, results=runs)
    return apply(base, wanted.settings)


def identity_of(order: StudyOrder) -> str:
    """What makes two studies the same: the question, the workloads as declared, and all that is not varied."""
    base = order.base
    said = {
        "declaration": order.declaration,
        "workloads": {part.workload.name: _declared(part.workload.folder) for part in base.parts},
        "loads": [str(part.load) for part in base.parts],
        "profile": asdict(base.profile),
        "seed": base.seed,
        "threads": base.threads,
        "system": system_of(base.system),
        "placement": placement_of(base.placement),
        "clock": base.clock,
        "fitness": asdict(base.fitness),
        "version": host.versions()["loadstone"],
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _declared(folder: Path) -> str:
    return hashlib.sha256((folder / "workload.toml").read_bytes()).hexdigest()


def manifest_of(order: StudyOrder, identity: str) -> Json:
    """A study's declaration, as kept."""
    base = order.base
    return {
        "kind": order.question.kind,
        "identity": identity,
        "declaration": order.declaration,
        "command": sys.argv,
        "profile": {"name": base.profile.name, "about": base.profile.about, **asdict(base.profile.phases)},
        "seed": base.seed,
        "driver_threads": base.threads,
        "system": system_of(base.system),
        "placement": placement_of(base.placement),
        "clock": base.clock,
        "workloads": [
            {
                "workload": part.workload.name,
                "title": part.workload.header.title,
                "good_s": part.workload.limits.good_s,
                "tolerable_s": part.workload.limits.tolerable_s,
            }
            for part in base.parts
        ],
        "versions": host.versions(),
        "host": host.facts(),
    }
