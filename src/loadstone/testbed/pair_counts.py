"""Experiments with several pairs at once: on this host, or over two hosts of a fleet."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.fleet.open import OpenFleet
from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.experiments import (
    Arrangement,
    CountLoad,
    explain_unmeasured,
    list_primary_hosts,
    summarize_count,
)
from loadstone.platforms.pair.fitness import (
    MOST_PAIRS_A_CORE,
    FitnessFinding,
    compare_memory,
    examine_memory,
    examine_processors,
    explain_refusal,
    read_free_cores,
)
from loadstone.testbed.context import TestbedContext, open_testbed
from loadstone.testbed.pair_clients import Client, add_pair, describe_pair, measure_clients, open_echo, serve_role

SIDES = 2
"""Sides of a pair on this host."""


async def measure_counts(logs: Path, counts: Sequence[int], seconds: float, memory_mib: int) -> list[CountLoad]:
    """Measures so many pairs of this host at once, each under a client of its own. Pairs are added from the smallest
    count to the largest. A count that cannot be measured has its reasons. Raises ServiceError.
    """
    free_cores = await asyncio.to_thread(read_free_cores)

    def examine(count: int, added: int) -> list[FitnessFinding]:
        return [examine_memory(memory_mib, SIDES * added), examine_processors(SIDES * count, free_cores)]

    async with open_testbed(logs) as base, AsyncExitStack() as stack:
        group = _Pairs(base, stack, Arrangement.ONE_HOST, ("",), memory_mib, examine)
        return [await group.measure(count, seconds) for count in sorted(counts)]


async def measure_crossed(
    logs: Path, counts: Sequence[int], seconds: float, memory_mib: int, fleet: OpenFleet, host: str = ""
) -> list[CountLoad]:
    """Measures so many pairs over two hosts of a fleet at once: with all primaries on the first host, then crossed.
    `host` names both as `A+B`. Raises PlatformError where there are no two, and ServiceError.
    """
    hosts = fleet.choose_pair_hosts(describe_pair(memory_mib, **({"host": host} if host else {})))
    homes = ["+".join(peer.name for peer in order) for order in (hosts, hosts[::-1])]

    def examine(count: int, _: int) -> list[FitnessFinding]:
        """Each host has a side of every pair."""
        free = min(hosts, key=lambda peer: int(peer.facts["free_mib"]))
        cores = min(int(peer.facts["cores"]) for peer in hosts)
        return [
            compare_memory(int(free.facts["free_mib"]), memory_mib, count),
            FitnessFinding("processors", f"{cores} cores on a host, {count} wanted", cores >= count, False),
        ]

    loads = []
    for arrangement in (Arrangement.TOGETHER, Arrangement.CROSSED):
        async with open_testbed(logs, fleet) as base, AsyncExitStack() as stack:
            group = _Pairs(base, stack, arrangement, homes, memory_mib, examine)
            least = 2 if arrangement is Arrangement.CROSSED else 1
            loads += [await group.measure(count, seconds) for count in sorted(counts) if count >= least]
    return sorted(loads, key=lambda load: load.pairs)


@dataclass
class _Pairs:
    """Pairs with a client each, to which others are added."""

    base: TestbedContext
    stack: AsyncExitStack
    arrangement: Arrangement
    homes: Sequence[str]
    """Hosts of a pair, its primary's first: one order for each host that may have the primary; empty for this host."""
    memory_mib: int
    examine: Callable[[int, int], list[FitnessFinding]]
    """Compares memory and cores with those of so many pairs, of which so many are to be added."""
    clients: list[Client] = field(default_factory=list)

    async def measure(self, count: int, seconds: float) -> CountLoad:
        """Adds pairs up to a count and measures all of them, or gives the reasons. Raises ServiceError."""
        findings = self.examine(count, count - len(self.clients))
        warnings = [finding.detail for finding in findings if not finding.is_fit]
        if count > MOST_PAIRS_A_CORE:
            warnings.append(f"more than {MOST_PAIRS_A_CORE} pairs on a host disturb each other")
        if explain_refusal(findings):
            return explain_unmeasured(count, self.arrangement, warnings)
        try:
            for home in list_primary_hosts(self.arrangement, self.homes, count)[len(self.clients) :]:
                self.clients.append(await self._add_client(home))
            return summarize_count(self.arrangement, await measure_clients(self.clients, seconds), warnings)
        except PlatformError as error:
            return explain_unmeasured(count, self.arrangement, [*warnings, str(error)])

    async def _add_client(self, home: str) -> Client:
        # Hosts keep files of an ended pair by its name until the fleet is released.
        name = f"{'crossed' if self.arrangement is Arrangement.CROSSED else 'pair'}-{len(self.clients) + 1}"
        spec = describe_pair(self.memory_mib, **({"host": home} if home else {}))
        machine = await add_pair(self.base, name, spec)
        endpoint = await serve_role(machine, f"echo-{name}", "echo")
        return machine, await self.stack.enter_async_context(open_echo(endpoint))
