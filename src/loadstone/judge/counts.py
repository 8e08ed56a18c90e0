"""Rules about what operations brought beside their pages: pictures that pages name, requests made now and then.

A server that leaves pictures out, or never lets users do something, is not asked for what was declared. Pure.
"""

import math
from collections.abc import Iterator

from loadstone.judge.chance import SURE
from loadstone.judge.check import check_at_least, check_at_most, describe_limits_source, withdraw_check
from loadstone.judge.mix import DISTURBED, is_disturbed
from loadstone.model.figures import CountLimit, Criteria, IterationFigures, OperationFigures
from loadstone.model.profile import Rigor
from loadstone.model.records.check import Check, CheckId, Weight

MOST_OF_A_PAGE = 10
"""Pictures of a page for which chance is reckoned: a user has all of them already, or none."""


def check_counts(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """One for each bound of each rule."""
    by_name = {operation.name: operation for operation in figures.operations}
    for limit in criteria.count_limits:
        operation = by_name.get(limit.operation)
        if operation is not None and operation.requests:
            for check in _bounds(criteria, limit, operation):
                yield withdraw_check(check, DISTURBED) if is_disturbed(figures) else check


def _bounds(criteria: Criteria, limit: CountLimit, operation: OperationFigures) -> Iterator[Check]:
    mean = limit.count_matches(operation) / operation.requests
    chance = (
        0.0 if criteria.rigor is Rigor.FULL else SURE * _deviation(limit, operation) / math.sqrt(operation.requests)
    )
    detail = f"for each of {operation.requests} {operation.name}"
    detail += f"; chance may do {chance:.2g} to so few" if chance else ""
    source = describe_limits_source(criteria)
    for bound, make, sign in ((limit.at_least, check_at_least, -1), (limit.at_most, check_at_most, 1)):
        if bound is not None:
            allowed = max(0.0, bound + sign * chance)
            yield make(CheckId.COUNT, mean, allowed, "", Weight.INVALID, source, detail, limit.title)


def _deviation(limit: CountLimit, operation: OperationFigures) -> float:
    """Standard deviation of one operation's count at most, at the rule's own limit (Bhatia and Davis 2000): of requests
    one or none, of pictures as many as a page has.
    """
    mean = next(bound for bound in (limit.at_least, limit.at_most) if bound is not None)
    unit = max(1.0, operation.image_bytes / max(1, operation.images_loaded)) if limit.of == "image_bytes" else 1.0
    if limit.of == "images_named":
        return 0.0  # every page names the same number
    most = unit * (MOST_OF_A_PAGE if limit.of else 1)
    return math.sqrt(max(0.0, mean * (most - mean)))
