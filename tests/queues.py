"""A queue that is drawn in this process: four workers of 4 ms, whose capacity and response times theory knows.

It takes the place of runs in tests of studies: milliseconds a run, where one of the driver's in virtual time takes a
quarter of a second.
"""

from collections.abc import Callable
from dataclasses import replace
from heapq import heapify, heapreplace

import numpy as np
from scipy.optimize import brentq

from loadstone.model.records.check import Bound, Check, CheckId, Outcome, Weight
from loadstone.model.records.verdict import Verdict
from loadstone.study.queueing import Centre, compute_closed_quantile_s, open_quantile_s
from loadstone.study.summary import RunRequest, RunSummary
from tests.made import made

WORKERS, SERVICE_S, THINK_S = 4, 0.004, 0.1
CENTRE = Centre(WORKERS, SERVICE_S)
GOOD_S, TOLERABLE_S = 0.015, 0.024
"""Limits of 95 and of 99 per cent of all operations."""
WARM_UP_S = 5.0


def open_capacity() -> float:
    """Arrivals per second at which a percentile reaches its limit."""
    good = brentq(lambda rate: open_quantile_s(CENTRE, rate, 0.95) - GOOD_S, 10, 999)
    tolerable = brentq(lambda rate: open_quantile_s(CENTRE, rate, 0.99) - TOLERABLE_S, 10, 999)
    return float(min(good, tolerable))


def closed_capacity() -> float:
    """The largest population whose percentiles keep their limits."""
    holds = [
        sessions
        for sessions in range(1, 200)
        if compute_closed_quantile_s(CENTRE, sessions, THINK_S, 0.95) <= GOOD_S
        and compute_closed_quantile_s(CENTRE, sessions, THINK_S, 0.99) <= TOLERABLE_S
    ]
    return float(max(holds))


def queue(seed: int, steady_s: float) -> Callable[[RunRequest], RunSummary]:
    """Runs of the queue at the load and the service time that each asks for, over so many seconds."""

    def play(request: RunRequest) -> RunSummary:
        chance = np.random.default_rng((seed, request.seed))
        service_s = float(str(request.settings.get("station.service", SERVICE_S)))
        if "rate" in request.settings:
            times_s = _open(chance, request.load, service_s, steady_s)
        else:
            times_s = _closed(chance, round(request.load), service_s, steady_s)
        return _summary(request, np.array(times_s), service_s, steady_s)

    return play


def _open(chance: np.random.Generator, rate: float, service_s: float, steady_s: float) -> list[float]:
    """Response times of arrivals at a rate, begun with the steady state."""
    count = chance.poisson(rate * (WARM_UP_S + steady_s))
    arrivals = np.sort(chance.uniform(0, WARM_UP_S + steady_s, count)).tolist()
    free, times_s = [0.0] * WORKERS, []
    for at, length in zip(arrivals, chance.exponential(service_s, count).tolist(), strict=True):
        end = max(at, free[0]) + length
        heapreplace(free, end)
        if at >= WARM_UP_S:
            times_s.append(end - at)
    return times_s


def _closed(chance: np.random.Generator, sessions: int, service_s: float, steady_s: float) -> list[float]:
    """Response times of sessions that think between two operations, begun with the steady state."""
    most = int(1.2 * WORKERS / service_s * (WARM_UP_S + steady_s)) + 1000
    lengths, thoughts = chance.exponential(service_s, most).tolist(), chance.exponential(THINK_S, most).tolist()
    arrivals, free, times_s = chance.exponential(THINK_S, sessions).tolist(), [0.0] * WORKERS, []
    heapify(arrivals)
    for length, thought in zip(lengths, thoughts, strict=True):
        at = arrivals[0]
        if at >= WARM_UP_S + steady_s:
            break
        end = max(at, free[0]) + length
        heapreplace(free, end)
        heapreplace(arrivals, end + thought)
        if at >= WARM_UP_S:
            times_s.append(end - at)
    return times_s


def _summary(request: RunRequest, times_s: np.ndarray, service_s: float, steady_s: float) -> RunSummary:
    throughput = len(times_s) / steady_s
    checks = (
        _share(CheckId.GOOD_SHARE, times_s, GOOD_S, 95.0),
        _share(CheckId.TOLERABLE_SHARE, times_s, TOLERABLE_S, 99.0),
    )
    run = made(
        request,
        throughput=throughput,
        response_mean=float(times_s.mean()),
        response_p95=float(np.quantile(times_s, 0.95)),
        response_p99=float(np.quantile(times_s, 0.99)),
        busy_workers=throughput * service_s,
        errors=0.0,
    )
    verdict = Verdict.FAIL if any(check.is_broken for check in checks) else Verdict.PASS
    return replace(run, verdict=verdict, checks=checks, capacity={"workers": float(WORKERS)})


def _share(rule: CheckId, times_s: np.ndarray, limit_s: float, least_pct: float) -> Check:
    share_pct = 100 * float(np.mean(times_s <= limit_s))
    outcome = Outcome.KEPT if share_pct >= least_pct else Outcome.BROKEN
    return Check(rule, str(rule), share_pct, least_pct, Bound.AT_LEAST, "%", Weight.FAIL, outcome, "a test")
