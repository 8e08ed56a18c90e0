"""The process that keeps a pair: it creates the pair or takes it over, and answers other commands until it ends."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from rich.live import Live
from rich.table import Table

from loadstone.cli.screen import out, say, warn
from loadstone.fleet.open import OpenFleet
from loadstone.fleet.pairs.spread import NO_TWO_HOSTS
from loadstone.fleet.pairs.takeover import PairEndedError, adopt_spread_pair
from loadstone.model.errors import PlatformError
from loadstone.model.fleet import FleetSpec
from loadstone.model.machine import PUBLIC, MachineSpec
from loadstone.platforms.kind import get_own_settings
from loadstone.platforms.maker import open_maker
from loadstone.platforms.pair import control
from loadstone.platforms.pair.disk import LEASE_UNIT_S, PairSettings
from loadstone.platforms.pair.ending import forget_when_gone
from loadstone.platforms.pair.keeper import Keeper
from loadstone.platforms.pair.local import adopt_pair
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.pair.record import PairRecord
from loadstone.platforms.pair.status import StatusWatch, list_status_rows
from loadstone.run.hosts import open_fleet_for
from loadstone.services import reference
from loadstone.testbed.context import open_testbed
from loadstone.testbed.running import build_target

PAIR_STATUS_INTERVAL_S = 1.0
DATABASE_ROLE = "database"


async def create_pair(name: str, wanted: MachineSpec, serve: str, hosts: FleetSpec | None) -> None:
    """A pair with a service, on this host or over hosts, until a signal or a command ends it. Raises PlatformError."""
    over = _set_on_signal()
    logs = control.create_logs(name)
    fleet: OpenFleet | None = None
    with forget_when_gone(name, lambda: fleet.unreleased if fleet is not None else {}):
        async with open_fleet_for(hosts, logs) as fleet, open_testbed(logs, fleet) as base:
            machine = await base.start_machine(name, wanted, (PUBLIC,))
            if not isinstance(machine, PairMachine):
                raise PlatformError(NO_TWO_HOSTS)
            if advice := machine.facts.get("advice"):
                warn(advice)
            record = _describe(machine, wanted, logs, hosts)
            control.remember(record)
            service = await machine.start(serve, await _command(machine, serve))
            target = await build_target(machine, reference.read_ready(service.first_line))
            record = record.model_copy(update={"serves": f"{serve} at {target.http}"})
            control.remember(record)
            await _keep(Keeper(StatusWatch(machine), record, over), is_background=False)


async def _command(machine: PairMachine, serve: str) -> list[str]:
    """The command of a service; a database has a file on the machine's disk, or in its memory."""
    if serve != DATABASE_ROLE:
        return reference.build_plain_command(serve, machine.listen, 1)
    await machine.write("database.txt", "The rows are in the file next to this one.\n")
    return reference.build_plain_command(serve, machine.listen, 1, "--file", f"{machine.files}/rows.db")


def _describe(machine: PairMachine, wanted: MachineSpec, logs: Path, hosts: FleetSpec | None) -> PairRecord:
    """What the next keeper must know."""
    context = machine.context
    return PairRecord(
        name=machine.name,
        machine=wanted.declared,
        folder=context.journal.folder,
        logs=logs,
        nic=context.nics[PUBLIC],
        serves="nothing yet",
        fleet=None if hosts is None else hosts.model_dump(mode="json"),
    )


async def take_over(record: PairRecord, is_background: bool) -> None:
    """Keeps a pair that runs already until it is to end. Raises PlatformError where it has ended meanwhile."""
    if record.fleet is not None:
        hosts = FleetSpec.model_validate(record.fleet)
        await take_over_hosts(record.name, hosts, record.logs, is_background, record)
        return
    over = _set_on_signal()
    with contextlib.ExitStack() as conclusion:
        async with adopt_pair(record) as machine:
            conclusion.enter_context(forget_when_gone(record.name))
            async with machine.keep_running():
                await _keep(Keeper(StatusWatch(machine), record, over), is_background)


async def take_over_hosts(
    name: str, hosts: FleetSpec, logs: Path, is_background: bool, record: PairRecord | None = None
) -> None:
    """Keeps a pair over hosts that runs already until it is to end. Raises PlatformError where it has ended."""
    over = _set_on_signal()
    with contextlib.ExitStack() as conclusion:
        async with open_fleet_for(hosts, logs) as fleet, open_maker(logs) as here, _forget_if_ended(name):
            assert fleet is not None
            async with adopt_spread_pair(fleet, name, here) as machine:
                unreleased = fleet.unreleased
                conclusion.enter_context(forget_when_gone(name, lambda: unreleased))
                if record is None:
                    record = _describe(machine, machine.context.spec, logs, hosts)
                    record = record.model_copy(update={"serves": f"at {machine.address}"})
                    control.remember(record)
                machine.may_be_kept = record.may_be_kept
                await _keep(Keeper(StatusWatch(machine), record, over), is_background)


@contextlib.asynccontextmanager
async def _forget_if_ended(name: str) -> AsyncIterator[None]:
    """Removes what is stored here of a pair that no host has any more."""
    try:
        yield
    except PairEndedError:
        control.forget(name)
        raise


def _set_on_signal() -> asyncio.Event:
    """Set by a signal that ends this process."""
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    return over


async def _keep(keeper: Keeper, is_background: bool) -> None:
    """Keeps a pair until it is to end. In the background that is when no command has come for its lease. Raises
    PlatformError where it has ended by itself.
    """
    machine, record = keeper.watch.machine, keeper.record
    lease_s = get_own_settings(machine.context.spec, PairSettings).lease_s
    async with control.listen_for_orders(record.name, keeper.obey):
        say(f"{record.name} serves {record.serves}. Ctrl-C ends it.")
        with Live(make_table(keeper.watch.read()), console=out, transient=True, auto_refresh=False) as live:
            while not keeper.over.is_set() and not machine.end():
                live.update(make_table(keeper.watch.read()), refresh=not is_background)
                if is_background and time.monotonic() - keeper.used_s > lease_s:
                    say(f"No command came within the lease of {lease_s / LEASE_UNIT_S:g} min: the pair ends.")
                    break
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(keeper.over.wait(), PAIR_STATUS_INTERVAL_S)
    if machine.end():
        raise PlatformError(machine.end())


def make_table(looked: dict[str, Any]) -> Table:
    """The status of a pair as people read it."""
    table = Table("", looked["name"], show_edge=False)
    for title, text in list_status_rows(looked):
        table.add_row(title, text)
    return table
