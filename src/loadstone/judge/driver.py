"""Rules about the driver and the machine that it runs on: whether what was measured is the system. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from loadstone.judge.check import (
    PAIRS_SOURCE,
    WEB_WORKLOADS_SOURCE,
    check_at_most,
    withdraw_check,
    withdraw_undisclosed,
)
from loadstone.model.figures import FOREIGN_SAID_PCT, MOST_DRIFT_PCT, Criteria, IterationFigures
from loadstone.model.records.check import Check, CheckId, Outcome, Weight

PLACING = "placed part-way"
"""In what the driver says of an error of an operation that is caught up with."""
LEAST_STALL_S = 0.1
"""The shortest delay of a single start that makes a run invalid, and the shortest time not run: what a busy kernel may
need once, even where limits are so short that their share is less."""


def check_driver(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """All rules about one iteration's driver."""
    yield from withdraw_undisclosed(figures.is_disclosed, [*_lag(criteria, figures), _cpu(criteria, figures)])
    yield from check_host(criteria, figures)
    yield from _placed(figures)


def check_host(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Rules about the host alone, whatever generates the load."""
    yield from _machine(figures)
    yield from _foreign(criteria, figures)


def _lag(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """How late operations were started: most of them, the latest ones, and whether the driver was let run at all."""
    limit_s = criteria.lag_share * criteria.shortest_limit_s
    stall_s = max(limit_s, LEAST_STALL_S)
    share = f"{100 * criteria.lag_share:g} % of the shortest limit"
    stall = share if stall_s > LEAST_STALL_S else f"{share}, but {1000 * LEAST_STALL_S:g} ms at least"
    lag, gap_s = figures.lag, figures.longest_gap_s
    for rule, seconds, most_s, detail in (
        (CheckId.DRIVER_LAG, lag.get_at_most(99.0), limit_s, share),
        (CheckId.DRIVER_LAG_TAIL, lag.get_at_most(99.9), stall_s, stall),
        (CheckId.DRIVER_LAG_MAX, lag.get_at_most(100.0), stall_s, stall),
    ):
        check = check_at_most(
            rule, 1000 * (seconds or 0.0), 1000 * most_s, "ms", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail
        )
        is_known = seconds is not None or not figures.requests
        yield check if is_known else replace(check, outcome=Outcome.BROKEN, detail="the driver noted no start")
    if gap_s is not None:
        yield check_at_most(
            CheckId.DRIVER_GAP, 1000 * gap_s, 1000 * stall_s, "ms", Weight.INVALID, WEB_WORKLOADS_SOURCE, stall
        )
    if figures.clock_bound_s is not None:  # who starts late acts late
        apart_ms = 1000 * figures.clock_bound_s
        yield check_at_most(
            CheckId.DRIVER_CLOCKS, apart_ms, 1000 * limit_s, "ms", Weight.INVALID, WEB_WORKLOADS_SOURCE, share
        )


def _cpu(criteria: Criteria, figures: IterationFigures) -> Check:
    busiest = 100 * max(figures.driver_cpu, default=0.0)
    detail = f"of {len(figures.driver_cpu)}"
    limit = criteria.driver_cpu_pct
    check = check_at_most(
        CheckId.DRIVER_CPU, busiest, limit, "% of a core", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail
    )
    if figures.driver_cpu:
        return check
    return replace(check, outcome=Outcome.BROKEN, detail="the driver reported no CPU use")


def check_guest_clock(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether times that a tool took inside the system under test are seconds of the host. A pair counts instructions,
    so its clock runs slower on a busy host. Rates follow the host's clock, as do means that took the place of times.
    """
    if figures.tool_drift_pct is not None:
        drift_pct, weight = figures.tool_drift_pct, Weight.NOTE
        detail = "only mean times are known, by the host's clock"
    elif criteria.is_timed_inside and figures.guest_drift_pct is not None:
        drift_pct, weight = figures.guest_drift_pct, Weight.INVALID
        detail = "the tool times operations by the clock of the pair"
    else:
        return
    yield check_at_most(CheckId.GUEST_CLOCK, drift_pct, MOST_DRIFT_PCT, "%", weight, PAIRS_SOURCE, detail)


def _machine(figures: IterationFigures) -> Iterator[Check]:
    """Short of memory for TCP, the driver's machine throttles every connection: that is no matter of the server."""
    if figures.tcp_pressure_s is not None:
        detail = "the driver's machine had no memory for TCP left; raise net.ipv4.tcp_mem"
        detail = detail if figures.tcp_pressure_s else ""
        yield check_at_most(
            CheckId.TCP_MEMORY, figures.tcp_pressure_s, 0, "s", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail
        )


def _placed(figures: IterationFigures) -> Iterator[Check]:
    """Whether users were found where a long run would find them. Those that could not be placed began anew, so that the
    mix is another and the run is invalid. Where operations fail in the window as well, that is the verdict, and this is
    a note on it.
    """
    count = figures.sessions.unplaced
    if not count:
        return
    has_errors = any(operation.error_count for operation in figures.operations)
    weight = Weight.NOTE if has_errors else Weight.INVALID
    detail = next((sample for sample in figures.samples if PLACING in sample), "")
    remedy = "`loadstone try` plays one visit from its beginning"
    yield check_at_most(
        CheckId.UNPLACED, count, 0, "users", weight, WEB_WORKLOADS_SOURCE, f"{detail}. {remedy}" if detail else remedy
    )


def _foreign(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """Whether others used the host: what they took, the system under test did not have."""
    share = figures.foreign_cpu_pct
    if share is None:
        yield from _unattributed(criteria, figures)
        return
    detail = "host CPU that neither the driver nor the system under test used, steal included"
    limit = criteria.foreign_cpu_pct
    yield check_at_most(CheckId.FOREIGN_CPU, share, limit, "%", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail)
    if FOREIGN_SAID_PCT < share <= limit:
        yield check_at_most(
            CheckId.FOREIGN_CPU_SAID, share, FOREIGN_SAID_PCT, "%", Weight.NOTE, WEB_WORKLOADS_SOURCE, detail
        )


def _unattributed(criteria: Criteria, figures: IterationFigures) -> Iterator[Check]:
    """The same of a system on this host that others set up: what does not listen at its ports may belong to it."""
    share = figures.unattributed_cpu_pct
    if share is None:
        return
    detail = "host CPU used by processes other than the driver and the target's listeners, including steal"
    check = check_at_most(
        CheckId.FOREIGN_CPU, share, criteria.foreign_cpu_pct, "%", Weight.INVALID, WEB_WORKLOADS_SOURCE, detail
    )
    why = f"{share:.0f} % of the host is used by programs that may be the target's back ends or others"
    yield check if check.outcome is Outcome.KEPT else withdraw_check(check, why)
