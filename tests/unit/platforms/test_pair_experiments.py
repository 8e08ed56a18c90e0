"""What follows from the counters of experiments on pairs."""

from typing import Any

import pytest

from loadstone.model.errors import PlatformError
from loadstone.platforms.pair.disk import Disks, Reads
from loadstone.platforms.pair.experiments import (
    Arrangement,
    ClientWindow,
    ReadsReading,
    TickReading,
    compute_reads_cost,
    compute_tick_costs,
    explain_unmeasured,
    list_primary_hosts,
    summarize_count,
    summarize_delay,
    summarize_link,
    summarize_phase,
)

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


HELD = {"p50": 1.5, "p99": 20.0}


def report(second: int, **figures: Any) -> dict[str, Any]:
    """A report of the agent, so many seconds after the first."""
    counted = {"heard_unix_s": 100.0 + second, "log_bytes": 1000 * second, "wire_bytes": 0}
    return {**counted, "lag_ms": 1.0, "slowed_pct": 0, "round_trip_ms": 0.5, "held_ms": HELD, **figures}


def window(latencies_s: list[float], *reports: dict[str, Any]) -> ClientWindow:
    """Two seconds of a client."""
    return ClientWindow(2.0, latencies_s, report(0), reports)


def test_a_phase_has_the_clients_rate_and_the_worst_lag() -> None:
    reports = [report(1, lag_ms=3.0), report(2, lag_ms=9.0, slowed_pct=50)]
    phase = summarize_phase("slowed", 0.5, window([0.004, 0.002, 0.008], *reports))
    assert (phase.answers_per_s, phase.median_ms, phase.lag_ms, phase.slowed_pct) == (1.5, 4.0, 9.0, 25.0)


@pytest.mark.parametrize("empty", [window([], report(1)), window([0.1])])
def test_a_phase_without_answers_or_reports_is_no_measurement(empty: ClientWindow) -> None:
    with pytest.raises(PlatformError, match="Use a longer --seconds"):
        summarize_phase("whole", 1.0, empty)


def test_a_phase_whose_secondary_was_lost_is_no_measurement() -> None:
    lost = ClientWindow(2.0, [0.1], report(0), [report(1)], is_protected=False)
    with pytest.raises(PlatformError, match="`whole`: the pair lost its secondary"):
        summarize_phase("whole", 1.0, lost)


def test_the_log_counts_from_the_report_before_the_client_to_the_last() -> None:
    assert window([0.1], report(1), report(4, log_bytes=2_000_000)).log_mbit_per_s == pytest.approx(4.0)


@pytest.mark.parametrize(("count", "p99_ms"), [(99, None), (100, 99.0), (200, 198.0)])
def test_the_99th_percentile_takes_a_hundred_answers(count: int, p99_ms: float | None) -> None:
    times = [number / 1000 for number in range(count, 0, -1)]
    assert window(times, report(1)).p99_ms == (p99_ms if p99_ms is None else pytest.approx(p99_ms))


def test_a_longer_channel_has_the_round_trip_that_was_measured_and_not_the_one_asked_for() -> None:
    reports = [report(1, round_trip_ms=None), report(2, round_trip_ms=6.0), report(3, round_trip_ms=5.4)]
    cost = summarize_delay(5.0, window([0.006, 0.007, 0.009], *reports, report(4, round_trip_ms=9.0)))
    assert (cost.added_ms, cost.round_trip_ms, cost.median_ms) == (5.0, 6.0, 7.0)
    assert (cost.held_ms, cost.held_p99_ms, cost.p99_ms) == (1.5, 20.0, None)


def test_a_channel_without_a_measured_round_trip_is_no_measurement() -> None:
    with pytest.raises(PlatformError, match=r"`0.5 ms` has no measured round trip"):
        summarize_delay(0.5, window([0.1], report(1, round_trip_ms=None)))


