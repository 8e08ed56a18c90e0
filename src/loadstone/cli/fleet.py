"""`loadstone fleet`: starting, showing and ending the cluster of a fleet's hosts."""

import asyncio
import json
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from loadstone.cli.screen import out, say
from loadstone.fleet import bootstrap
from loadstone.fleet.cluster import find_head_host, find_keys_folder, format_head_address
from loadstone.fleet.contract import FleetError, FoundHost
from loadstone.fleet.engines import create_engine
from loadstone.fleet.inventory import read_fleet
from loadstone.fleet.remote_shell import Shell
from loadstone.model.errors import UsageError
from loadstone.model.fleet import BackEnd, FleetSpec

app = typer.Typer(help="Start, show and stop the cluster of hosts for drivers and machines.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(help="Fleet file (TOML).", metavar="FILE", envvar="LOADSTONE_FLEET")]
SKEW_S = 1.0
"""Difference of clocks that is worth a word: runs are right with any, logs are not."""


@app.command("up")
def start_cluster(
    file: File,
    wheel: Annotated[
        Path | None, typer.Option(help="Wheel to install on hosts without Loadstone.", exists=True, dir_okay=False)
    ] = None,
) -> None:
    """Examine all hosts, install missing software, and start the cluster."""
    asyncio.run(_up(_own_cluster(file), wheel))
    say("The cluster is up. `loadstone run WORKLOAD --fleet FILE` uses it.")


async def _up(spec: FleetSpec, wheel: Path | None) -> None:
    looks = await _each({name: bootstrap.look_at(name, host) for name, host in spec.hosts.items()})
    for name, facts in looks.items():
        if abs(facts.ahead_s) > SKEW_S + facts.bound_s:
            say(f"{name}: its clock is {facts.ahead_s:+.1f} s off ours; starts are corrected, dates in logs are not.")
    pythons = await _each(
        {name: bootstrap.install(name, host, looks[name], wheel) for name, host in spec.hosts.items()}
    )
    keys = bootstrap.make_keys(spec)
    await bootstrap.start_head(spec, keys)
    address = find_head_host(spec)
    others = {name: host for name, host in spec.hosts.items() if host.address != address}
    starts = {name: bootstrap.start_host(name, host, spec, pythons[name], keys) for name, host in others.items()}
    await _each(starts)
    for name, facts in looks.items():
        say(f"{name}: up, {facts.cores} cores, {facts.free_mib} MiB free")


@app.command("status")
def show_hosts(file: File, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show which hosts are in the cluster. Exit code 2 if one is missing."""
    spec = read_fleet(file)
    hosts = asyncio.run(_find_hosts(spec))
    missing = [name for name in spec.hosts if name not in hosts or not hosts[name].is_alive]
    if as_json:
        typer.echo(json.dumps({name: vars(host) for name, host in hosts.items()}, indent=1))
    else:
        out.print(_table(spec, hosts))
    if missing:
        raise FleetError(f"Not in the cluster: {', '.join(missing)}. `loadstone fleet up {file}` starts hosts.")


@app.command("down")
def stop_cluster(file: File) -> None:
    """End the cluster on all hosts, with all that runs there for it, and forget its keys."""
    spec = _own_cluster(file)
    folder = find_keys_folder(format_head_address(spec)).name
    shells = {name: bootstrap.open_shell(name, host) for name, host in spec.hosts.items() if host.ssh}
    ended = asyncio.run(_each({name: bootstrap.end(shell, folder) for name, shell in shells.items()}))
    ended["the head"] = asyncio.run(bootstrap.end(Shell("the head", ""), folder))
    for name, was_there in ended.items():
        say(f"{name}: {'ended' if was_there else 'nothing ran'}")


def _own_cluster(file: Path) -> FleetSpec:
    """A fleet whose cluster is ours to start; raises UsageError for another."""
    spec = read_fleet(file)
    if spec.back_end is BackEnd.LOCAL:
        raise UsageError(f"The fleet of {file} is this machine only. No cluster is needed.")
    if spec.cluster:
        raise UsageError(f"The cluster at {spec.cluster} is managed elsewhere. Start or stop it there.")
    return spec


async def _find_hosts(spec: FleetSpec) -> Mapping[str, FoundHost]:
    engine = create_engine(spec)
    try:
        return await engine.list_hosts()
    finally:
        await engine.release()


async def _each(requests: Mapping[str, Awaitable[Any]]) -> dict[str, Any]:
    """What comes of something that is done for all hosts at once; raises FleetError with all that went wrong."""
    done = await asyncio.gather(*requests.values(), return_exceptions=True)
    wrong = [result for result in done if isinstance(result, BaseException)]
    if any(not isinstance(error, FleetError) for error in wrong):
        raise next(error for error in wrong if not isinstance(error, FleetError))
    if wrong:
        raise FleetError("\n".join(map(str, wrong)))
    return dict(zip(requests, done, strict=True))


def _table(spec: FleetSpec, hosts: Mapping[str, FoundHost]) -> Table:
    table = Table("host", "roles", "address", "state", "memory for the engine")
    for name, host in spec.hosts.items():
        there = hosts.get(name, FoundHost(False, ""))
        state = "[green]up[/]" if there.is_alive else "[red]missing[/]"
        table.add_row(escape(name), ", ".join(host.roles), host.address, state, escape(there.detail))
    return table
