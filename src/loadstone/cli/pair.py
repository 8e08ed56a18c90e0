"""`loadstone pair`: making a pair, looking at it, and doing things to it."""

import asyncio
import json
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table

from loadstone.cli.exits import Exit
from loadstone.cli.pair_experiments import (
    measure_disk_reads,
    measure_distance,
    measure_full_link,
    measure_several,
    measure_slowed,
    measure_timer,
)
from loadstone.cli.pair_hosts import FleetFile, PairHosts, read_pair_fleet
from loadstone.cli.pair_keeping import DATABASE_ROLE, create_pair, make_table, take_over, take_over_hosts
from loadstone.cli.screen import out, say, warn
from loadstone.fleet.inventory import read_fleet
from loadstone.model.errors import PlatformError, UsageError
from loadstone.model.fault import FaultKind
from loadstone.platforms.pair import control
from loadstone.platforms.pair.disk import (
    LEAST_SILENCE_MS,
    MOST_LEASE_MIN,
    MOST_SILENCE_MS,
    SILENCE_MS,
    Disks,
    Reads,
)
from loadstone.platforms.pair.ending import wait_until_gone
from loadstone.platforms.pair.fitness import FitnessFinding, examine_host, explain_refusal
from loadstone.platforms.pair.sizing import MEASURED_MBIT_PER_S, compute_log_bandwidth
from loadstone.platforms.registry import read_machine
from loadstone.telemetry.pairs import pair_metrics

LIMITS = (
    "A pair has one virtual processor, emulated, with instructions counted; one network, one disk. VMware holds "
    "patents on parts of this method. Limits: docs/explain/pairs.md."
)
LEASE_MIN = 10
"""Usual lease of a pair whose keeper was killed."""
PAIR_MEMORY_MIB = 192
SERVED = ("echo", "backend", "infra", "idle", DATABASE_ROLE)
"""Roles of the reference server that need no other service."""


class MovedSide(StrEnum):
    """The side that is replaced."""

    PRIMARY = "primary"
    SECONDARY = "secondary"


