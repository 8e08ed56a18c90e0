"""`loadstone pair measure-...`: experiments on pairs of their own."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from loadstone.cli.exits import Exit
from loadstone.cli.pair_hosts import FleetFile, PairHosts, read_pair_fleet
from loadstone.cli.screen import out, say
from loadstone.host.runtime import make_temporary_folder
from loadstone.model.errors import UsageError
from loadstone.model.fleet import FleetSpec
from loadstone.platforms.pair.disk import MOST_LINK_MBITS, MOST_ROUND_TRIP_MS
from loadstone.platforms.pair.experiments import (
    PUBLISHED_TICK_BYTES,
    CountLoad,
    DelayCost,
    LinkLoad,
    ReadsCost,
    SharePhase,
    TickCost,
)
from loadstone.platforms.pair.fitness import examine_memory
from loadstone.run.hosts import open_fleet_for
from loadstone.testbed.pair_counts import SIDES, measure_counts, measure_crossed
from loadstone.testbed.pair_experiments import (
    measure_links,
    measure_round_trips,
    measure_slow_secondary,
    measure_timers,
)
from loadstone.testbed.pair_reads import measure_reads

EXPERIMENT_SECONDS = 30.0
EXPERIMENT_MEMORY_MIB = 192
HIGHEST_RATE = 100_000
EXPERIMENT_DELAYS_MS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)
EXPERIMENT_LINKS_MBITS = (0.0, 10.0, 3.0, 1.0)
LEAST_LINK_MBITS = 0.1
"""Slowest link: the signs of life of both sides pass it too."""
EXPERIMENT_BLOCK_KIB = 64
MOST_BLOCK_KIB = 1024
EXPERIMENT_DISK_MEMORY_MIB = 512
"""Least memory of a machine with a distribution's programs."""
EXPERIMENT_PAIRS = (1, 2, 3, 4)
MOST_EXPERIMENT_PAIRS = 64
LEAST_DELAY_MS = 0.01
"""Smallest time that the agents add: half of it each way, in whole microseconds."""
ExperimentLength = Annotated[float, typer.Option(min=1, max=3600, help="Length of each measurement, in seconds.")]
ExperimentMemory = Annotated[int, typer.Option(min=64, max=65536, help="Memory of the machine, in MiB.")]
ExperimentJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def measure_timer(
    rate: Annotated[
        list[int],
        typer.Option(min=1, max=HIGHEST_RATE, help="Wake-ups per second of a program in the machine. Repeatable."),
    ] = [*PUBLISHED_TICK_BYTES],  # noqa: B006
    seconds: ExperimentLength = EXPERIMENT_SECONDS,
    memory: ExperimentMemory = EXPERIMENT_MEMORY_MIB,
    as_json: ExperimentJson = False,
) -> Exit:
    """Measure the log of an idle pair over the rate of a timer in it, next to published figures."""
    _require_different("--rate", rate)
    with make_temporary_folder("pair-timer") as logs:
        costs = asyncio.run(measure_timers(logs, rate, seconds, memory))
    _print(as_json, [cost.as_json for cost in costs], _tabulate_costs(costs))
    return Exit.PASS


def measure_slowed(
    share: Annotated[
        float, typer.Option(min=0.05, max=0.95, help="Share of the time for which the secondary's machine may run.")
    ] = 0.5,
    seconds: ExperimentLength = EXPERIMENT_SECONDS,
    memory: ExperimentMemory = EXPERIMENT_MEMORY_MIB,
    as_json: ExperimentJson = False,
) -> Exit:
    """Measure a pair whose secondary gets a share of a processor: throughput, lag, slowing of the primary."""
    with make_temporary_folder("pair-slowed") as logs:
        phases = asyncio.run(measure_slow_secondary(logs, share, seconds, memory))
    _print(as_json, [phase.as_json for phase in phases], _tabulate_phases(phases))
    if not as_json:
        ratio = phases[1].answers_per_s / phases[0].answers_per_s
        say(f"The slowed pair answers {100 * ratio:.0f} % of what the whole one answers. One client, no pauses.")
    return Exit.PASS


