"""The rules of a web run, each a function from terms and figures to a check. The order is the report's.

An operation's share of good ones stands for its percentile: 90 % within 2 s is p90 at most 2 s, without reading a
histogram.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from loadstone.judge import counts, driver, ledger, mix, own_limits, steadiness
from loadstone.judge.chance import SURE, compute_most_by_chance, compute_share_interval
from loadstone.judge.check import (
    PUBLISHED_SOURCE,
    UNDISCLOSED,
    WEB_WORKLOADS_SOURCE,
    check_at_least,
    check_at_most,
    describe_limits_source,
    withdraw_check,
    withdraw_undisclosed,
)
from loadstone.judge.mix import ERROR_SHARE_PCT
from loadstone.judge.outlook import compute_least_operations
from loadstone.judge.printed_monitors import audit_monitors, check_monitors
from loadstone.model.figures import Blame, Criteria, IterationFigures, get_blame
from loadstone.model.profile import Rigor
from loadstone.model.records.check import Check, CheckId, Outcome, Weight

LOST_SESSIONS_PCT = 1.0
"""Share of sessions that may wait at the end for an answer that can no longer be tolerable: as many as operations."""


def apply_rules(criteria: Criteria, figures: IterationFigures) -> tuple[Check, ...]:
    """All rules applied to one iteration."""
    judged = tuple(_all(criteria, figures))
    fails = any(check.is_broken and check.weight is Weight.FAIL for check in judged)
    return (*judged, *steadiness.check_steadiness(criteria, figures, fails))


def _all(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    yield _steady_state(criteria, figures)
    if not figures.operations:
        return
    if criteria.tool:
        yield from _of_tool(criteria, figures)
        return
    quality = [*_quality(criteria, figures), *_each(criteria, figures)]
    yield from quality
    yield _enough(criteria, figures, quality)
    yield from withdraw_undisclosed(figures.is_disclosed, _lost_sessions(criteria, figures))
    yield from _audit(criteria, figures)
    yield from _known_errors(criteria, figures)
    yield from own_limits.check_own_limits(criteria, figures)
    yield from mix.check_mix(criteria, figures)
    yield from counts.check_counts(criteria, figures)
    yield from _weighted(criteria, figures)
    lead = _warmed_up(criteria)
    yield lead if figures.is_disclosed else withdraw_check(lead, UNDISCLOSED)
    yield from driver.check_driver(criteria, figures)
    yield from _conditional(criteria, figures)
    yield from _connections(criteria, figures)
    yield from check_monitors(list(audit_monitors(figures.monitors)))


def _of_tool(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """The rules of a load that a tool generates: it is the tool that keeps mix and pauses."""
    yield from _quality(criteria, figures)
    yield from _errors(criteria, figures)
    yield from own_limits.check_own_limits(criteria, figures)
    yield from driver.check_host(criteria, figures)
    yield from driver.check_guest_clock(criteria, figures)


def _steady_state(criteria: Criteria, figures: IterationFigures) -> Check:
    detail = figures.trouble or ("" if figures.completed else "ended early")
    if criteria.tool_operations is not None:
        share = 100 * figures.requests / criteria.tool_operations
        detail = detail or f"{figures.requests} of {criteria.tool_operations} operations"
    else:
        # The last interval may be cut by the clock's resolution.
        share = 100 * figures.steady_s / criteria.steady_s if criteria.steady_s else 0.0
    check = check_at_least(CheckId.STEADY_STATE, share, 99.9, "%", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail)
    return replace(check, outcome=Outcome.BROKEN) if not figures.completed else check


def _quality(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Operations that were overdue when the steady state ended count as failed: no answer is no good answer."""
    overdue = sum(operation.overdue for operation in figures.operations)
    requests = figures.requests + overdue
    good = sum(operation.good for operation in figures.operations)
    tolerable = good + sum(operation.tolerable for operation in figures.operations)
    detail = "over all operations together, each by its own limit"
    detail = f"{overdue} overdue at the end count as failed" if overdue else detail
    for name, count, limit in (
        (CheckId.GOOD_SHARE, good, criteria.good_share_pct),
        (CheckId.TOLERABLE_SHARE, tolerable, criteria.tolerable_share_pct),
    ):
        share = 100 * count / max(1, requests)
        text = f"{detail}{_unsure(count, requests, limit)}"
        yield check_at_least(name, share, limit, "%", Weight.FAIL, describe_limits_source(criteria), text)


