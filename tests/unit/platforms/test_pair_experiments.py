"""What follows from the counters of experiments on pairs."""

import pytest

from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.experiments import TickReading, compute_tick_costs, summarize_phase

START = TickReading(unix_s=100.0, log_bytes=5000, ticks_unix_s=100.2, ticks=10)


def later(log_bytes: int, ticks: int) -> TickReading:
    """Ten seconds after the start."""
    return TickReading(110.0, START.log_bytes + log_bytes, 110.2, START.ticks + ticks)


def test_a_tick_costs_what_the_log_has_beyond_that_of_the_idle_machine() -> None:
    idle, ticking = compute_tick_costs([(0, START, later(10_000, 0)), (250, START, later(210_000, 2500))])
    assert idle.bytes_per_tick is None
    assert idle.log_mbit_per_s == pytest.approx(0.008)
    assert ticking.ticks_per_s == pytest.approx(250)
    assert ticking.bytes_per_tick == pytest.approx(80)
    assert ticking.log_mbit_per_s == pytest.approx(0.168)
    assert ticking.published_bytes_per_tick == 340


def test_the_rate_that_a_slow_host_had_counts_and_not_the_one_that_was_asked_for() -> None:
    _, ticking = compute_tick_costs([(0, START, later(0, 0)), (1000, START, later(80_000, 1000))])
    assert ticking.ticks_per_s == pytest.approx(100)
    assert ticking.bytes_per_tick == pytest.approx(80)


def test_a_timer_that_did_not_run_has_no_cost() -> None:
    with pytest.raises(PlatformError, match="82 wake-ups per second did not run"):
        compute_tick_costs([(0, START, later(0, 0)), (82, START, later(0, 0))])


def test_a_phase_has_the_clients_rate_and_the_worst_lag() -> None:
    reports = [{"lag_ms": 3.0, "slowed_pct": 0}, {"lag_ms": 9.0, "slowed_pct": 50}]
    phase = summarize_phase("slowed", 0.5, 2.0, [0.004, 0.002, 0.008], reports)
    assert (phase.answers_per_s, phase.median_ms, phase.lag_ms, phase.slowed_pct) == (1.5, 4.0, 9.0, 25.0)


@pytest.mark.parametrize(("latencies", "reports"), [([], [{"lag_ms": 1.0, "slowed_pct": 0}]), ([0.1], [])])
def test_a_phase_without_answers_or_reports_is_no_measurement(
    latencies: list[float], reports: list[dict[str, float]]
) -> None:
    with pytest.raises(PlatformError, match="Use a longer --seconds"):
        summarize_phase("whole", 1.0, 2.0, latencies, reports)