def measure_distance(
    delay_ms: Annotated[
        list[float],
        typer.Option(
            min=0, max=MOST_ROUND_TRIP_MS, help="Milliseconds added to the round trip between both sides. Repeatable."
        ),
    ] = [*EXPERIMENT_DELAYS_MS],  # noqa: B006
    seconds: ExperimentLength = EXPERIMENT_SECONDS,
    memory: ExperimentMemory = EXPERIMENT_MEMORY_MIB,
    as_json: ExperimentJson = False,
) -> Exit:
    """Measure a pair over the round trip between both sides: throughput, response times, held outputs, log."""
    _require_different("--delay-ms", delay_ms)
    _refuse_below("--delay-ms", delay_ms, LEAST_DELAY_MS)
    with make_temporary_folder("pair-round-trip") as logs:
        costs = asyncio.run(measure_round_trips(logs, delay_ms, seconds, memory))
    _print(as_json, [cost.as_json for cost in costs], _tabulate_delays(costs))
    if not as_json:
        say("Times in ms, log in Mbit/s before compression. One client, one connection, no pauses.")
        say("Held times of outputs count from the start of each pair.")
    return Exit.PASS


def measure_full_link(
    mbits: Annotated[
        list[float],
        typer.Option(
            min=0,
            max=MOST_LINK_MBITS,
            help="Speed of the link between both sides in Mbit/s; 0: unlimited. Repeatable.",
        ),
    ] = [*EXPERIMENT_LINKS_MBITS],  # noqa: B006
    seconds: ExperimentLength = EXPERIMENT_SECONDS,
    memory: ExperimentMemory = EXPERIMENT_MEMORY_MIB,
    as_json: ExperimentJson = False,
) -> Exit:
    """Measure a pair over the speed of the link between both sides: throughput, response times, lag, slowing."""
    _require_different("--mbits", mbits)
    _refuse_below("--mbits", mbits, LEAST_LINK_MBITS)
    with make_temporary_folder("pair-link") as logs:
        loads = asyncio.run(measure_links(logs, mbits, seconds, memory))
    _print(as_json, [load.as_json for load in loads], _tabulate_links(loads))
    if not as_json:
        say("Times in ms, the lag is the largest. One client, one connection, messages of 4 KiB, no pauses.")
        say("The log on the link is compressed. Near 100 % the link limits the pair.")
    return Exit.PASS


def measure_several(
    pairs: Annotated[
        list[int], typer.Option(min=1, max=MOST_EXPERIMENT_PAIRS, help="Pairs that run at once. Repeatable.")
    ] = [*EXPERIMENT_PAIRS],  # noqa: B006
    seconds: ExperimentLength = EXPERIMENT_SECONDS,
    memory: ExperimentMemory = EXPERIMENT_MEMORY_MIB,
    fleet: FleetFile = None,
    host: PairHosts = "",
    as_json: ExperimentJson = False,
) -> Exit:
    """Measure several pairs at once, each with one client: throughput, lag, slowing of primaries.

    Without a fleet both sides of every pair are on this host. In a fleet the pairs have two hosts. Each count is
    measured with all primaries on one host, then with primaries on both.
    """
    _require_different("--pairs", pairs)
    hosts = read_pair_fleet(fleet, host)
    if hosts is None and not (finding := examine_memory(memory, SIDES * max(pairs))).is_fit:
        raise UsageError(
            f"`--pairs {max(pairs)}` with `--memory {memory}` does not fit this host: {finding.detail}. "
            "Use fewer pairs, or less memory for each machine."
        )
    with make_temporary_folder("pair-count") as logs:
        loads = asyncio.run(_measure_several(logs, pairs, seconds, memory, hosts, host))
    _print(as_json, [load.as_json for load in loads], _tabulate_counts(loads))
    if not as_json:
        say("Times in ms; the lag is the largest. One client for each pair, one connection, no pauses.")
    return Exit.PASS


async def _measure_several(
    logs: Path, pairs: Sequence[int], seconds: float, memory: int, hosts: FleetSpec | None, host: str
) -> list[CountLoad]:
    async with open_fleet_for(hosts, logs) as fleet:
        if fleet is None:
            return await measure_counts(logs, pairs, seconds, memory)
        return await measure_crossed(logs, pairs, seconds, memory, fleet, host)


def measure_disk_reads(
    block_kib: Annotated[
        int, typer.Option(min=1, max=MOST_BLOCK_KIB, help="Size of each read, in KiB. Published tests: 2 and 64.")
    ] = EXPERIMENT_BLOCK_KIB,
    seconds: ExperimentLength = EXPERIMENT_SECONDS,
    memory: Annotated[
        int, typer.Option(min=EXPERIMENT_DISK_MEMORY_MIB, max=65536, help="Memory of the machine, in MiB.")
    ] = EXPERIMENT_DISK_MEMORY_MIB,
    as_json: ExperimentJson = False,
) -> Exit:
    """Measure random disk reads and their log, with the data in the log and with reads by the secondary."""
    with make_temporary_folder("pair-reads") as logs:
        costs = asyncio.run(measure_reads(logs, block_kib, seconds, memory))
    _print(as_json, [cost.as_json for cost in costs], _tabulate_reads(costs))
    if not as_json:
        say("Log before compression. The rule, 1.2 x 8 x reads, is for data that comes with the log.")
    return Exit.PASS


