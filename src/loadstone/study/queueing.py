"""Queueing theory: what k workers do to those who come, open and closed; and the universal scalability law. Pure.

Sources: Erlang 1917 (waiting), Denning and Buzen 1978 (utilisation and response time laws), Reiser and Lavenberg 1980
(mean-value analysis), Cosmetatos 1975 (fixed service times), Kimura 1986 (any spread of them, between and beyond fixed
and exponential ones), Whitt 1993 (what Cosmetatos' term is at most), Gunther 2007 (universal scalability law).
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

MOST_FIXED = 0.24
"""What the term of several workers with fixed service times is at most (Whitt 1993)."""


@dataclass(frozen=True)
class Centre:
    """A queueing centre: so many workers, each operation keeping one for `demand_s` in all."""

    workers: float
    demand_s: float
    variability: float = 1.0
    """Waiting against that of exponential service when nearly all workers are busy: (1 + cv^2) / 2."""

    @property
    def capacity(self) -> float:
        """Operations per second at which all workers are busy."""
        return self.workers / self.demand_s


def compute_erlang_c(workers: int, offered: float) -> float:
    """Probability that an arrival waits, with `offered` busy workers on the mean; below `workers`."""
    blocked = 1.0
    for number in range(1, workers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    return blocked / (1 - offered / workers * (1 - blocked))


def compute_waiting_factor(centre: Centre, used: float) -> float:
    """Waiting against that of exponential service where workers are busy for a share `used` of the time.

    With one worker that is the variability. With several, how service is spread matters less the less they are used.
    """
    workers = _workers(centre)
    idle = (1 - used) * (workers - 1) * (math.sqrt(4 + 5 * workers) - 2) / (16 * max(used, 1e-9) * workers)
    fixed = min(MOST_FIXED, max(0.0, idle))
    squared = max(0.0, 2 * centre.variability - 1)
    return centre.variability / (1 + (squared - 1) * fixed / (1 + fixed))


def open_wait_s(centre: Centre, rate: float) -> float:
    """Mean waiting time of arrivals at `rate` per second; infinite from the capacity on."""
    if rate >= centre.capacity:
        return math.inf
    wait = compute_erlang_c(_workers(centre), rate * centre.demand_s) / (centre.capacity - rate)
    return compute_waiting_factor(centre, rate / centre.capacity) * wait


def solve_closed(centre: Centre, sessions: int, away_s: float) -> tuple[float, float]:
    """Throughput and response time of `sessions` that spend `away_s` elsewhere between two operations.

    With exponential service the solution that mean-value analysis gives, computed in product form, since the
    recursion loses its digits with several workers. Another spread of service scales the waiting.
    """
    # What must wait since there are more sessions than the workers can serve waits however service is spread.
    surplus_s = max(0.0, sessions / centre.capacity - away_s - centre.demand_s)
    exact_s = _exact_wait_s(centre, sessions, away_s)
    chance_s = exact_s - surplus_s
    factor = compute_waiting_factor(centre, _used(centre, sessions, away_s, exact_s))
    response_s = centre.demand_s + surplus_s + factor * chance_s
    throughput = min(sessions / (away_s + response_s), centre.capacity)
    return throughput, sessions / throughput - away_s


def _exact_wait_s(centre: Centre, sessions: int, away_s: float) -> float:
    shares = _present(centre, sessions, away_s)
    here = np.arange(sessions + 1)
    throughput = float(np.sum(shares * np.minimum(here, _workers(centre)))) / centre.demand_s
    return max(0.0, float(np.sum(shares * here)) / throughput - centre.demand_s)


def _used(centre: Centre, sessions: int, away_s: float, wait_s: float) -> float:
    """Share of the time that workers are busy."""
    return min(1.0, sessions / (away_s + centre.demand_s + wait_s) / centre.capacity)


def _workers(centre: Centre) -> int:
    return max(1, round(centre.workers))


@lru_cache(maxsize=8)
def _present(centre: Centre, sessions: int, away_s: float) -> np.ndarray:
    """Probability of each number of sessions at the centre: N! / (N - n)! (demand / away)^n / product of min(i, k)."""
    workers, here = _workers(centre), np.arange(sessions + 1)
    ratio = math.log(centre.demand_s / max(away_s, centre.demand_s * 1e-9))
    gammaln = scipy.special.gammaln
    rates = np.where(here <= workers, gammaln(here + 1), gammaln(workers + 1) + (here - workers) * math.log(workers))
    weights = gammaln(sessions + 1) - gammaln(sessions - here + 1) + here * ratio - rates
    return np.asarray(np.exp(weights - scipy.special.logsumexp(weights)))


def compute_closed_quantile_s(centre: Centre, sessions: int, away_s: float, share: float) -> float:
    """The time within which `share` of operations of a closed population are answered, waiting included.

    Who comes finds the others as if it were not there (arrival theorem): m of them to be served first take m
    exponential times of all workers together. Exact for exponential service; another spread scales the waiting.
    """
    top = centre.demand_s * -math.log(1 - share) + 3 * sessions / centre.capacity + 20 * centre.demand_s
    brentq = scipy.optimize.brentq
    return float(brentq(lambda seconds: compute_closed_beyond(centre, sessions, away_s, seconds) - (1 - share), 0, top))


def compute_closed_beyond(centre: Centre, sessions: int, away_s: float, seconds: float) -> float:
    """Share of operations of a closed population that take longer than `seconds`."""
    others = _present(centre, sessions - 1, away_s) if sessions > 1 else np.ones(1)
    workers, serve = _workers(centre), 1 / centre.demand_s
    ahead = np.maximum(0, np.arange(sessions) - workers + 1)
    used = _used(centre, sessions, away_s, _exact_wait_s(centre, sessions, away_s))
    drain = workers * serve / max(compute_waiting_factor(centre, used), 1e-3)
    return float(np.sum(others * _tail(ahead, drain, serve, seconds)))


def _tail(ahead: np.ndarray, drain: float, serve: float, seconds: float) -> np.ndarray:
    """Probability that `ahead` exponential times at rate `drain` and one at `serve` take longer than `seconds`."""
    if drain <= serve * (1 + 1e-6):  # one worker: all at one rate
        return np.asarray(scipy.special.gammaincc(ahead + 1, drain * seconds))
    some = np.maximum(ahead, 1)
    gap = drain - serve
    with np.errstate(divide="ignore", over="ignore"):
        within = np.log(scipy.special.gammainc(some, gap * seconds))
        served = np.exp(some * math.log(drain / gap) - serve * seconds + within)
    both = np.clip(scipy.special.gammaincc(some, drain * seconds) + served, 0, 1)
    return np.asarray(np.where(ahead == 0, math.exp(-serve * seconds), both))


def open_quantile_s(centre: Centre, rate: float, share: float) -> float:
    """The time within which `share` of operations are answered, waiting included, with arrivals at `rate` per second.

    Exact for exponential service; another spread scales the waiting.
    """
    if rate >= centre.capacity:
        return math.inf
    slowest = 1 / centre.demand_s, (centre.capacity - rate) / _slower(centre, rate)
    top = -math.log(1 - share) * sum(1 / rate for rate in slowest) * 3
    return float(scipy.optimize.brentq(lambda seconds: open_beyond(centre, rate, seconds) - (1 - share), 0, top))


def _slower(centre: Centre, rate: float) -> float:
    """By how much longer who waits does than with exponential service; never by nothing at all."""
    return max(compute_waiting_factor(centre, rate / centre.capacity), 1e-3)


def open_beyond(centre: Centre, rate: float, seconds: float) -> float:
    """Share of operations that take longer than `seconds` with arrivals at `rate` per second."""
    if rate >= centre.capacity:
        return 1.0
    waits = compute_erlang_c(_workers(centre), rate * centre.demand_s)
    serve, drain = 1 / centre.demand_s, (centre.capacity - rate) / _slower(centre, rate)
    drain = drain * (1 + 1e-9) if math.isclose(drain, serve) else drain
    served, drained = math.exp(-serve * seconds), math.exp(-drain * seconds)
    # Waiting is an exponential time with probability `waits`, none otherwise; service comes on top.
    return (1 - waits) * served + waits * (drain * served - serve * drained) / (drain - serve)


def _law(n: np.ndarray, alone: float, contention: float, coherency: float) -> np.ndarray:
    return np.asarray(alone * n / (1 + contention * (n - 1) + coherency * n * (n - 1)))


@dataclass(frozen=True)
class Scalability:
    """Throughput over sessions N by the universal scalability law: a N / (1 + s (N - 1) + k N (N - 1))."""

    alone: float
    """Throughput of one session."""
    contention: float
    coherency: float

    def predict(self, sessions: float) -> float:
        """Throughput with so many sessions."""
        return float(_law(np.asarray(sessions), self.alone, self.contention, self.coherency))

    @property
    def peak_sessions(self) -> float | None:
        """Where throughput is largest; None where it only grows."""
        return math.sqrt((1 - self.contention) / self.coherency) if self.coherency > 1e-12 else None


def fit_scalability(sessions: Sequence[float], throughput: Sequence[float]) -> Scalability | None:
    """The law that fits best; None below three different loads."""
    if len(set(sessions)) < 3:
        return None
    loads, rates = np.asarray(sessions, dtype=float), np.asarray(throughput, dtype=float)
    guess = float(np.max(rates / loads))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.optimize.OptimizeWarning)  # of a covariance that is not used
            estimates, _ = scipy.optimize.curve_fit(
                _law, loads, rates, (guess, 1e-4, 1e-8), bounds=([0, 0, 0], [np.inf, 1, 1]), x_scale="jac"
            )
    except (RuntimeError, ValueError):
        return None
    return Scalability(*(float(estimate) for estimate in estimates))
