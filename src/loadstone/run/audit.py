"""Asking the application what it holds, before and after its load: what came between is what the drivers brought."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from loadstone.host.http import get
from loadstone.model.target import Target
from loadstone.model.topology import list_ledgers
from loadstone.store.figures import AUDIT, HASHES
from loadstone.store.folder import RunFolder

AUDIT_PATH = "/audit"
AUDIT_TIMEOUT_S = 60.0
"""Longest time for an audit."""


@dataclass(frozen=True)
class HeldTotal:
    """How many of one thing the application holds, and the sum of the hashes of their ids, hexadecimal."""

    count: int = 0
    sum: str = "0"


@dataclass(frozen=True)
class TableRule:
    """A rule of the application's tables, and how many rows break it."""

    rule: str
    broken: int


@dataclass(frozen=True)
class Holdings:
    """What the application says that it holds."""

    totals: Mapping[str, HeldTotal] = field(default_factory=dict)
    """By ledger, as topologies declare them; what is not there is nothing."""
    rules: tuple[TableRule, ...] = ()

    def get_total(self, ledger: str) -> HeldTotal:
        """One ledger's total."""
        return self.totals.get(ledger, HeldTotal())

    @classmethod
    def read(cls, answer: bytes) -> "Holdings":
        """Reads the answer of an audit. Raises ValueError."""
        content = _CONTENT.validate_json(answer)
        totals = {ledger: _TOTAL.validate_python(content[ledger]) for ledger in list_ledgers() if ledger in content}
        return cls(totals, _RULES.validate_python(content.get("rules", ())))


_CONTENT: TypeAdapter[dict[str, object]] = TypeAdapter(dict[str, object])
_TOTAL: TypeAdapter[HeldTotal] = TypeAdapter(HeldTotal)
_RULES: TypeAdapter[tuple[TableRule, ...]] = TypeAdapter(tuple[TableRule, ...])


async def read_holdings(target: Target) -> Holdings | None:
    """Returns what the application holds now, None when it does not answer."""
    if target.http is None:
        return None
    with contextlib.suppress(OSError, ValueError):  # pydantic's errors are ValueErrors
        return Holdings.read(await get(target.http, AUDIT_PATH, AUDIT_TIMEOUT_S))
    return None


def write_audits(folders: Mapping[str, RunFolder], before: Holdings | None, after: Holdings | None) -> None:
    """Writes what came between two looks into the folders of workloads, by what each is asked for."""
    if before is None or after is None:
        return
    broken = [f"not so: {rule.rule} ({rule.broken} times)" for rule in after.rules if rule.broken]
    for kind, folder in folders.items():
        begin, end = before.get_total(kind), after.get_total(kind)
        total = (int(end.sum, 16) - int(begin.sum, 16)) % HASHES
        content = {"what": kind, "count": end.count - begin.count, "sum": f"{total:016x}", "broken_rules": broken}
        folder.write(AUDIT, content)