def _require_different(option: str, values: Sequence[float]) -> None:
    if len(set(values)) < len(values):
        listed = ", ".join(f"{value:g}" for value in values)
        raise UsageError(f"{option} has equal values: {listed}. Name each value once.")


def _refuse_below(option: str, values: Sequence[float], least: float) -> None:
    for value in values:
        if 0 < value < least:
            raise UsageError(f"`{option} {value:g}` is too small. Use 0, or at least {least:g}.")


def _print(as_json: bool, rows: list[dict[str, Any]], table: Table) -> None:
    out.print_json(json.dumps(rows)) if as_json else out.print(table)


def _tabulate_costs(costs: Sequence[TickCost]) -> Table:
    table = Table("wake-ups asked per s", "had per s", "log Mbit/s", "bytes each", "published", show_edge=False)
    for cost in costs:
        table.add_row(
            str(cost.wanted_per_s or "none"),
            f"{cost.ticks_per_s:.1f}",
            f"{cost.log_mbit_per_s:.3g}",
            _format("{:.0f}", cost.bytes_per_tick),
            str(cost.published_bytes_per_tick or ""),
        )
    return table


def _tabulate_phases(phases: Sequence[SharePhase]) -> Table:
    table = Table("secondary", "runs", "answers/s", "median ms", "largest lag ms", "slowed by", show_edge=False)
    for phase in phases:
        table.add_row(
            phase.title,
            f"{100 * phase.share:.0f} %",
            f"{phase.answers_per_s:.1f}",
            f"{phase.median_ms:.1f}",
            f"{phase.lag_ms:.1f}",
            f"{phase.slowed_pct:.0f} %",
        )
    return table


def _tabulate_delays(costs: Sequence[DelayCost]) -> Table:
    table = Table("added", "round trip", "answers/s", "median", "p99", "held", "held p99", "log", show_edge=False)
    for cost in costs:
        table.add_row(
            f"{cost.added_ms:g}",
            f"{cost.round_trip_ms:.2f}",
            f"{cost.answers_per_s:.1f}",
            f"{cost.median_ms:.2f}",
            _format("{:.1f}", cost.p99_ms),
            f"{cost.held_ms:.2f}",
            f"{cost.held_p99_ms:.1f}",
            f"{cost.log_mbit_per_s:.3g}",
        )
    return table


def _tabulate_links(loads: Sequence[LinkLoad]) -> Table:
    table = Table("link Mbit/s", "log on it", "used", "answers/s", "median", "p99", "lag", "slowed", show_edge=False)
    for load in loads:
        table.add_row(
            _format("{:g}", load.link_mbit_per_s) or "no limit",
            f"{load.wire_mbit_per_s:.3g}",
            _format("{:.0f} %", load.used_pct),
            f"{load.answers_per_s:.1f}",
            f"{load.median_ms:.2f}",
            _format("{:.1f}", load.p99_ms),
            f"{load.lag_ms:.1f}",
            f"{load.slowed_pct:.0f} %",
        )
    return table


def _tabulate_counts(loads: Sequence[CountLoad]) -> Table:
    table = Table("pairs", "primaries", "answers/s", "each", "median", "lag", "slowed", "warnings", show_edge=False)
    for load in loads:
        table.add_row(
            str(load.pairs),
            load.arrangement,
            _format("{:.1f}", load.answers_per_s),
            ", ".join(f"{rate:.1f}" for rate in load.answers_per_s_by_pair),
            _format("{:.1f}", load.median_ms),
            _format("{:.1f}", load.lag_ms),
            _format("{:.0f} %", load.slowed_pct),
            "; ".join(load.warnings),
        )
    return table


def _tabulate_reads(costs: Sequence[ReadsCost]) -> Table:
    table = Table("data from", "reads MB/s", "log Mbit/s", "log / reads", "rule Mbit/s", show_edge=False)
    for cost in costs:
        table.add_row(
            cost.title,
            f"{cost.reads_mbytes_per_s:.1f}",
            f"{cost.log_mbit_per_s:.3g}",
            f"{cost.log_ratio:.3g}",
            f"{cost.rule_mbit_per_s:.1f}",
        )
    return table


def _format(pattern: str, value: float | None) -> str:
    return "" if value is None else pattern.format(value)
