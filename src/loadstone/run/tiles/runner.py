"""A run of tiles: all up, all loads at once in one measured window, audited, judged and kept."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from loadstone.host.locks import measuring
from loadstone.model.fleet import HostRole
from loadstone.model.records.manifest import (
    Manifest,
    ProfileRecord,
    Status,
    SystemKind,
    SystemRecord,
    TileDeclaration,
    TileEntry,
)
from loadstone.model.tile import Role
from loadstone.platforms.registry import refuse_unknown_roles
from loadstone.run import audit
from loadstone.run.criteria import make_criteria
from loadstone.run.disclosure import declarations, machine_record, make_manifest, role_records
from loadstone.run.executor import DriverJob, Executor, Listener, StartMode
from loadstone.run.hosts import disclosed, fleet_for, on_fleet
from loadstone.run.lifecycle import seal_after
from loadstone.run.plan import Part, Timing, make_plan
from loadstone.run.runner import Begin
from loadstone.run.signals import Signals
from loadstone.run.spec import Beginning
from loadstone.run.tiles.power import make_meters, powered
from loadstone.run.tiles.spec import (
    PLAYED_BY,
    TilePart,
    TilesSpec,
    maxima_of_tile,
    parts_of_tile,
    plan_of,
    polling,
)
from loadstone.store.folder import LOGS, ResultFolder, RunFolder
from loadstone.testbed import refuse_impossible
from loadstone.testbed.tiles import TilesUp, TileUp, tiles_testbed
from loadstone.workloads import is_unchanged

Parts = dict[int, tuple[TilePart, ...]]
"""The workloads of each tile, by its number."""


async def run_tiles(spec: TilesSpec, listener: Listener, begin: Begin) -> Path:
    """Makes a run; returns the result folder, which is judged and marked with how far it got. Raises LoadstoneError."""
    parts = {load.number: parts_of_tile(spec, load) for load in spec.loads}
    refuse_unknown_roles(spec.roles, dict.fromkeys(Role, len(spec.loads)))
    if spec.fleet is None:  # whose hosts say themselves what cannot be
        await refuse_impossible(
            [spec.machine, *(spec.system.machine_of(load.number, role) for load in spec.loads for role in Role)]
        )
    make_meters(spec)
    with Signals() as signals:
        folder = ResultFolder.create(spec.results, _manifest(spec, parts))
        with measuring() as alone:
            folder.change(was_alone=alone)
            await seal_after(folder, _execute(spec, parts, folder, listener, begin, signals))
    if signals.was_heard_late:
        raise KeyboardInterrupt
    return folder.path


async def _execute(
    spec: TilesSpec, parts: Parts, folder: ResultFolder, listener: Listener, begin: Begin, signals: Signals
) -> tuple[Status, str]:
    logs = folder.path / LOGS
    async with fleet_for(spec.fleet, logs) as fleet, tiles_testbed(spec.system, logs, fleet) as deployed:
        up = deployed if fleet is None else replace(deployed, testbed=on_fleet(deployed.testbed, {}, fleet))
        folder.change(target=up.testbed.about, machines=up.testbed.facts(), hosts=disclosed(fleet))
        folder.mark(Status.RUNNING)
        executors = [Executor(up.testbed, listener, fleet=fleet)]
        begin(_beginning(spec))
        async with powered(spec, folder) as power:
            with signals.report_to(executors[0].interrupt):
                await executors[0].execute(list(_jobs(spec, parts, folder, up)))
                if not executors[0].interrupted:
                    await _audit(parts, folder, up)
            if spec.power and executors[0].is_complete:
                executors.append(Executor(up.testbed, listener, fleet=fleet))
                with signals.report_to(executors[1].interrupt):
                    await executors[1].execute(list(_polls(spec, folder, up)))
            folder.change(power=power.summary(spec, executors))
    troubles = tuple(trouble for executor in executors for trouble in executor.troubles)
    folder.change(troubles=troubles)
    if troubles:
        return Status.FAILED, "; ".join(map(str, troubles))
    if any(executor.interrupted for executor in executors):
        return Status.INTERRUPTED, "ended by a signal; what was measured by then is kept"
    return Status.COMPLETE, ""


def _polls(spec: TilesSpec, folder: ResultFolder, up: TilesUp) -> Iterator[DriverJob]:
    """One driver a tile that sends heartbeats to all its machines."""
    for tile in up.tiles:
        part = polling(spec, tile.number)
        timing = Timing(spec.idle_phases, spec.seed, 1)
        plan = make_plan([Part(part.workload, part.load, tuple(tile.heartbeats.values()))], timing)
        yield replace(_job(part.label, tile, plan, {part.label: folder.run(part.label, 1)}), hosts=_hosts(spec, tile))


def _jobs(spec: TilesSpec, parts: Parts, folder: ResultFolder, up: TilesUp) -> Iterator[DriverJob]:
    for tile in up.tiles:
        for driver, kinds in PLAYED_BY.items():
            tile_parts = tuple(part for part in parts[tile.number] if part.kind in kinds)
            folders: dict[str, RunFolder] = {part.label: folder.run(part.label, 1) for part in tile_parts}
            after_s = spec.stagger_s * (tile.number - 1)
            plan = plan_of(spec, tile.number, tile_parts, tile)
            job = _job(f"tile{tile.number}-{driver}", tile, plan, folders, after_s)
            yield replace(job, hosts=_hosts(spec, tile))


def _hosts(spec: TilesSpec, tile: TileUp) -> tuple[str, ...]:
    """The host whose drivers load a tile: tiles are dealt to those that make load."""
    hosts = spec.fleet.with_role(HostRole.DRIVER) if spec.fleet is not None else ()
    return (hosts[(tile.number - 1) % len(hosts)],) if hosts else ()


def _job(
    name: str, tile: TileUp, plan: dict[str, object], folders: dict[str, RunFolder], after_s: float = 0.0
) -> DriverJob:
    """A driver of a tile: it starts with all others, and only its own tile's machines are in its record."""
    role = f"{name}-driver"
    drivers = {f"tile{tile.number}-{driver}-driver" for driver in PLAYED_BY}
    members = frozenset({*tile.roles, *drivers, role})
    return DriverJob(name, plan, folders, role, StartMode.TOGETHER, after_s, members=members)