app = typer.Typer(help="Create, inspect and fault-test fault-tolerant pairs.", no_args_is_help=True)
app.command("measure-timer")(measure_timer)
app.command("measure-slow-secondary")(measure_slowed)
app.command("measure-round-trip")(measure_distance)
app.command("measure-link")(measure_full_link)
app.command("measure-count")(measure_several)
app.command("measure-reads")(measure_disk_reads)
PairArgument = Annotated[str, typer.Argument(help="Name of the pair.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Memory = Annotated[int, typer.Option(min=64, max=65536, help="Memory of the machine, in MiB.")]


@app.command("check")
def check(memory: Memory = PAIR_MEMORY_MIB) -> Exit:
    """Check whether this host can run a pair, and print what is missing."""
    return _shown(examine_host(memory, 2))


def _shown(checks: list[FitnessFinding]) -> Exit:
    for check in checks:
        mark = "[green]ok[/]" if check.is_fit else "[red]missing[/]" if check.is_needed else "[yellow]note[/]"
        out.print(f"{mark:20} {check.matter}: {check.detail}", highlight=False)
    return Exit.WRONG_INPUT if explain_refusal(checks) else Exit.PASS


@app.command("create")
def create(
    name: PairArgument,
    memory: Memory = PAIR_MEMORY_MIB,
    disk: Annotated[int, typer.Option(min=0, max=1 << 24, help="Size of the disk, in MiB; 0 for none.")] = 0,
    disks: Annotated[
        Disks, typer.Option(help="Disk layout: replicated (one for each side) or shared.")
    ] = Disks.REPLICATED,
    reads: Annotated[
        Reads,
        typer.Option(help="Source of data read from a shared disk, for the secondary: the log, or its own reads."),
    ] = Reads.LOG,
    serve: Annotated[str, typer.Option(help=f"Service of the pair: {', '.join(SERVED)}.")] = "backend",
    restart: Annotated[
        bool, typer.Option("--restart", help="Restart the machine from its disk when both sides are gone.")
    ] = False,
    lease: Annotated[
        int,
        typer.Option(
            min=0,
            max=MOST_LEASE_MIN,
            help="Minutes for which the pair continues when this process is killed, after the last command.",
        ),
    ] = LEASE_MIN,
    silence_ms: Annotated[
        int,
        typer.Option(
            min=LEAST_SILENCE_MS,
            max=MOST_SILENCE_MS,
            help="Milliseconds without a sign of life after which a side suspects the other.",
        ),
    ] = SILENCE_MS,
    fleet: FleetFile = None,
    host: PairHosts = "",
) -> Exit:
    """Create a pair that runs until Ctrl-C or `pair end`; other commands inspect and change it meanwhile."""
    control.require_name(name)
    if serve not in SERVED:
        raise UsageError(f"A pair cannot run `{serve}`. Use one of {', '.join(SERVED)}.")
    hosts = read_pair_fleet(fleet, host)
    say(LIMITS)
    if hosts is None:
        _require_fitness(memory)
    size = {"platform": "pair", "memory": memory, "disk": disk, "disks": disks, "reads": reads}
    life = {"restart": restart, "lease": lease, "silence_ms": silence_ms}
    settings = {**size, **life, **({"host": host} if host else {})}
    with control.lock_keeper(name):
        if control.state_of_unkept(name) is control.PairState.WITHOUT_KEEPER:
            raise PlatformError(
                f"A pair `{name}` already exists, without a keeper. `loadstone pair end {name}` ends it."
            )
        asyncio.run(create_pair(name, read_machine(settings), serve, hosts))
    return Exit.PASS


def _require_fitness(memory_mib: int) -> None:
    """Warns of what had better be otherwise on this host. Raises PlatformError where it can have no pair."""
    checks = examine_host(memory_mib, 2)
    if why := explain_refusal(checks):
        raise PlatformError(why)
    for check in checks:
        if not check.is_fit:
            warn(f"{check.matter}: {check.detail}")


@app.command("keep")
def keep(
    name: PairArgument,
    fleet: FleetFile = None,
    is_background: Annotated[bool, typer.Option(control.KEEPER_BACKGROUND, hidden=True)] = False,
) -> Exit:
    """Take over a pair whose process was killed, until Ctrl-C or `pair end`. Other commands do so in the background."""
    control.require_name(name)
    with control.lock_keeper(name):
        if fleet is not None:
            asyncio.run(take_over_hosts(name, read_fleet(fleet), control.create_logs(name), is_background))
            return Exit.PASS
        record = control.record_of(name)
        if record is None or control.state_of_unkept(name) is control.PairState.ENDED:
            raise control.explain_absence(name)
        asyncio.run(take_over(record, is_background))
    return Exit.PASS


@app.command("end")
def end(name: PairArgument) -> Exit:
    """End a pair and the process that keeps it, and wait until nothing of it is left."""
    _ask(name, "end")
    wait_until_gone(name)
    return Exit.PASS


@app.command("list")
def list_pairs() -> Exit:
    """List all pairs of this user: kept, without a keeper, or ended with files left."""
    for name in control.list_known():
        out.print(f"{name}  {control.state_of(name)}", highlight=False)
    return Exit.PASS


@app.command("clean")
def clean() -> Exit:
    """Remove what ended pairs have left; running ones stay, and are named."""
    for name in control.list_known():
        state = control.state_of(name)
        if state is control.PairState.ENDED:
            control.forget(name)
            say(f"{name}: files removed.")
        elif state is control.PairState.WITHOUT_KEEPER:
            say(f"{name}: still running without a keeper. `loadstone pair end {name}` ends it.")
    return Exit.PASS


def _ask(name: str, do: str, **details: Any) -> Any:
    return asyncio.run(control.ask(name, do, **details))


@app.command("status")
def show_status(name: Annotated[str | None, typer.Argument(help="Name of a pair. Default: all active pairs.")] = None,
           as_json: Json = False) -> Exit:  # fmt: skip
    """Show the status of pairs: protection, host and use of the secondary, lag, log bandwidth, delayed outputs."""
    statuses = [_ask(name, "status")] if name else asyncio.run(control.read_statuses(takes_over=True))
    if not statuses and not as_json:
        say("No pair is active. `loadstone pair create NAME` creates one.")
    for looked in statuses:
        out.print_json(json.dumps(looked)) if as_json else out.print(make_table(looked))
    return Exit.PASS


@app.command("metrics")
def print_metrics() -> Exit:
    """Print the status of all pairs in Prometheus's text format, as `loadstone serve` has it at /pairs/metrics."""
    out.print(pair_metrics(asyncio.run(control.read_statuses())), end="", soft_wrap=True, highlight=False, markup=False)
    return Exit.PASS


@app.command("size")
def estimate_size(
    disk_read_mbytes: Annotated[
        float, typer.Option(min=0, max=1e6, help="Rate of reads from a shared disk, in megabytes per second.")
    ] = 0,
    net_rx_mbits: Annotated[
        float, typer.Option(min=0, max=1e6, help="Rate of received network traffic, in Mbit/s.")
    ] = 0,
    frame_bytes: Annotated[
        float, typer.Option(min=64, max=9018, help="Mean size of received frames, in bytes.")
    ] = 1514,
    link_mbits: Annotated[
        float, typer.Option(min=1, max=1e6, help="Speed of the link between both sides, in Mbit/s.")
    ] = 1000,
    as_json: Json = False,
) -> Exit:
    """Estimate the log bandwidth of a protected machine, by the published rule and by a measured model."""
    estimate = compute_log_bandwidth(disk_read_mbytes, net_rx_mbits, frame_bytes, link_mbits)
    if as_json:
        out.print_json(json.dumps(estimate.as_json))
        return Exit.PASS
    table = Table("", "Mbit/s", show_edge=False)
    table.add_row("published rule, (8 R + N) 1.2", f"{estimate.rule_mbit_per_s:.1f}")
    table.add_row("measured model, before compression", f"{estimate.model_mbit_per_s:.3g}")
    table.add_row("  of received frames", f"{estimate.network_mbit_per_s:.3g}")
    table.add_row("  of disk reads (disks=shared, reads=log)", f"{estimate.disk_mbit_per_s:.3g}")
    table.add_row("  of an idle machine", f"{estimate.idle_mbit_per_s:.2g}")
    out.print(table)
    if estimate.link_share > 1:
        warn(f"The link of {link_mbits:g} Mbit/s is too slow: the log takes {100 * estimate.link_share:.0f} % of it.")
    else:
        say(f"The log takes {100 * estimate.link_share:.1f} % of a link of {link_mbits:g} Mbit/s.")
    if estimate.is_extrapolated:
        say(
            f"The model was measured up to {MEASURED_MBIT_PER_S:g} Mbit/s received; beyond that it is an extrapolation."
        )
    return Exit.PASS


@app.command("events")
def print_events(name: PairArgument) -> Exit:
    """Print the events of a pair, one JSON object per line."""
    for event in _ask(name, "events"):
        out.print(json.dumps(event), soft_wrap=True, highlight=False, markup=False)
    return Exit.PASS


@app.command("protect")
def protect(name: PairArgument) -> Exit:
    """Create a secondary for a machine without one, now and whenever it loses one."""
    _said_paused(_ask(name, "protect"))
    return Exit.PASS


@app.command("unprotect")
def unprotect(name: PairArgument) -> Exit:
    """Stop the secondary; the machine continues without one."""
    _ask(name, "unprotect")
    return Exit.PASS


@app.command("move")
def move(
    name: PairArgument,
    side: Annotated[MovedSide, typer.Option(help="Side to move: the secondary, or the primary by a failover.")] = (
        MovedSide.SECONDARY
    ),
) -> Exit:
    """Replace one side of a pair by another one. Moving the primary is a failover to the secondary."""
    _said_paused(_ask(name, "move" if side is MovedSide.SECONDARY else "move-primary"))
    return Exit.PASS


@app.command("fail")
def fail(name: PairArgument, fault: Annotated[FaultKind, typer.Argument(help="Fault to inject.")]) -> Exit:
    """Inject a fault into a pair."""
    _ask(name, "fail", fault=fault.value)
    return Exit.PASS


def _said_paused(reply: dict[str, Any]) -> None:
    paused_s = reply["paused_s"]
    say(
        "It was protected already." if paused_s is None else f"Protected; the machine stood still for {paused_s:.2f} s."
    )
