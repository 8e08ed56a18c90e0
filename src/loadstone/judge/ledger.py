"""The audit: what drivers were told is kept, against what the database holds. Pure.

Both sides sum the hashes of all ids (FNV-1a, 64 bits): one lost, doubled or strange id changes the sum.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loadstone.judge.check import Check, Weight, at_least, at_most

Json = dict[str, Any]

SOURCE = "our own, docs/consolidation.md"
MODULUS = 1 << 64


@dataclass(frozen=True)
class Told:
    """What drivers were told is kept."""

    count: int
    total: int
    """Sum of the hashes."""
    in_doubt: int
    """Operations without a right answer: the server may hold them, or not."""


def told(lines: Sequence[Json]) -> Told:
    """Sums what all threads and drivers wrote of operations whose endings leave something on the server."""
    count = total = in_doubt = 0
    for line in lines:
        kept = [ending for ending in line["endings"] if int(ending["sum"], 16)]
        count += sum(ending["count"] for ending in kept)
        total += sum(int(ending["sum"], 16) for ending in kept)
        in_doubt += line["in_doubt"]
    return Told(count, total % MODULUS, in_doubt)


def checks(what: str, said: Told, held: Mapping[str, Any]) -> Iterator[Check]:
    """Whether the database holds everything once; those in doubt may be there or not."""
    count, in_doubt = held["count"], said.in_doubt
    detail = f"{said.count} acknowledged, {in_doubt} in doubt"
    yield at_least(f"{what} held of those acknowledged", count, said.count, "", Weight.FAIL, SOURCE, detail)
    yield at_most(f"{what} held beyond those sent", count - said.count, in_doubt, "", Weight.FAIL, SOURCE, detail)
    if not in_doubt:
        differs = int(held["sum"], 16) != said.total
        yield at_most(f"{what} whose sums differ", int(differs), 0, "", Weight.FAIL, SOURCE, "sums of all ids' hashes")
