"""Making checks: a figure held against its limit, under the rule's title."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from loadstone.model.figures import Criteria
from loadstone.model.records.check import Bound, Check, CheckId, Outcome, Weight

PUBLISHED_SOURCE = "published figures, docs/web-workloads.md"
UNDISCLOSED = "not disclosed"
"""Of figures that were published elsewhere, which is not the same as none."""
WEB_WORKLOADS_SOURCE = "our own, docs/web-workloads.md"
PAIRS_SOURCE = "our own, docs/explain/pairs.md"
DECLARED = "declared by the workload"

CHECK_TITLES = {
    CheckId.STEADY_STATE: "steady state measured",
    CheckId.GOOD_SHARE: "good operations",
    CheckId.TOLERABLE_SHARE: "tolerable operations",
    CheckId.GOOD_SHARE_EACH: "good operations of each kind",
    CheckId.ENOUGH: "operations for a pass",
    CheckId.LOST_SESSIONS: "sessions left waiting",
    CheckId.AUDIT_MADE: "audits made",
    CheckId.DATABASE_RULES: "database rules broken",
    CheckId.VALIDATION_ERRORS: "validation errors",
    CheckId.UNANSWERED: "operations without an answer",
    CheckId.DRIVER_ERRORS: "driver errors",
    CheckId.ARRIVALS_DUE: "arrivals against expected arrivals",
    CheckId.ARRIVALS_BEGUN: "sessions started against scheduled sessions",
    CheckId.MIX_DEVIATION: "mix deviation of an operation",
    CheckId.NET_DEVIATION: "mix deviation of all operations",
    CheckId.SHARES: "shares of operations, by chance",
    CheckId.UNSAMPLED: "operations without a sample",
    CheckId.LEAD: "time before the steady state",
    CheckId.PAUSE_DEVIATION: "pause deviation",
    CheckId.MEAN_THINK_TIME: "mean think time",
    CheckId.THINK_TIMES: "distribution of think times",
    CheckId.CYCLE_TIME: "cycle time of an operation",
    CheckId.MIX_POINTS: "deviation of an operation's share, in points",
    CheckId.SESSION_CYCLE: "sessions divided by operations a second",
    CheckId.ERRORS: "operations that ended in an error",
    CheckId.THROUGHPUT: "operations a second",
    CheckId.WEIGHTED_PERCENTILE: "response time weighted by the mix",
    CheckId.DRIVER_LAG: "driver lag p99",
    CheckId.DRIVER_LAG_TAIL: "driver lag p99.9",
    CheckId.DRIVER_LAG_MAX: "largest driver lag",
    CheckId.DRIVER_GAP: "longest time the driver did not run",
    CheckId.DRIVER_CLOCKS: "skew of the drivers' starts",
    CheckId.DRIVER_CPU: "busiest driver thread",
    CheckId.GUEST_CLOCK: "drift of the guest's clock",
    CheckId.FOREIGN_CPU: "CPU used by other processes",
    CheckId.FOREIGN_CPU_SAID: "CPU used by other processes, noteworthy",
    CheckId.TCP_MEMORY: "TCP memory pressure",
    CheckId.STEADY: "change within the steady state",
    CheckId.STEADY_SAID: "change within the steady state, noteworthy",
    CheckId.CONDITIONAL_ASKED: "conditional requests, of those declared",
    CheckId.CONDITIONAL_HONOURED: "conditional requests honoured",
    CheckId.ACCEPTED_LATE: "connections accepted late",
    CheckId.RESENT: "requests dropped without a response and sent again",
    CheckId.TRAILING: "responses followed by extra bytes",
    CheckId.SYSTEM_CPU: "CPU of the system under test",
    CheckId.FURTHER_SOURCES: "connections from further source addresses",
    CheckId.PARTS_DIED: "parts that died or were stopped",
    CheckId.WINDOWS_APART: "skew of the measured windows",
    CheckId.HOST_BUSY: "host's cores in use",
    CheckId.QUALITY_UNSAMPLED: "qualities without a sample",
    CheckId.NOT_AT_FULL_LOAD: "workloads not at full load when the window began",
    CheckId.UNPLACED: "users not placed part-way through their visits",
    CheckId.PRINTED_FIGURES: "printed figures that contradict others",
    CheckId.PRINTED_TIMES: "printed 90th percentiles above the required time",
    CheckId.PRINTED_MONITORS: "printed figures of monitors that contradict others",
}
"""What rules are called, for people; rules whose title depends on what they are about give it themselves."""


def describe_limits_source(criteria: Criteria) -> str:
    """Names the source of a workload's limits."""
    return f"published figures, {criteria.source}" if criteria.source else DECLARED


def check_at_least(
    name: CheckId,
    figure: float,
    limit: float,
    unit: str,
    weight: Weight,
    source: str,
    detail: str = "",
    title: str | None = None,
) -> Check:
    """A figure that must not be below its limit."""
    outcome = Outcome.KEPT if figure >= limit else Outcome.BROKEN
    rule = title or CHECK_TITLES[name]
    return Check(name, rule, figure, limit, Bound.AT_LEAST, unit, weight, outcome, source, detail)


def check_at_most(
    name: CheckId,
    figure: float,
    limit: float,
    unit: str,
    weight: Weight,
    source: str,
    detail: str = "",
    title: str | None = None,
) -> Check:
    """A figure that must not be above its limit."""
    outcome = Outcome.KEPT if figure <= limit else Outcome.BROKEN
    rule = title or CHECK_TITLES[name]
    return Check(name, rule, figure, limit, Bound.AT_MOST, unit, weight, outcome, source, detail)


def withdraw_undisclosed(is_disclosed: bool, checks: Iterable[Check]) -> Iterator[Check]:
    """Withdraws judgements of what published tables do not say."""
    for check in checks:
        yield check if is_disclosed else withdraw_check(replace(check, figure=0.0, detail=""), UNDISCLOSED)


def withdraw_check(check: Check, reason: str) -> Check:
    """The check as one that is not judged, and why."""
    detail = f"{check.detail}; {reason}" if check.detail else reason
    return replace(check, outcome=Outcome.NOT_JUDGED, detail=detail)
