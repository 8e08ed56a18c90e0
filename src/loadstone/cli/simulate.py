"""`loadstone simulate`."""

import asyncio
import json
import os
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.table import Table

from loadstone.cli.screen import out
from loadstone.cli.section_options import make_option
from loadstone.judge.mix import CYCLE_DEVIATION_PCT
from loadstone.model.load import MOST_SESSIONS, make_load, read_process
from loadstone.model.records.simulation import Simulated
from loadstone.run.simulate import simulate as play
from loadstone.study.sections import DriverSection, LoadEntry
from loadstone.workloads import load_with_users
from loadstone.workloads.shares import compute_shares


def simulate(
    workload: Annotated[str, typer.Argument(help="Workload (name or folder).")],
    sessions: Annotated[
        int | None, typer.Option(min=1, max=MOST_SESSIONS, help="Closed load: number of simultaneous sessions.")
    ] = None,
    rate: Annotated[str | None, make_option(LoadEntry, "rate")] = None,
    arrivals: Annotated[str, make_option(LoadEntry, "arrivals")] = "poisson",
    seconds: Annotated[float, typer.Option(min=1, max=1e6, help="Length of the steady state, in seconds.")] = 1800,
    server: Annotated[
        str | None,
        typer.Option(
            help="Response-time model of the server: published (mean of each operation as published), "
            "fixed:SECONDS or exponential:SECONDS. Default: published if known, else fixed:0.05."
        ),
    ] = None,
    seed: Annotated[int, make_option(DriverSection, "seed")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Simulate a workload's schedule in virtual time against a modelled server, without sockets."""
    declared = load_with_users(workload)
    load = make_load(sessions, rate, None, read_process(arrivals))
    result = asyncio.run(play(declared, load, seconds, seed, server, len(os.sched_getaffinity(0))))
    cycles = _cycles(result)
    if as_json:
        typer.echo(json.dumps(asdict(result) | ({"cycles": asdict(cycles)} if cycles else {}), indent=1))
        return
    expected = compute_shares(declared).operations
    table = Table(title=f"{workload}: {load} for {seconds:g} s in virtual time, seed {seed}")
    is_paced = declared.pacing.kind == "cycle"
    for column in ("operation", "count", "share %", "expected %", *(("cycle off %",) if is_paced else ())):
        table.add_column(column, justify="left" if column == "operation" else "right")
    for operation in result.operations:
        share, wanted = operation.share_pct, 100 * expected[operation.name]
        off = operation.cycle_off_pct
        cycle = () if not is_paced else ("" if off is None else f"{off:+.2f}",)
        table.add_row(operation.name, str(operation.count), f"{share:.3f}", f"{wanted:.3f}", *cycle)
    out.print(table)
    out.print(
        f"{result.operations_per_s:.2f} operations/s ({result.operations_per_s_per_session:.5f} a session), "
        f"{result.sessions_finished} sessions finished, {result.operations_per_session:.2f} operations each, "
        f"mean response {result.mean_response_s:.3f} s, mean pause {result.mean_pause_s:.2f} s"
    )
    if cycles:
        state = "kept" if cycles.is_kept else "broken"
        worst = f"{cycles.off_pct:+.2f} % for {cycles.operation}"
        out.print(f"cycle time of an operation: {worst}, at most {cycles.limit_pct:g} % off: {state}")


@dataclass(frozen=True)
class CycleRule:
    """The cycle time that is furthest off, and whether the rule is kept."""

    operation: str
    off_pct: float
    limit_pct: float
    is_kept: bool


def _cycles(result: Simulated) -> CycleRule | None:
    """The rule of cycle times, which a server breaks whose answers outlast them; None where starts are not paced."""
    off = {
        operation.name: operation.cycle_off_pct
        for operation in result.operations
        if operation.cycle_off_pct is not None
    }
    if not off:
        return None
    name, worst = max(off.items(), key=lambda item: abs(item[1]))
    return CycleRule(name, worst, CYCLE_DEVIATION_PCT, abs(worst) <= CYCLE_DEVIATION_PCT)
