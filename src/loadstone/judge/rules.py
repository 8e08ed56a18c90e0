"""The rules of a web run, each a function from terms and figures to a check. The order is the report's.

An operation's share of good ones stands for its percentile: 90 % within 2 s is p90 at most 2 s, without reading a
histogram.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from loadstone.judge import ledger
from loadstone.judge.check import at_least, at_most
from loadstone.judge.deviation import Deviation, deviation, deviation_from
from loadstone.model.figures import Blame, Criteria, IterationFigures, blame_of
from loadstone.model.profile import Rigor
from loadstone.model.records.check import Check, CheckId, Outcome, Weight

PUBLISHED = "published figures, docs/web-workloads.md"
CYCLES = "published rule of paced workloads, docs/studies.md"
OURS = "our own, docs/web-workloads.md"

PAGE_DEVIATION_PCT = 1.0
"""Largest deviation of one operation (published runs: largest unflagged 0.9995, smallest flagged 1.009)."""
NET_DEVIATION_PCT = 1.5
"""Largest net deviation (published runs: largest unflagged 1.21, smallest flagged 1.56)."""
ERROR_SHARE_PCT = 0.5
"""Largest share of operations without a complete answer (a published wrapper accepts requests / 200)."""
PAUSE_DEVIATION_PCT = 1.0
"""How much longer than drawn the pauses may be on the mean; stands in for the published limit on over-think."""
MEAN_PAUSE_PCT = 2.0
"""How far the mean think time may be from the declared one."""
ARRIVED_PCT = 99.0
"""Least share of arrivals that were begun; the rest is what the edges of the steady state cut off."""
CYCLE_DEVIATION_PCT = 2.0
"""How far an operation's mean cycle may be from its drawn mean (the published rule of paced workloads)."""
LEAST_SAMPLES = 10
"""An operation is expected to be sampled when at least this many are due."""
DISTURBED = "follows from the server's errors"
UNDISCLOSED = "not disclosed"
UNSETTLED = "ramp-up and warm-up are shorter than a mean session"
SURE = 3.0
"""Standard errors within which chance is to be expected."""


def checks(criteria: Criteria, figures: IterationFigures) -> tuple[Check, ...]:
    """All rules applied to one iteration."""
    return tuple(_all(criteria, figures))