def test_a_link_is_used_by_what_was_sent_and_not_by_the_log_before_compression() -> None:
    last = report(4, log_bytes=2_000_000, wire_bytes=500_000, lag_ms=70.0, slowed_pct=30)
    load = summarize_link(1.25, window([0.004, 0.002, 0.008], last))
    assert (load.log_mbit_per_s, load.wire_mbit_per_s, load.used_pct) == pytest.approx((4.0, 1.0, 80.0))
    assert (load.answers_per_s, load.median_ms, load.lag_ms, load.slowed_pct) == (1.5, 4.0, 70.0, 30.0)
    unlimited = summarize_link(0.0, window([0.004], last))
    assert (unlimited.link_mbit_per_s, unlimited.used_pct) == (None, None)
    with pytest.raises(PlatformError, match=r"`1\.25 Mbit/s` has no answers"):
        summarize_link(1.25, window([], last))


def test_pairs_at_once_have_the_sum_of_their_answers_and_the_worst_lag() -> None:
    windows = [window([0.004, 0.002], report(1, lag_ms=7.0)), window([0.008], report(1, lag_ms=3.0, slowed_pct=50))]
    load = summarize_count(Arrangement.ONE_HOST, windows, ["0.5 of 2 cores free, 4 wanted"])
    assert (load.pairs, load.answers_per_s_by_pair, load.answers_per_s) == (2, [1.0, 0.5], 1.5)
    assert (load.median_ms, load.lag_ms, load.slowed_pct) == (4.0, 7.0, 25.0)
    assert load.warnings == ["0.5 of 2 cores free, 4 wanted"]


def test_primaries_are_on_the_first_host_or_on_both_by_turns() -> None:
    assert list_primary_hosts(Arrangement.TOGETHER, ["s1+s2", "s2+s1"], 3) == ["s1+s2"] * 3
    assert list_primary_hosts(Arrangement.CROSSED, ["s1+s2", "s2+s1"], 3) == ["s1+s2", "s2+s1", "s1+s2"]


def test_pairs_that_lost_a_secondary_are_counted_in_the_warnings() -> None:
    lost = ClientWindow(2.0, [0.1], report(0), [report(1)], is_protected=False)
    load = summarize_count(Arrangement.CROSSED, [window([0.1], report(1)), lost], [])
    assert (load.arrangement, load.warnings) == ("crossed", ["1 of 2 pairs lost a secondary"])


def test_pairs_of_which_a_pair_has_no_answer_are_no_measurement() -> None:
    with pytest.raises(PlatformError, match="`2 pairs`: a pair has no answers or no reports"):
        summarize_count(Arrangement.CROSSED, [window([0.1], report(1)), window([], report(1))], [])


def test_pairs_that_were_not_measured_have_reasons_and_no_figures() -> None:
    load = explain_unmeasured(3, Arrangement.TOGETHER, ["100 MiB free, 3852 needed"])
    assert (load.pairs, load.warnings, load.answers_per_s_by_pair) == (3, ["100 MiB free, 3852 needed"], [])
    assert load.answers_per_s is load.median_ms is load.lag_ms is load.slowed_pct is None


BEFORE = ReadsReading(unix_s=100.0, log_bytes=7000, reads_unix_s=100.5, read_bytes=9000)


def test_reads_have_their_log_beside_the_published_rule() -> None:
    after = ReadsReading(110.0, 7000 + 51_000_000, 110.5, 9000 + 50_000_000)
    cost = compute_reads_cost(Disks.SHARED, Reads.LOG, BEFORE, after)
    assert (cost.title, cost.reads_mbytes_per_s) == ("the log", pytest.approx(5.0))
    assert (cost.log_mbit_per_s, cost.log_ratio) == (pytest.approx(40.8), pytest.approx(1.02))
    assert cost.rule_mbit_per_s == pytest.approx(48.0)


def test_each_arrangement_of_disks_has_a_title_of_its_own() -> None:
    arrangements = [(Disks.SHARED, Reads.LOG), (Disks.SHARED, Reads.SECONDARY), (Disks.REPLICATED, None)]
    after = ReadsReading(110.0, 8000, 110.5, 10_000)
    titles = [compute_reads_cost(disks, reads, BEFORE, after).title for disks, reads in arrangements]
    assert titles == ["the log", "secondary, shared disk", "secondary, own disk"]


def test_a_machine_that_read_nothing_is_no_measurement() -> None:
    after = ReadsReading(110.0, 8000, 110.5, BEFORE.read_bytes)
    with pytest.raises(PlatformError, match="read nothing from its disk"):
        compute_reads_cost(Disks.SHARED, Reads.LOG, BEFORE, after)
