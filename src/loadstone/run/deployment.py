"""A deployment: the system of a run with its machines, its loads, and its rounds in measured windows. Whatever the
system, the runner needs no more of it.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from loadstone.fleet.open import OpenFleet
from loadstone.host.cores import list_free_cores
from loadstone.measure.agent import split_address
from loadstone.model.errors import UsageError
from loadstone.model.machine import MachineSpec
from loadstone.model.system import Clock, Reference
from loadstone.model.target import Target
from loadstone.model.tile import Role
from loadstone.model.tiles import Tiles
from loadstone.model.topology import get_topology
from loadstone.model.workload import WEB_NEEDS, ServerNeeds
from loadstone.platforms.cores import list_taken_cores
from loadstone.platforms.roles import refuse_unknown_roles
from loadstone.run import preflight
from loadstone.run.driver import check_plan
from loadstone.run.manifest import is_shipped_part
from loadstone.run.plan import compute_data_sessions, count_source_addresses, start_plan
from loadstone.run.round_drivers import RoundDriver, list_round_drivers, prepare_round
from loadstone.run.rounds import Round
from loadstone.run.spec import Beginning, RunSpec
from loadstone.run.tool_job import refuse_unfit_tool
from loadstone.services.registry import refuse_unfit
from loadstone.testbed import Testbed, refuse_unequipped, start_testbed
from loadstone.testbed.machines import PlannedMachine, find_machine, plan_machines
from loadstone.testbed.tiles import PlacedTiles


@dataclass(frozen=True)
class Deployment:
    """A system with its machines, and the loads that are played against it, each as often as the profile says."""

    spec: RunSpec

    @property
    def authority(self) -> str | None:
        """Certificate to trust, as PEM, of a system that others run."""
        return self.spec.system.authority_pem if isinstance(self.spec.system, Target) else None

    def check(self) -> None:
        """Raises LoadstoneError for what cannot be run, before anything is started."""
        spec = self.spec
        if not spec.placement.is_plain and (isinstance(spec.system, Target) or spec.clock is Clock.VIRTUAL):
            raise UsageError("A machine is declared, but this system is managed elsewhere. Remove the machine.")
        if spec.fleet is not None and spec.clock is Clock.VIRTUAL:
            raise UsageError(
                "--virtual cannot be combined with --fleet: virtual time runs in this process only. Remove one of them."
            )
        refuse_unfit_tool(spec)
        if isinstance(spec.system, Reference):
            refuse_unfit(spec.system, spec.needs)
        if isinstance(spec.system, Tiles):
            _refuse_unfit_tiles(spec, spec.system)
        self.plan_machines()
        for url in spec.agents:
            split_address(url)
        for driver in self._list_distinct_drivers():
            aimed = driver.loads.aim({part.role: _placeholders(spec) for part in driver.parts})
            if not all(map(is_shipped_part, driver.parts)):
                check_plan(start_plan(aimed, spec.seed))

    def check_software(self) -> None:
        """Raises LoadstoneError where a machine of the run cannot have the programs of its service."""
        spec = self.spec
        if isinstance(spec.system, Reference) and spec.fleet is None and spec.clock is Clock.REAL:
            refuse_unequipped(spec.system, spec.placement, spec.needs)

    @cached_property
    def drivers(self) -> tuple[tuple[RoundDriver, ...], ...]:
        """The drivers of every round."""
        return tuple(list_round_drivers(self.spec, parts) for parts in self.spec.rounds)

    def _list_distinct_drivers(self) -> list[RoundDriver]:
        """Returns the drivers whose plans are checked: copies of a system have the same, but for curve and share."""
        return [driver for drivers in self.drivers for driver in drivers if driver.copy in (None, 1)]

    def plan_machines(self) -> Sequence[PlannedMachine]:
        """Returns the machines that the lab starts. Raises UsageError."""
        spec = self.spec
        if isinstance(spec.system, Target) or spec.clock is Clock.VIRTUAL:
            return ()
        if isinstance(spec.system, Tiles):
            return PlacedTiles(spec.system, spec.placement).plan_machines()
        needs = spec.needs if isinstance(spec.system, Reference) else WEB_NEEDS
        return plan_machines(spec.system, spec.placement, needs)

    @property
    def declared_machines(self) -> Sequence[MachineSpec]:
        """Returns the machines as declared for all roles; empty where the lab starts none."""
        placement = self.spec.placement
        return (placement.machine, placement.backend) if self.plan_machines() else ()

    def choose_cores(self) -> str | None:
        """Returns the cores that machines with assigned cores leave to the driver; empty where none has any, or they
        leave fewer than the driver's threads. None where several drivers share all cores.
        """
        if any(part.driver for part in self.spec.parts):
            return None
        machines = [*self.declared_machines, *(machine.spec for machine in self.plan_machines())]
        return list_free_cores(set().union(*map(list_taken_cores, machines)), self.spec.threads)

    async def check_target(self) -> tuple[str, ...]:
        """Checks a system that others run; returns notices about the route to it. Raises LoadstoneError."""
        spec = self.spec
        if not isinstance(spec.system, Target):
            return ()
        seen = await preflight.check_target(spec.system, [part.workload for part in spec.parts])
        return (*seen, *_notices(spec, spec.system))

    def open(self, logs: Path, fleet: OpenFleet | None) -> AbstractAsyncContextManager[Testbed]:
        """Puts the system up; it is down when the block ends."""
        spec = self.spec
        return start_testbed(spec.system, spec.clock, logs, spec.placement, _needs_with_files(spec), fleet)

    def plan_rounds(self) -> Sequence[Round]:
        """Returns every iteration of every round."""
        return [
            Round(
                self.spec.compute_phases(drivers[0].parts[0]),
                partial(prepare_round, drivers, iteration),
                None if drivers[0].is_idle else _announce(self.spec, drivers, iteration),
            )
            for drivers in self.drivers
            for iteration in range(1, self.spec.profile.iterations + 1)
        ]


def _refuse_unfit_tiles(spec: RunSpec, tiles: Tiles) -> None:
    """Raises LoadstoneError for machines that no tile has, and for services that do not fit the tile."""
    if spec.placement.machine.count > 1:
        raise UsageError("`count` cannot be set: a tile has one machine of each role. Use --tiles for more tiles.")
    refuse_unknown_roles(spec.placement.roles, dict.fromkeys(Role, tiles.count))
    placed = PlacedTiles(tiles, spec.placement)
    placed.plan_machines()
    if spec.fleet is None:
        placed.check_services()


def _needs_with_files(spec: RunSpec) -> ServerNeeds:
    """What the workloads want of the reference servers, with the sessions that each workload's files are for."""
    if not isinstance(spec.system, Reference):
        return WEB_NEEDS
    with_files = [part for part in spec.parts if part.workload.name in get_topology(spec.need).file_sets]
    phases = spec.profile.phases
    file_sets = {part.workload.name: compute_data_sessions(part.workload, part.load, phases) for part in with_files}
    return replace(spec.needs, file_sets=file_sets)