async def _audit(parts: Parts, folder: ResultFolder, up: TilesUp) -> None:
    """Asks each tile's application what it holds; its database was empty at first."""
    for tile in up.tiles:
        folders: dict[str, RunFolder] = {
            part.workload.header.audit: folder.locate_run(part.label, 1)
            for part in parts[tile.number]
            if part.workload.header.audit is not None
        }
        holdings = await audit.read_holdings(tile.targets[Role.APP])
        audit.write_audits(folders, audit.Holdings(), holdings)


def _beginning(spec: TilesSpec) -> Beginning:
    fraction = "" if spec.loads[-1].pct == 100 else f", the last at {spec.loads[-1].pct} %"
    count = len(spec.loads)
    seconds = spec.phases.total_s + spec.stagger_s * (count - 1)
    return Beginning(f"{count} {spec.tile.name} tile{'s' * (count != 1)}{fraction}", "all loads at once", 1, 1, seconds)


def _manifest(spec: TilesSpec, parts: Parts) -> Manifest:
    loaded = [part for tile_parts in parts.values() for part in tile_parts]
    polls = [polling(spec, number) for number in parts] if spec.power else []
    at_idle = replace(spec.profile, phases=spec.idle_phases)
    profiles = [*((part, spec.profile) for part in loaded), *((part, at_idle) for part in polls)]
    return make_manifest(
        name=spec.name,
        profile=ProfileRecord.from_profile(spec.profile),
        seed=spec.seed,
        driver_threads=1,
        together=True,
        key=spec.key,
        system=SystemRecord(SystemKind.TILES, {"database": spec.database, "imap": spec.imap, "store": spec.store}),
        placement={"machine": machine_record(spec.machine), **role_records(spec.roles)},
        target="not up yet",
        tile=TileDeclaration(
            name=spec.tile.name,
            title=spec.tile.header.title,
            loads=spec.tile.loads.model_dump(),
            maxima=maxima_of_tile(spec.tile).record,
            stagger_s=spec.stagger_s,
            file_store=spec.system.file_store,
            machines={role.value: spec.system.machine_of(1, role).model_dump(mode="json") for role in Role},
        ),
        tiles=tuple(TileEntry(load.number, load.pct, spec.group_of(load.number)) for load in spec.loads),
        criteria=tuple(
            make_criteria(
                part.workload,
                profile,
                part.load,
                is_unchanged(part.id.workload),
                driver_limits=spec.driver_limits,
                is_ours=part in loaded,
                identity=part.id,
                is_bent=part.curve is not None,
            )
            for part, profile in profiles
        ),
        declarations=declarations((part.label, part.workload) for part in (*loaded, *polls)),
    )
