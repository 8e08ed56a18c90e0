"""Rules for values of a recorded visit, tried on the live site: each by leaving it out, all by two users at once."""

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from loadstone.model.target import Target
from loadstone.run.reason import read_reason
from loadstone.run.visit import VisitedOperation, visit
from loadstone.workloads import load

TRIED_S = 10.0
"""Longest that an operation may take that is tried without one of its values: of a slower site, the rule stays."""
USERS = 2
"""Fresh users who visit at once: a value that only one may send is found out."""


@dataclass(frozen=True)
class VisitRefusal:
    """How a visit failed."""

    operation: str
    number: int
    """Of the operation in the visit, from 1."""
    detail: str
    reason: str
    """What the answer says; empty where there was none."""

    def __str__(self) -> str:
        says = f" The answer says: {self.reason}" if self.reason else ""
        return f"{self.operation}, operation {self.number} of the visit: {self.detail}.{says}"


@dataclass(frozen=True)
class Verified:
    """What came of it."""

    needless: tuple[str, ...]
    """Values without whose rules the visit went as well: the recorded ones serve."""
    unnoticed: tuple[str, ...]
    """The same of values that are others in each visit: a site may take what it gave out to another user, such as the
    number of a session, and answer for that user. Their rules stay.
    """
    fault: VisitRefusal | None
    """How a visit with all other rules failed; None where none did."""


async def verify(
    values: Mapping[str, bool], text_without: Callable[[frozenset[str]], str], target: Target, folder: Path
) -> Verified:
    """Visits a site with all rules, then with each value left as it was recorded, then with all rules that are needed.
    `values` tells of each whether it is another in each visit. Raises UsageError for a target that is not there,
    DriverError.
    """
    written = _written(text_without(frozenset()), folder / "all")
    if fault := await _fault(written, target, 0):
        return Verified((), (), fault)
    needless: list[str] = []
    unnoticed: list[str] = []
    for value, differs in values.items():
        tried = frozenset({value, *needless})
        if not await _fault(_written(text_without(tried), folder / f"without-{value}"), target, 0, TRIED_S):
            (unnoticed if differs else needless).append(value)
    written = _written(text_without(frozenset(needless)), folder / "needed")
    faults = await asyncio.gather(*(_fault(written, target, user) for user in range(USERS)))
    return Verified(tuple(needless), tuple(unnoticed), next((fault for fault in faults if fault), None))


def _written(text: str, folder: Path) -> Path:
    folder.mkdir()
    (folder / "workload.toml").write_text(text, encoding="utf-8")
    return folder


async def _fault(folder: Path, target: Target, user: int, most_s: float = math.inf) -> VisitRefusal | None:
    """How a visit fails of which no operation takes longer; None where it does not."""
    log, workload = folder / f"driver-{user}.log", load(str(folder))
    hurried = {
        name: operation.model_copy(update={"timeout_s": min(most_s, operation.timeout_s)})
        for name, operation in workload.operations.items()
    }
    number, refusal = 0, None
    async for operation in visit(replace(workload, operations=hurried), target, 1 + user, log):
        number += 1
        if operation.performed.kind and refusal is None:
            refusal = _refusal(operation, number)
    return refusal


def _refusal(operation: VisitedOperation, number: int) -> VisitRefusal:
    body = operation.exchanges[-1].body if operation.exchanges else ""
    return VisitRefusal(operation.performed.operation, number, operation.performed.detail, read_reason(body))