def _notices(spec: RunSpec, target: Target) -> Iterator[str]:
    """What a run itself does on the way to its target that its users may not expect, as sentences."""
    if target.identity is not None:
        yield f"Users show the client certificate {target.identity.certificate}."
    if not target.is_local:
        return
    most = max(count_source_addresses(part.aim((target,)), spec.profile.phases) for part in spec.parts)
    if most > 1:
        last = f"127.0.0.{most}"
        yield (
            f"Users come from {most} source addresses, 127.0.0.1 to {last}. "
            "The server may see a user under several addresses."
        )


def _announce(spec: RunSpec, drivers: Sequence[RoundDriver], iteration: int) -> Beginning:
    """Returns what listeners hear before an iteration of a round begins."""
    parts = [part for driver in drivers for part in driver.parts]
    is_of_tiles = isinstance(spec.system, Tiles)
    return Beginning(
        workload=str(spec.system) if is_of_tiles else " + ".join(part.workload.name for part in parts),
        load="all loads at once" if is_of_tiles else " + ".join(str(part.load) for part in parts),
        iteration=iteration,
        iterations=spec.profile.iterations,
        seconds=spec.compute_phases(parts[0]).total_s,
        waits_for=f"{spec.joining.drivers} drivers to join at {spec.joining.address}" if spec.joining else "",
    )


def _placeholders(spec: RunSpec) -> tuple[Target, ...]:
    """Stands for what is not up yet while plans are checked: our systems have all sides, a station one."""
    if isinstance(spec.system, Target):
        return (spec.system,)
    if spec.clock is Clock.VIRTUAL:
        return ()
    more = ["https://localhost:1", "lmtp://localhost:1"] if isinstance(spec.system, Reference | Tiles) else []
    return (Target.parse(["http://localhost:1", *more]),)


def find_faulty_machine(deployment: Deployment) -> PlannedMachine | None:
    """Returns the machine that the fault of a run is injected into; None without a fault. Raises UsageError where the
    system does not have it.
    """
    fault = deployment.spec.fault
    if fault is None:
        return None
    machines = deployment.plan_machines()
    if not machines:
        remedy = "Remove the fault, or --target and --virtual"
        raise UsageError(f"The fault `{fault}` requires a machine that Loadstone starts. {remedy}.")
    return find_machine(machines, fault.machine) if fault.machine else machines[0]
