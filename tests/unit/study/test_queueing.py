"""Queueing theory against known values, the textbook recursion, and drawn queues."""

import heapq
import math
import random
from collections.abc import Callable

import pytest

from loadstone.study.queueing import (
    Centre,
    compute_closed_quantile_s,
    compute_erlang_c,
    fit_scalability,
    open_quantile_s,
    open_wait_s,
    solve_closed,
)


def test_waiting_probabilities_are_the_tabulated_ones() -> None:
    assert compute_erlang_c(1, 0.8) == pytest.approx(0.8)
    assert compute_erlang_c(2, 1.6) == pytest.approx(0.7111, abs=1e-4)
    assert compute_erlang_c(10, 8) == pytest.approx(0.4092, abs=1e-4)


def test_one_worker_has_the_simple_formulas() -> None:
    centre = Centre(1, 0.01)
    assert open_wait_s(centre, 80) == pytest.approx(0.04)  # rho s / (1 - rho)
    # Response time of M/M/1 is exponential at rate mu - lambda.
    assert open_quantile_s(centre, 80, 0.95) == pytest.approx(2.9957 / 20, rel=1e-3)


def mean_value_analysis(demand_s: float, away_s: float, sessions: int) -> tuple[float, float]:
    """The recursion for one worker, as Reiser and Lavenberg have it."""
    queue, throughput, response_s = 0.0, 0.0, 0.0
    for n in range(1, sessions + 1):
        response_s = demand_s * (1 + queue)
        throughput = n / (away_s + response_s)
        queue = throughput * response_s
    return throughput, response_s


@pytest.mark.parametrize("sessions", [1, 5, 20, 100, 400])
def test_a_closed_population_gives_what_mean_value_analysis_gives(sessions: int) -> None:
    throughput, response_s = solve_closed(Centre(1, 0.02), sessions, 1.0)
    assert (throughput, response_s) == pytest.approx(mean_value_analysis(0.02, 1.0, sessions), rel=1e-6)


def drawn_closed(workers: int, demand_s: float, away_s: float, sessions: int, count: int) -> list[float]:
    """Response times of a simulated closed population with exponential times."""
    chance = random.Random(5)
    arrivals = [(chance.expovariate(1 / away_s), number) for number in range(sessions)]
    heapq.heapify(arrivals)
    free = [0.0] * workers
    times = []
    while len(times) < count:
        at, number = heapq.heappop(arrivals)
        end = max(at, heapq.heappop(free)) + chance.expovariate(1 / demand_s)
        heapq.heappush(free, end)
        heapq.heappush(arrivals, (end + chance.expovariate(1 / away_s), number))
        times.append(end - at)
    return sorted(times[count // 10 :])


@pytest.mark.parametrize(("workers", "sessions"), [(1, 40), (4, 160)])
def test_quantiles_of_a_closed_population_are_those_of_a_drawn_one(workers: int, sessions: int) -> None:
    times = drawn_closed(workers, 0.02, 1.0, sessions, 200_000)
    centre = Centre(workers, 0.02)
    assert sum(times) / len(times) == pytest.approx(solve_closed(centre, sessions, 1.0)[1], rel=0.03)
    for share in (0.5, 0.95, 0.99):
        assert times[int(share * len(times))] == pytest.approx(
            compute_closed_quantile_s(centre, sessions, 1.0, share), rel=0.04
        )


def drawn_wait_s(workers: int, rate: float, serve: Callable[[random.Random], float], count: int) -> float:
    """The mean wait of arrivals at workers that take whoever is next."""
    chance, now, waited = random.Random(1), 0.0, 0.0
    free = [0.0] * workers
    for _ in range(count):
        now += chance.expovariate(rate)
        start = max(now, heapq.heappop(free))
        waited += start - now
        heapq.heappush(free, start + serve(chance))
    return waited / count


def log_normal(cv: float) -> Callable[[random.Random], float]:
    """Service times of mean 1 that spread so far."""
    sigma = math.sqrt(math.log1p(cv**2))
    return lambda chance: chance.lognormvariate(-(sigma**2) / 2, sigma)


@pytest.mark.parametrize(
    ("cv", "used", "allowed"), [(0, 0.5, 0.02), (0, 0.8, 0.04), (0.5, 0.6, 0.04), (3, 0.5, 0.15), (3, 0.7, 0.2)]
)
def test_waiting_for_several_workers_is_that_of_a_drawn_queue(cv: float, used: float, allowed: float) -> None:
    workers = 4
    serve = log_normal(cv) if cv else lambda _: 1.0
    drawn = drawn_wait_s(workers, used * workers, serve, 300_000)
    assert open_wait_s(Centre(workers, 1.0, (1 + cv**2) / 2), used * workers) == pytest.approx(drawn, rel=allowed)


def test_the_scalability_law_is_found_again() -> None:
    loads = [1, 4, 16, 64, 128]
    rates = [100 * n / (1 + 0.03 * (n - 1) + 0.0005 * n * (n - 1)) for n in loads]
    found = fit_scalability(loads, rates)
    assert found is not None
    assert found.contention == pytest.approx(0.03, rel=0.01)
    assert found.coherency == pytest.approx(0.0005, rel=0.01)
    assert found.peak_sessions == pytest.approx(44.05, rel=0.01)
    assert fit_scalability([1, 2], [1, 2]) is None