def _unsure(count: int, total: int, limit_pct: float) -> str:
    """What is to be said of a share whose interval reaches beyond its limit."""
    if not total:
        return ""
    low, high = (100 * end for end in compute_share_interval(min(count, total), total))
    return f"; not sure: 95 % interval {low:.3g} to {high:.3g} %" if low < limit_pct <= high else ""


def _each(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether the worst kind of operation has its share of good ones: a percentile that lies inside its limit."""
    counted = [operation for operation in figures.operations if operation.requests + operation.overdue]
    if criteria.each_share_pct is None or not counted:
        return
    shares = {operation.name: 100 * operation.good / (operation.requests + operation.overdue) for operation in counted}
    name, worst = min(shares.items(), key=lambda item: item[1])
    source = describe_limits_source(criteria)
    yield check_at_least(CheckId.GOOD_SHARE_EACH, worst, criteria.each_share_pct, "%", Weight.FAIL, source, name)


def compute_weighted_s(criteria: Criteria, figures: IterationFigures) -> float | None:
    """The percentile of each kind's response times, weighted by the declared mix; None where operations are not judged
    each for itself, or one has no answer.
    """
    percentile = criteria.each_share_pct
    times = (
        {operation.name: operation.response.get_at_most(percentile) for operation in figures.operations}
        if percentile
        else {}
    )
    if (
        not criteria.limits_s
        or not criteria.expected_shares
        or any(times.get(name) is None for name in criteria.limits_s)
    ):
        return None
    return sum(share * (times[name] or 0.0) for name, share in criteria.expected_shares.items())


def _weighted(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """One figure for all kinds, for curves and comparisons: a kind may fail its own limit while this is kept."""
    weighted = compute_weighted_s(criteria, figures)
    if weighted is None:
        return
    limit = sum(share * criteria.limits_s[name] for name, share in criteria.expected_shares.items())
    percentile = criteria.each_share_pct or 0.0
    used = {
        operation.name: (operation.response.get_at_most(percentile) or 0.0) / criteria.limits_s[operation.name]
        for operation in figures.operations
    }
    name = max(used, key=lambda name: used[name])
    detail = f"p{percentile:g}; {name} uses most of its limit, {100 * used[name]:.0f} %"
    source = describe_limits_source(criteria)
    yield check_at_most(CheckId.WEIGHTED_PERCENTILE, weighted, limit, "s", Weight.NOTE, source, detail)


def _enough(criteria: Criteria, figures: IterationFigures, quality: list[Check]) -> Check:
    """Whether there are operations enough for a pass: so many that one failure would be within the limit.

    A short run of tiles has few heartbeats by design; it is judged by the quality of all loads of a tile together.
    """
    limit_pct = max(criteria.good_share_pct, criteria.tolerable_share_pct)
    least = compute_least_operations(criteria)
    detail = f"a limit of {limit_pct:g} % needs this many; use more sessions or a longer run"
    is_of_short_tile = criteria.id.tile is not None and criteria.rigor is not Rigor.FULL
    weight = Weight.NOTE if is_of_short_tile and figures.requests else Weight.INVALID
    check = check_at_least(CheckId.ENOUGH, figures.requests, least, "operations", weight, WEB_WORKLOADS_SOURCE, detail)
    has_failed = any(check.outcome is Outcome.BROKEN for check in quality)
    was_asked = figures.requests or any(operation.overdue for operation in figures.operations)
    return withdraw_check(check, "it did not pass anyway") if has_failed and was_asked else check


def _lost_sessions(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether sessions were left waiting: each is only one operation that fails, and then asks for no more."""
    if criteria.due is not None:
        return
    overdue = sum(operation.overdue for operation in figures.operations)
    limit = compute_most_by_chance(LOST_SESSIONS_PCT / 100 * criteria.sessions)
    waiting = [operation.name for operation in figures.operations if operation.overdue]
    detail = f"of {criteria.sessions}; {LOST_SESSIONS_PCT:g} % and what chance adds{': ' if waiting else ''}"
    detail += ", ".join(waiting)
    yield check_at_most(CheckId.LOST_SESSIONS, overdue, limit, "sessions", Weight.FAIL, WEB_WORKLOADS_SOURCE, detail)


def _audit(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether the server holds what it acknowledged."""
    if figures.audit is not None:
        yield from ledger.check_ledger(figures.audit)
    elif criteria.audited:
        detail = "the stored data was not audited"
        yield check_at_least(CheckId.AUDIT_MADE, 0, 1, "", Weight.INVALID, ledger.SOURCE, detail)


def _known_errors(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    for check in _errors(criteria, figures):
        is_printed = figures.has_printed_errors and check.id is CheckId.VALIDATION_ERRORS
        yield from withdraw_undisclosed(figures.is_disclosed or is_printed, [check])


def _errors(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    counts = {blame: sum(op.count_errors(blame) for op in figures.operations) for blame in Blame}
    kinds = {kind for op in figures.operations for kind in op.errors}
    named = {blame: ", ".join(sorted(kind for kind in kinds if get_blame(kind) is blame)) for blame in Blame}
    wrong, share = counts[Blame.VALIDATION], 100 * counts[Blame.TRANSPORT] / max(1, figures.requests)
    detail = named[Blame.VALIDATION]
    if criteria.own.errors_pct is None:
        yield check_at_most(CheckId.VALIDATION_ERRORS, wrong, 0, "errors", Weight.FAIL, PUBLISHED_SOURCE, detail)
        yield check_at_most(
            CheckId.UNANSWERED, share, ERROR_SHARE_PCT, "%", Weight.FAIL, PUBLISHED_SOURCE, named[Blame.TRANSPORT]
        )
    driver_errors = counts[Blame.DRIVER]
    yield check_at_most(
        CheckId.DRIVER_ERRORS, driver_errors, 0, "errors", Weight.INVALID, WEB_WORKLOADS_SOURCE, named[Blame.DRIVER]
    )


def _warmed_up(criteria: Criteria) -> Check:
    lead_s = criteria.ramp_up_s + criteria.warm_up_s
    detail = "ramp-up and warm-up against the longest operation"
    check = check_at_least(
        CheckId.LEAD, lead_s, criteria.longest_operation_s, "s", Weight.INVALID, PUBLISHED_SOURCE, detail
    )
    if criteria.rigor == Rigor.FULL or check.outcome is Outcome.KEPT:
        return check
    return withdraw_check(check, "shorter, but users began part-way through their visits")


def _conditional(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    conditional = sum(operation.conditional for operation in figures.operations)
    shares = criteria.conditional_shares
    declared = sum(operation.embedded * shares.get(operation.name, 0.0) for operation in figures.operations)
    if conditional < declared - SURE * math.sqrt(declared):
        sent_pct, least_pct = 100 * conditional / declared, 100 - 100 * SURE / math.sqrt(declared)
        detail = "the server stated no `Last-Modified` for some files, so users asked for these unconditionally"
        source = describe_limits_source(criteria)
        yield check_at_least(CheckId.CONDITIONAL_ASKED, sent_pct, least_pct, "%", Weight.NOTE, source, detail)
    if conditional:
        honoured = 100 * sum(operation.not_modified for operation in figures.operations) / conditional
        detail = "a server may ignore the condition, but then sends more bytes"
        yield check_at_least(CheckId.CONDITIONAL_HONOURED, honoured, 99, "%", Weight.NOTE, PUBLISHED_SOURCE, detail)


def _connections(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    yield from _resent(criteria, figures)
    trailing = figures.connections.trailing
    if trailing:
        most = (criteria.own.errors_pct or 0.0) / 100 * figures.requests
        detail = "they arrived before the next request; browsers drop them and the connection"
        yield check_at_most(CheckId.TRAILING, trailing, most, "answers", Weight.FAIL, WEB_WORKLOADS_SOURCE, detail)
    further = figures.connections.further_sources
    if further:
        detail = "to a server on this host, which may see a user under several addresses"
        yield check_at_most(
            CheckId.FURTHER_SOURCES, further, 0, "connections", Weight.NOTE, WEB_WORKLOADS_SOURCE, detail
        )
    late = figures.connections.connected_late
    if late:
        detail = "the kernel repeated the request: the listener's queue was full, or packets were lost"
        yield check_at_most(CheckId.ACCEPTED_LATE, late, 0, "connections", Weight.NOTE, WEB_WORKLOADS_SOURCE, detail)


def _resent(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether the server takes requests and drops them. Browsers send them again, so users see no error; an idle
    connection that is closed before anything is sent counts as a reconnect alone.
    """
    resent, sent = figures.connections.resent, figures.connections.http_requests
    if not resent:
        return
    share_pct = ERROR_SHARE_PCT if criteria.own.errors_pct is None else criteria.own.errors_pct
    most = compute_most_by_chance(share_pct / 100 * sent) if share_pct else 0
    detail = f"of {sent} sent; {share_pct:g} % as of errors, and what chance adds"
    yield check_at_most(CheckId.RESENT, resent, most, "requests", Weight.FAIL, WEB_WORKLOADS_SOURCE, detail)
