"""Rules about the load that was played: whether it was the one declared, as far as chance lets that be seen. Pure.

Published rules are applied as published in the full profile. In shorter ones their limits are widened to what chance
alone may do to so few operations; nothing is passed over for being short.
"""

import math
from collections.abc import Iterator

from loadstone.judge.chance import MIX_LEVEL, SURE, compute_share_chances
from loadstone.judge.check import (
    PUBLISHED_SOURCE,
    WEB_WORKLOADS_SOURCE,
    check_at_least,
    check_at_most,
    withdraw_check,
    withdraw_undisclosed,
)
from loadstone.judge.deviation import Deviation, compute_deviation, compute_deviation_from
from loadstone.model.drawn_pause import DrawnPause
from loadstone.model.figures import Blame, Criteria, IterationFigures
from loadstone.model.profile import Rigor
from loadstone.model.records.check import Check, CheckId, Weight

CYCLES = "published rule of paced workloads, docs/studies.md"

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
PAUSE_SLACK = 0.01
"""Part of the mean by which pauses may differ and count as the same; above what the record tells apart."""
ARRIVED_PCT = 99.0
"""Least share of arrivals that were begun; the rest is what the edges of the steady state cut off."""
CYCLE_DEVIATION_PCT = 2.0
"""How far an operation's mean cycle may be from its drawn mean (the published rule of paced workloads)."""
EDGES_DUE = 2.0
"""Arrivals that the edges of the steady state may cut off where they are evenly spaced."""
LEAST_DUE = -math.log(MIX_LEVEL)
"""Operations of a kind that are due where seeing none is no chance (Poisson: 6.9)."""
VISIT_DISPERSION = 2.0
"""Variance of the number of operations in a session of geometric length, by the square of its mean."""
DISTURBED = "follows from the server's errors"
WAITED = "follows from operations that waited when the steady state began or ended"