def _all(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    yield _whole(criteria, figures)
    if not figures.operations:
        return
    yield from _quality(criteria, figures)
    yield from _each(criteria, figures)
    yield from _audit(criteria, figures)
    yield from _if_disclosed(figures, _errors(figures))
    yield from _arrivals(criteria, figures)
    yield from _mix(criteria, figures)
    yield _sampled(criteria, figures)
    yield _warmed_up(criteria)
    yield from _if_disclosed(figures, _pauses(criteria, figures))
    yield from _cycles(criteria, figures)
    yield from _if_disclosed(figures, _driver(criteria, figures))
    yield from _machine(figures)
    yield from _conditional(figures)
    yield from _connections(figures)


def _whole(criteria: Criteria, figures: IterationFigures) -> Check:
    detail = figures.trouble or ("" if figures.completed else "ended early")
    # The last interval may be cut by the clock's resolution.
    share = 100 * figures.steady_s / criteria.steady_s if criteria.steady_s else 0.0
    check = at_least(CheckId.STEADY_STATE, share, 99.9, "%", Weight.INVALID, OURS, detail)
    return replace(check, outcome=Outcome.BROKEN) if not figures.completed else check


def _quality(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Operations that were overdue when the steady state ended count as failed: no answer is no good answer."""
    overdue = sum(operation.overdue for operation in figures.operations)
    requests = max(1, figures.requests + overdue)
    good = sum(operation.good for operation in figures.operations)
    tolerable = good + sum(operation.tolerable for operation in figures.operations)
    detail = "over all pages together, downloads by their byte rate"
    detail = f"{overdue} overdue at the end count as failed" if overdue else detail
    for name, count, limit in (
        (CheckId.GOOD_SHARE, good, criteria.good_share_pct),
        (CheckId.TOLERABLE_SHARE, tolerable, criteria.tolerable_share_pct),
    ):
        yield at_least(
            name, 100 * count / requests, limit, "%", Weight.FAIL, f"published figures, {criteria.source}", detail
        )


def _each(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether the worst kind of operation has its share of good ones: a percentile that lies inside its limit."""
    counted = [operation for operation in figures.operations if operation.requests + operation.overdue]
    if criteria.each_share_pct is None or not counted:
        return
    shares = {one.name: 100 * one.good / (one.requests + one.overdue) for one in counted}
    name, worst = min(shares.items(), key=lambda item: item[1])
    source = f"published figures, {criteria.source}"
    yield at_least(
        CheckId.GOOD_SHARE_EACH,
        worst,
        criteria.each_share_pct,
        "%",
        Weight.FAIL,
        source,
        name,
    )


def _audit(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether the server holds what it acknowledged."""
    if figures.audit is not None:
        yield from ledger.checks(figures.audit)
    elif criteria.audited:
        yield at_least(
            CheckId.AUDIT_MADE,
            0,
            1,
            "",
            Weight.INVALID,
            ledger.SOURCE,
            "the server was not asked what it holds",
        )


def _errors(figures: IterationFigures) -> Iterator[Check]:
    counts = {blame: sum(op.errors_of(blame) for op in figures.operations) for blame in Blame}
    kinds = {kind for op in figures.operations for kind in op.errors}
    named = {blame: ", ".join(sorted(kind for kind in kinds if blame_of(kind) is blame)) for blame in Blame}
    wrong, share = counts[Blame.VALIDATION], 100 * counts[Blame.TRANSPORT] / max(1, figures.requests)
    yield at_most(
        CheckId.VALIDATION_ERRORS,
        wrong,
        0,
        "errors",
        Weight.FAIL,
        PUBLISHED,
        named[Blame.VALIDATION],
    )
    yield at_most(CheckId.UNANSWERED, share, ERROR_SHARE_PCT, "%", Weight.FAIL, PUBLISHED, named[Blame.TRANSPORT])
    yield at_most(
        CheckId.DRIVER_ERRORS,
        counts[Blame.DRIVER],
        0,
        "errors",
        Weight.INVALID,
        OURS,
        named[Blame.DRIVER],
    )


def _is_disturbed(figures: IterationFigures) -> bool:
    """Whether the server's own errors ended so many sessions that mix and total follow from them."""
    lost = sum(op.errors_of(Blame.VALIDATION) + op.errors_of(Blame.TRANSPORT) + op.overdue for op in figures.operations)
    return 100 * lost > ERROR_SHARE_PCT * max(1, figures.requests)


def expected(criteria: Criteria, figures: IterationFigures) -> Deviation | None:
    """The deviation from what the load brings: arrivals from their rate, a population from Little's law.

    Cycle times have their start fixed, so only think times are judged; where the rate changes, what ends in the steady
    state is not what began in it.
    """
    actual = {operation.name: operation.ended for operation in figures.operations}
    if criteria.due is not None:
        total = figures.sessions.get("due", 0) * (criteria.operations_per_session or 1)
        return deviation_from(total, criteria.expected_shares, actual) if criteria.is_even else None
    if criteria.pacing != "think":
        return None
    pause_s = criteria.mean_pause_s * criteria.paused_share
    return deviation(
        criteria.sessions, figures.steady_s, figures.mean_response_s, pause_s, criteria.expected_shares, actual
    )


def _arrivals(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether every session that was due was begun: a schedule that is dropped hides a slow server."""
    due = figures.sessions.get("due", 0)
    if criteria.due is None or not due:
        return
    begun = 100 * figures.sessions.get("begun", 0) / due
    detail = f"{due} were due, {criteria.due:.0f} to be expected"
    yield at_least(CheckId.ARRIVALS_BEGUN, begun, ARRIVED_PCT, "%", Weight.INVALID, OURS, detail)


def _mix(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    shares = expected(criteria, figures)
    if shares is None:
        return
    name, worst = shares.worst
    share = criteria.expected_shares.get(name, 0.0)
    # A share's standard error, and the total's: operations are drawn one by one from a population, and come in
    # sessions of about geometric length from arrivals.
    drawn = shares.expected if criteria.due is None else shares.expected / (criteria.operations_per_session or 1)
    total_error = 100 / math.sqrt(max(1.0, drawn))
    share_error = 100 * math.sqrt(share * (1 - share) / max(1.0, shares.expected))
    share_error += 0 if criteria.due is None else share * total_error
    detail = f"{name}, {worst:+.2f} %"
    check = at_most(
        CheckId.MIX_DEVIATION,
        abs(worst),
        PAGE_DEVIATION_PCT,
        "%",
        Weight.INVALID,
        PUBLISHED,
        detail,
    )
    yield _supported(criteria, figures, check, SURE * share_error)
    law = "Little's law" if criteria.due is None else "the rate of arrivals"
    detail = f"{figures.ended} operations, {shares.expected:.0f} by {law}"
    check = at_most(
        CheckId.NET_DEVIATION,
        abs(shares.net_pct),
        NET_DEVIATION_PCT,
        "%",
        Weight.INVALID,
        PUBLISHED,
        detail,
    )
    yield _supported(criteria, figures, check, SURE * total_error)


def _supported(criteria: Criteria, figures: IterationFigures, check: Check, chance: float) -> Check:
    """Withdraws a judgement that chance alone explains; a deviation beyond chance is judged however short the run."""
    by_chance = check.limit < chance and check.figure <= chance
    reason = f"so few operations deviate by up to {chance:.1f} {check.unit} by chance" if by_chance else ""
    return _excused(criteria, figures, check, reason)


def _excused(criteria: Criteria, figures: IterationFigures, check: Check, too_short: str) -> Check:
    """Withdraws a judgement that errors brought about, or that the run is too short for (the full profile never is)."""
    if _is_disturbed(figures):
        return _withdrawn(check, DISTURBED)
    if criteria.rigor == Rigor.FULL:
        return check
    if not _settled(criteria, figures):
        return _withdrawn(check, UNSETTLED)
    return _withdrawn(check, too_short) if too_short else check


def _withdrawn(check: Check, reason: str) -> Check:
    detail = f"{check.detail}; {reason}" if check.detail else reason
    return replace(check, outcome=Outcome.NOT_JUDGED, detail=detail)


def _if_disclosed(figures: IterationFigures, made: Iterator[Check]) -> Iterator[Check]:
    """Withdraws judgements of what published tables do not say; a run of ours always has its driver's lag."""
    for check in made:
        yield check if figures.lag.count else _withdrawn(replace(check, figure=0.0, detail=""), UNDISCLOSED)


def _settled(criteria: Criteria, figures: IterationFigures) -> bool:
    """Whether sessions had the time to come to their last pages before the steady state began."""
    cycle_s = figures.mean_response_s + criteria.mean_pause_s * criteria.paused_share
    return criteria.ramp_up_s + criteria.warm_up_s >= (criteria.operations_per_session or 1) * cycle_s


def _sampled(criteria: Criteria, figures: IterationFigures) -> Check:
    counts = {operation.name: operation.requests for operation in figures.operations}
    missing = [name for name in criteria.expected_shares if not counts.get(name)]
    check = at_most(
        CheckId.UNSAMPLED,
        len(missing),
        0,
        "kinds",
        Weight.INVALID,
        OURS,
        ", ".join(missing),
    )
    if not missing:
        return check
    due = [name for name in missing if figures.ended * criteria.expected_shares[name] >= LEAST_SAMPLES]
    return _excused(criteria, figures, check, "" if due else "too short to expect one")


def _warmed_up(criteria: Criteria) -> Check:
    lead_s = criteria.ramp_up_s + criteria.warm_up_s
    detail = "ramp-up and warm-up against the longest operation"
    check = at_least(CheckId.LEAD, lead_s, criteria.longest_operation_s, "s", Weight.INVALID, PUBLISHED, detail)
    if criteria.rigor == Rigor.FULL or check.outcome is Outcome.KEPT:
        return check
    return _withdrawn(check, "the profile is too short for it")


def _pauses(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    over = figures.pause_actual_s - figures.pause_drawn_s
    share = 100 * over / figures.pause_drawn_s if figures.pause_drawn_s else 0.0
    detail = f"{figures.pauses} pauses, {over:.3f} s longer than drawn"
    yield at_most(CheckId.PAUSE_DEVIATION, abs(share), PAUSE_DEVIATION_PCT, "%", Weight.INVALID, OURS, detail)
    if criteria.pacing == "think" and criteria.mean_pause_s and figures.pauses:
        mean_s = figures.pause_actual_s / figures.pauses
        off = 100 * (mean_s / criteria.mean_pause_s - 1)
        detail = f"{mean_s:.3f} s, {criteria.mean_pause_s:.3f} s declared"
        check = at_most(CheckId.MEAN_THINK_TIME, abs(off), MEAN_PAUSE_PCT, "% off", Weight.INVALID, OURS, detail)
        yield _supported(criteria, figures, check, SURE * 100 / math.sqrt(figures.pauses))


def _cycles(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether starts kept their pace: where operations outlast their cycles, users come less often than declared."""
    if criteria.pacing != "cycle":
        return
    off = {
        operation.name: 100 * (operation.cycle_actual_s / operation.cycle_drawn_s - 1)
        for operation in figures.operations
        if operation.cycle_drawn_s
    }
    name, worst = max(off.items(), key=lambda item: abs(item[1]), default=("", 0.0))
    detail = f"{name}, {worst:+.2f} % of the drawn mean" if name else "no cycle was drawn"
    yield at_most(CheckId.CYCLE_TIME, abs(worst), CYCLE_DEVIATION_PCT, "% off", Weight.INVALID, CYCLES, detail)


def _driver(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    lag_s = figures.lag.at(99.0) or 0.0
    limit_s = criteria.lag_share * criteria.shortest_limit_s
    yield at_most(
        CheckId.DRIVER_LAG,
        1000 * lag_s,
        1000 * limit_s,
        "ms",
        Weight.INVALID,
        OURS,
        f"{100 * criteria.lag_share:g} % of the shortest limit",
    )
    busiest = 100 * max(figures.driver_cpu, default=0.0)
    detail = f"of {len(figures.driver_cpu)}"
    yield at_most(
        CheckId.DRIVER_CPU,
        busiest,
        criteria.driver_cpu_pct,
        "% of a core",
        Weight.INVALID,
        OURS,
        detail,
    )


def _machine(figures: IterationFigures) -> Iterator[Check]:
    """Short of memory for TCP, the driver's machine throttles every connection: that is no matter of the server."""
    if figures.tcp_pressure_s is not None:
        detail = "the driver's machine had no memory for TCP left; raise net.ipv4.tcp_mem"
        detail = detail if figures.tcp_pressure_s else ""
        yield at_most(CheckId.TCP_MEMORY, figures.tcp_pressure_s, 0, "s", Weight.INVALID, OURS, detail)


def _conditional(figures: IterationFigures) -> Iterator[Check]:
    asked = sum(operation.conditional for operation in figures.operations)
    if asked:
        honoured = 100 * sum(operation.not_modified for operation in figures.operations) / asked
        detail = "a server may ignore the condition, but then its bytes are other ones"
        yield at_least(
            CheckId.CONDITIONAL_HONOURED,
            honoured,
            99,
            "%",
            Weight.NOTE,
            PUBLISHED,
            detail,
        )


def _connections(figures: IterationFigures) -> Iterator[Check]:
    late = figures.connections.get("connected_late", 0)
    if late:
        detail = "the kernel had to ask again: the listener's queue was full, or packets were lost"
        yield at_most(CheckId.ACCEPTED_LATE, late, 0, "connections", Weight.NOTE, OURS, detail)
