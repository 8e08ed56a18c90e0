"""A run of tiles: all up, all loads at once in one measured window, audited, judged and kept."""

import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadstone.measure import facts as host
from loadstone.model.machine import Placement
from loadstone.model.tile import Role
from loadstone.run import audit
from loadstone.run.criteria import make_terms
from loadstone.run.executor import Listener
from loadstone.run.lifecycle import seal_after
from loadstone.run.plan import Part, Timing, make_plan
from loadstone.run.runner import Beginning, judge
from loadstone.run.signals import Signals
from loadstone.run.tiles.ensemble import Crew, Ensemble
from loadstone.run.tiles.power import powered
from loadstone.run.tiles.spec import (
    CREWS,
    TilePart,
    TilesOrder,
    maxima_of_tile,
    parts_of_tile,
    plan_of,
    polling,
)
from loadstone.store.folder import LOGS, RUNS, ResultFolder, RunFolder, Status
from loadstone.testbed import refuse_impossible
from loadstone.testbed.tiles import FILE_STORE, TilesUp, tiles_testbed
from loadstone.workloads import is_unchanged

Json = dict[str, Any]

ORIGINS = {"web": "support", "dealers": "dealership", "lines": "manufacturing", "mail": "mail", "idle": "idle"}
"""The workload that each kind of load is made from."""

Parts = dict[int, tuple[TilePart, ...]]


async def run_tiles(order: TilesOrder, listener: Listener, begin: Callable[[Beginning], object]) -> Path:
    """Executes an order; returns the result folder, which is marked with how far it got. Raises LoadstoneError."""
    parts = {one.number: parts_of_tile(order, one) for one in order.loads}
    await refuse_impossible(Placement(order.machine))
    order.meters()
    folder = ResultFolder.create(order.results, order.name, datetime.now(UTC), _manifest(order, parts))
    await seal_after(folder, _execute(order, parts, folder, listener, begin))
    judge(folder.path)
    return folder.path


async def _execute(
    order: TilesOrder, parts: Parts, folder: ResultFolder, listener: Listener, begin: Callable[[Beginning], object]
) -> tuple[Status, str]:
    with Signals() as signals:
        async with tiles_testbed(order.system, folder.path / LOGS) as up:
            folder.manifest["target"] = up.testbed.about
            folder.manifest["machines"] = up.testbed.machines()
            folder.mark(Status.RUNNING)
            ensembles = [Ensemble(up.testbed, listener)]
            begin(_beginning(order))
            async with powered(order, folder) as power:
                with signals.told(ensembles[0].interrupt):
                    await ensembles[0].execute(_crews(order, parts, folder, up))
                    if not ensembles[0].interrupted:
                        await _audit(parts, folder, up)
                if order.power and ensembles[0].is_complete:
                    ensembles.append(Ensemble(up.testbed, listener))
                    with signals.told(ensembles[1].interrupt):
                        await ensembles[1].execute(_polls(order, folder, up))
                folder.manifest["power"] = power.summary(order, ensembles)
    troubles = [trouble for ensemble in ensembles for trouble in ensemble.troubles]
    folder.manifest["troubles"] = [asdict(trouble) for trouble in troubles]
    if troubles:
        return Status.FAILED, "; ".join(map(str, troubles))
    if any(ensemble.interrupted for ensemble in ensembles):
        return Status.INTERRUPTED, "ended by a signal; what was measured by then is kept"
    return Status.COMPLETE, ""


def _polls(order: TilesOrder, folder: ResultFolder, up: TilesUp) -> list[Crew]:
    """One driver a tile that sends heartbeats to all its machines."""
    crews = []
    for tile in up.tiles:
        part = polling(order, tile.number)
        timing = Timing(order.idle_phases, order.seed, 1)
        plan = make_plan([Part(part.workload, part.load, tuple(tile.heartbeats.values()))], timing)
        crews.append(Crew(part.name, f"tile{tile.number}", plan, {part.name: folder.run(part.name, 1)}))
    return crews


def _crews(order: TilesOrder, parts: Parts, folder: ResultFolder, up: TilesUp) -> list[Crew]:
    crews = []
    for tile in up.tiles:
        for name, kinds in CREWS.items():
            own = tuple(part for part in parts[tile.number] if part.kind in kinds)
            folders: dict[str, RunFolder] = {part.name: folder.run(part.name, 1) for part in own}
            plan = plan_of(order, tile.number, own, tile)
            after_s = order.stagger_s * (tile.number - 1)
            crews.append(Crew(f"tile{tile.number}-{name}", f"tile{tile.number}", plan, folders, after_s))
    return crews


async def _audit(parts: Parts, folder: ResultFolder, up: TilesUp) -> None:
    """Asks each tile's application what it holds; its database was empty at first."""
    for tile in up.tiles:
        folders: dict[str, RunFolder] = {
            part.workload.header.audit: RunFolder(folder.path / RUNS / f"{part.name}-1")
            for part in parts[tile.number]
            if part.workload.header.audit is not None
        }
        audit.keep(folders, {}, await audit.look(tile.targets[Role.APP]))


def _beginning(order: TilesOrder) -> Beginning:
    fraction = "" if order.loads[-1].pct == 100 else f", the last at {order.loads[-1].pct} %"
    count = len(order.loads)
    seconds = order.phases.total_s + order.stagger_s * (count - 1)
    return Beginning(
        f"{count} {order.tile.name} tile{'s' * (count != 1)}{fraction}", "all loads at once", 1, 1, seconds
    )


def _manifest(order: TilesOrder, parts: Parts) -> Json:
    every = [part for own in parts.values() for part in own]
    polls = [polling(order, number) for number in parts] if order.power else []
    profile = order.profile
    at_idle = replace(profile, phases=order.idle_phases)
    maxima = maxima_of_tile(order.tile)
    return {
        "command": sys.argv,
        "profile": {"name": profile.name, "about": profile.about, **asdict(order.phases)},
        "seed": order.seed,
        "driver_threads": 1,
        "joining_drivers": 0,
        "together": True,
        "clock": "real",
        "key": order.key,
        "system": {"kind": "tiles", "database": order.database, "imap": order.imap},
        "placement": {"machine": order.machine.model_dump(mode="json", exclude_defaults=True)},
        "target": "not up yet",
        "verify_certificates": True,
        "versions": host.versions(),
        "host": host.facts(),
        "tile": {
            "name": order.tile.name,
            "title": order.tile.header.title,
            "loads": order.tile.loads.model_dump(),
            "maxima": maxima.document(),
            "stagger_s": order.stagger_s,
            "file_store": FILE_STORE,
            "machines": {role: order.system.machine_of(1, role).model_dump(mode="json") for role in Role},
        },
        "tiles": [
            {"number": one.number, "pct_load": one.pct, "groups": order.group_of(one.number)} for one in order.loads
        ],
        "terms": [
            *(
                asdict(make_terms(one.workload, profile, one.load, is_unchanged(ORIGINS[one.kind]), is_ours=True))
                for one in every
            ),
            *(asdict(make_terms(one.workload, at_idle, one.load, is_unchanged("idle"))) for one in polls),
        ],
        "declarations": {part.name: (part.workload.folder / "workload.toml").read_text() for part in (*every, *polls)},
    }
