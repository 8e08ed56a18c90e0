"""Searching the peak: one run of tiles after the other, as the question wants them, into the folder of a study."""

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadstone.judge.tiles import whole_verdict
from loadstone.measure import facts as host
from loadstone.model.tile import TileLoad
from loadstone.run.executor import Listener
from loadstone.run.lifecycle import mark_after
from loadstone.run.runner import Beginning, judge
from loadstone.run.tiles.runner import run_tiles
from loadstone.run.tiles.spec import TilesOrder
from loadstone.store.folder import Status
from loadstone.store.read import read_manifest, read_verdict
from loadstone.store.study import StudyFolder, unfinished
from loadstone.study.kinds.tiles import FULL, TilesPeak, Tried, words

Json = dict[str, Any]
KIND = "tiles"


async def search_tiles(
    order: TilesOrder,
    question: TilesPeak,
    listener: Listener,
    begin: Callable[[Beginning], object],
    tell: Callable[[Tried | None, int | None], object],
    fresh: bool = False,
) -> Path:
    """Searches to the end, or on from where a search was interrupted; returns its folder. Raises LoadstoneError."""
    identity = _identity(order, question)
    found = None if fresh else unfinished(order.results, identity)
    folder = found or StudyFolder.create(order.results, order.name, datetime.now(UTC), _manifest(order, identity))
    await mark_after(folder, lambda: _make_all(order, question, folder, listener, begin, tell))
    return folder.path


async def _make_all(
    order: TilesOrder,
    question: TilesPeak,
    folder: StudyFolder,
    listener: Listener,
    begin: Callable[[Beginning], object],
    tell: Callable[[Tried | None, int | None], object],
) -> tuple[Status, str]:
    kept = folder.complete_runs()
    tried: list[Tried] = []
    while True:
        tenths = question.next(tried)
        folder.answer(_answer(order, question, tried))
        tell(tried[-1] if tried else None, tenths)
        if tenths is None:
            return Status.COMPLETE, ""
        key = f"{len(tried) + 1:03d}-{tenths / FULL:g}"
        path = kept.get(key)
        if path is None:
            path = await run_tiles(_order(order, tenths, key, folder.runs), listener, begin)
            if read_manifest(path)["status"] == Status.INTERRUPTED:
                return Status.INTERRUPTED, "ended by a signal; the same command goes on from here"
        tried.append(_tried(path, tenths))


def _order(order: TilesOrder, tenths: int, key: str, runs: Path) -> TilesOrder:
    full, part = divmod(tenths, FULL)
    pcts = [100] * full + ([100 * part // FULL] if part else [])
    loads = tuple(TileLoad(number, pct) for number, pct in enumerate(pcts, start=1))
    return replace(order, loads=loads, name=key, key=key, results=runs, seed=order.seed + tenths)


def _tried(path: Path, tenths: int) -> Tried:
    verdict = read_verdict(path) or judge(path)
    common = verdict["consolidation"]
    parts = [common, *verdict["workloads"]]
    gravest = whole_verdict(verdict)
    reasons = [
        f"{one.get('workload', 'the run')}: {reason}"
        for one in parts
        if one["verdict"] == gravest
        for reason in one["reasons"]
    ]
    return Tried(tenths, gravest.value, common["score"], common["qos_pct"], tuple(reasons[:5]), path.name)


def _answer(order: TilesOrder, question: TilesPeak, tried: list[Tried]) -> Json:
    rows = [{**asdict(one), "load": words(one.tenths), "tiles": one.tenths / FULL} for one in tried]
    part = {"workload": order.tile.name, "tried": rows, **question.answer(tried)}
    return {"kind": KIND, "parts": [part], "left": int(question.next(tried) is not None), "runs": []}


def _identity(order: TilesOrder, question: TilesPeak) -> str:
    said = {
        "tile": str(order.tile),
        "phases": asdict(order.phases),
        "most": question.most_tiles,
        "machine": order.machine.model_dump(mode="json"),
        "software": [order.database, order.imap],
        "seed": order.seed,
        "version": host.versions()["loadstone"],
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _manifest(order: TilesOrder, identity: str) -> Json:
    profile = order.profile
    return {
        "kind": KIND,
        "identity": identity,
        "declaration": {"tile": order.tile.name},
        "command": sys.argv,
        "profile": {"name": profile.name, "about": profile.about, **asdict(profile.phases)},
        "seed": order.seed,
        "driver_threads": 1,
        "system": {"kind": "tiles", "machine": str(order.machine), "database": order.database, "imap": order.imap},
        "placement": {},
        "clock": "real",
        "workloads": [{"workload": order.tile.name, "title": order.tile.header.title}],
        "versions": host.versions(),
        "host": host.facts(),
    }