def check_mix(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """All rules about the load of one iteration."""
    yield from _arrivals(criteria, figures)
    yield from _deviations(criteria, figures)
    yield _shares(criteria, figures)
    yield _sampled(criteria, figures)
    yield from withdraw_undisclosed(figures.is_disclosed, _pauses(criteria, figures))
    yield from _cycles(criteria, figures)
    yield from _points(criteria, figures)
    yield from _session_cycle(criteria, figures)


def is_disturbed(figures: IterationFigures) -> bool:
    """Whether the server's own errors ended so many sessions that mix and total follow from them."""
    lost = sum(
        op.count_errors(Blame.VALIDATION) + op.count_errors(Blame.TRANSPORT) + op.overdue for op in figures.operations
    )
    return 100 * lost > ERROR_SHARE_PCT * max(1, figures.requests)


def expect_deviation(criteria: Criteria, figures: IterationFigures) -> Deviation | None:
    """The deviation from what the load brings: arrivals from their rate, a population from Little's law.

    Cycle times have their start fixed, so only think times are judged; where the rate changes, what ends in the steady
    state is not what began in it.
    """
    actual = {operation.name: operation.ended for operation in figures.operations}
    if not criteria.is_even or not criteria.expected_shares:
        return None
    if criteria.due is not None:
        total = figures.sessions.due * (criteria.operations_per_session or 1)
        return compute_deviation_from(total, criteria.expected_shares, actual)
    if criteria.pacing != "think":
        return None
    pause_s = criteria.mean_pause_s * criteria.paused_share
    return compute_deviation(
        criteria.sessions, figures.steady_s, figures.mean_response_s, pause_s, criteria.expected_shares, actual
    )


def compute_least_sessions(criteria: Criteria) -> int | None:
    """Sessions from which the published limits leave healthy runs alone; None for arrivals and paced workloads."""
    cycle_s = criteria.mean_pause_s * criteria.paused_share
    if criteria.due is not None or criteria.pacing != "think" or not cycle_s:
        return None
    per_session = criteria.steady_s / cycle_s
    net = criteria.total_dispersion * (100 * SURE / NET_DEVIATION_PCT) ** 2
    each = [
        share * (1 - share) * criteria.dispersion.get(name, 1.0) * (100 * SURE / PAGE_DEVIATION_PCT) ** 2
        for name, share in criteria.expected_shares.items()
    ]
    return math.ceil(max([net, *each]) / per_session)


def _arrivals(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether every session that was due was begun: a schedule that is dropped hides a slow server."""
    due = figures.sessions.due
    if criteria.due is None:
        return
    if criteria.due_dispersion is not None and figures.completed:
        yield _due(criteria.due, criteria.due_dispersion, due)
    if not due:
        return
    begun = 100 * figures.sessions.begun / due
    detail = f"{due} were due, {criteria.due:.0f} to be expected"
    yield check_at_least(CheckId.ARRIVALS_BEGUN, begun, ARRIVED_PCT, "%", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail)


def _due(expected: float, dispersion: float, due: int) -> Check:
    """Whether the drivers brought the arrivals that were declared: one that says nothing brings fewer, unseen."""
    chance = SURE * math.sqrt(dispersion * expected) + EDGES_DUE
    detail = f"{due} were due, {expected:.0f} to be expected; what chance does at most"
    allowed = 100 * max(0.0, 1 - chance / max(1.0, expected))
    return check_at_least(
        CheckId.ARRIVALS_DUE, 100 * due / max(1.0, expected), allowed, "%", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail
    )


def _deviations(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """The published weighted differences of each operation and of all."""
    off = expect_deviation(criteria, figures)
    if off is None:
        return
    name, worst = off.worst
    total_error = _total_error(criteria, off.expected)
    share = criteria.expected_shares.get(name, 0.0)
    bunch = max(1.0, criteria.dispersion.get(name, 1.0))
    share_error = 100 * math.sqrt(share * (1 - share) * bunch / max(1.0, off.expected)) + share * total_error
    law = "Little's law" if criteria.due is None else "the rate of arrivals"
    total = f"{figures.ended} operations, {off.expected:.0f} by {law}"
    waited = {operation.name: operation.cut_at_start - operation.cut_at_end for operation in figures.operations}
    for rule, figure, limit, error, detail, count in (
        (CheckId.MIX_DEVIATION, worst, PAGE_DEVIATION_PCT, share_error, f"{name}, {worst:+.2f} %", waited.get(name, 0)),
        (CheckId.NET_DEVIATION, off.net_pct, NET_DEVIATION_PCT, total_error, total, sum(waited.values())),
    ):
        allowed, reason = _allowed(criteria, limit, SURE * error)
        check = check_at_most(rule, abs(figure), allowed, "%", Weight.INVALID, PUBLISHED_SOURCE, f"{detail}{reason}")
        is_waiting = criteria.due is not None and abs(figure + 100 * count / off.expected) <= allowed
        if check.is_broken and is_waiting and not is_disturbed(figures):
            yield withdraw_check(check, WAITED)
        else:
            yield withdraw_check(check, DISTURBED) if is_disturbed(figures) else check


def _total_error(criteria: Criteria, drawn: float) -> float:
    """Standard error in per cent of the number of operations, where so many are expected."""
    if criteria.due is None:
        return 100 * math.sqrt(max(1.0, criteria.total_dispersion) / max(1.0, drawn))
    return 100 * math.sqrt(VISIT_DISPERSION / max(1.0, drawn / (criteria.operations_per_session or 1)))


def _allowed(criteria: Criteria, limit: float, chance: float) -> tuple[float, str]:
    """The limit that a deviation is held to, and what is to be said of it."""
    if criteria.rigor is Rigor.FULL:
        least = compute_least_sessions(criteria)
        is_unfair = least is not None and criteria.sessions < least
        return limit, f"; fair from {least} sessions on" if is_unfair else ""
    if chance <= limit:
        return limit, ""
    return chance, f"; published {limit:g} %, but chance may do {chance:.1f} % to so few"


def _shares(criteria: Criteria, figures: IterationFigures) -> Check:
    """Whether each operation came as often as declared, as far as its number says."""
    counts = {operation.name: operation.ended for operation in figures.operations}
    chances = compute_share_chances(counts, criteria.expected_shares, criteria.dispersion)
    name, least = min(chances.items(), key=lambda item: item[1], default=("", 1.0))
    due = criteria.expected_shares.get(name, 0.0) * sum(counts.values())
    detail = f"{name}: {counts.get(name, 0)}, {due:.1f} due; binomial test, corrected" if name else ""
    check = check_at_least(CheckId.SHARES, least, MIX_LEVEL, "", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail)
    if not criteria.is_even:
        return withdraw_check(check, "the load and so the set of active users changes")
    if not criteria.expected_shares:
        return withdraw_check(check, "the mix depends on the responses")
    return withdraw_check(check, DISTURBED) if is_disturbed(figures) else check


def _sampled(criteria: Criteria, figures: IterationFigures) -> Check:
    """Whether every kind of operation was seen."""
    counts = {operation.name: operation.ended for operation in figures.operations}
    missing = [name for name, share in criteria.expected_shares.items() if share > 0 and not counts.get(name)]
    check = check_at_most(
        CheckId.UNSAMPLED, len(missing), 0, "kinds", Weight.INVALID, WEB_WORKLOADS_SOURCE, ", ".join(missing)
    )
    if missing and is_disturbed(figures):
        return withdraw_check(check, DISTURBED)
    too_rare = all(figures.ended * criteria.expected_shares[name] < LEAST_DUE for name in missing)
    return withdraw_check(check, "too few operations to expect one") if missing and too_rare else check


def _pauses(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    over = figures.pause_actual_s - figures.pause_drawn_s
    share = 100 * over / figures.pause_drawn_s if figures.pause_drawn_s else 0.0
    detail = f"{figures.pauses} pauses, {over:.3f} s longer than drawn"
    yield check_at_most(
        CheckId.PAUSE_DEVIATION, abs(share), PAUSE_DEVIATION_PCT, "%", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail
    )
    if criteria.pacing == "think" and criteria.mean_pause_s and figures.pauses:
        mean_s = figures.pause_actual_s / figures.pauses
        off = 100 * (mean_s / criteria.mean_pause_s - 1)
        detail = f"{mean_s:.3f} s, {criteria.mean_pause_s:.3f} s declared"
        allowed = max(MEAN_PAUSE_PCT, SURE * 100 / math.sqrt(figures.pauses))
        check = check_at_most(
            CheckId.MEAN_THINK_TIME, abs(off), allowed, "% off", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail
        )
        yield withdraw_check(check, DISTURBED) if is_disturbed(figures) else check
        yield from _think_times(criteria.drawn_pause, figures)


def _think_times(drawn: DrawnPause | None, figures: IterationFigures) -> Iterator[Check]:
    """Whether pauses are spread as declared: their distance from that in share (Kolmogorov and Smirnov), where pauses
    that differ by `PAUSE_SLACK` of the mean and by what they were late on the mean count as the same.
    """
    if drawn is None or not figures.pause_curve:
        return
    late_s = max(0.0, figures.pause_actual_s - figures.pause_drawn_s) / figures.pauses
    slack_s = PAUSE_SLACK * drawn.mean_s + late_s
    distance = max(
        max(share - drawn.share_below(seconds + slack_s), drawn.share_below(seconds - slack_s) - share)
        for seconds, share in figures.pause_curve
    )
    limit = math.sqrt(-math.log(MIX_LEVEL / 2) / 2 / figures.pauses)
    detail = f"{figures.pauses} pauses, {drawn.distribution} declared; what chance does at most"
    check = check_at_most(
        CheckId.THINK_TIMES,
        100 * max(0.0, distance),
        100 * limit,
        "points",
        Weight.INVALID,
        WEB_WORKLOADS_SOURCE,
        detail,
    )
    yield withdraw_check(check, DISTURBED) if is_disturbed(figures) else check


def _cycles(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether starts kept their pace.

    Where operations outlast their cycles, users come less often than declared: the system does not hold them, as in the
    published rule, which is one of passing. Starts that come too early are the driver's doing.
    """
    if criteria.pacing != "cycle":
        return
    off = {
        operation.name: 100 * (operation.cycle_actual_s / operation.cycle_drawn_s - 1)
        for operation in figures.operations
        if operation.cycle_drawn_s
    }
    name, worst = max(off.items(), key=lambda item: abs(item[1]), default=("", 0.0))
    detail = f"{name}, {worst:+.2f} % of the drawn mean" if name else ""
    weight = Weight.INVALID if worst < -CYCLE_DEVIATION_PCT else Weight.FAIL
    check = check_at_most(CheckId.CYCLE_TIME, abs(worst), CYCLE_DEVIATION_PCT, "% off", weight, CYCLES, detail)
    yield check if name else withdraw_check(check, "no cycle was drawn")


def _points(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """The published rule of paced workloads: shares in percentage points, so that rare operations may vanish by it;
    what chance says of each is asked beside it.
    """
    if criteria.mix_points is None or not figures.ended or not criteria.is_even or not criteria.expected_shares:
        return
    shares = {operation.name: operation.ended / figures.ended for operation in figures.operations}
    off = {name: 100 * (shares.get(name, 0.0) - share) for name, share in criteria.expected_shares.items()}
    name, worst = max(off.items(), key=lambda item: abs(item[1]))
    share = criteria.expected_shares[name]
    bunch = max(1.0, criteria.dispersion.get(name, 1.0))
    chance = SURE * 100 * math.sqrt(share * (1 - share) * bunch / figures.ended)
    allowed, reason = _allowed(criteria, criteria.mix_points, chance)
    detail = f"{name}, {worst:+.2f} points{reason}"
    check = check_at_most(CheckId.MIX_POINTS, abs(worst), allowed, "points", Weight.INVALID, CYCLES, detail)
    yield withdraw_check(check, DISTURBED) if is_disturbed(figures) else check


def _session_cycle(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether the population brings the operations that its pacing declares."""
    if criteria.most_cycle_s is None or criteria.due is not None or not criteria.is_even or not figures.answered:
        return
    cycle_s = criteria.sessions * figures.steady_s / figures.answered
    chance = SURE * criteria.most_cycle_s * math.sqrt(criteria.total_dispersion / figures.answered)
    allowed = criteria.most_cycle_s + (0.0 if criteria.rigor is Rigor.FULL else chance)
    detail = f"{criteria.sessions} sessions, {figures.throughput_per_s or 0:.4g} operations/s"
    yield check_at_most(CheckId.SESSION_CYCLE, cycle_s, allowed, "s", Weight.FAIL, CYCLES, detail)
