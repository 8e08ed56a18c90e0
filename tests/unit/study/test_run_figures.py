"""What a run used beyond its metrics comes from its steady state alone, in the units that it names."""

import pytest

from loadstone.model.records.events import EVENT_SCHEMA, PartNames, Start
from loadstone.model.records.pair_status import HELD_MS, LAG_MS, LOG_BYTES, PAIR, WIRE_BYTES, name_log_counter
from loadstone.model.records.result import Iteration, IterationRecords, PhaseLengths
from loadstone.model.records.sample import MachineViews, OutsideView, Sample, ServiceSample, TreeUse
from loadstone.study.run_figures import compute_log, compute_operation_times, compute_process_uses, compute_traffic
from tests.records import iteration, operation

BEGIN_S = 1000.0
LEAD_S, STEADY_S = 2.0, 3.0


def sample(second: float, mbit_per_s: float, *, is_pair: bool = True) -> Sample:
    """A second that ends so long after the start, with a log and received traffic of this rate."""
    bytes_per_s = mbit_per_s * 1e6 / 8
    line = {"bytes_recv_per_s": bytes_per_s, "packets_recv_per_s": bytes_per_s / 500}
    outside = OutsideView({}, {"read_bytes_per_s": 3e6}, {"public": line}, None)
    counters = {LOG_BYTES: bytes_per_s, WIRE_BYTES: bytes_per_s / 2, name_log_counter("network"): 0.75 * bytes_per_s}
    status = ServiceSample({LAG_MS: second, HELD_MS: 1.5}, counters)
    return Sample(
        unix_s=BEGIN_S + second,
        seconds=1.0,
        cpu_cores={},
        memory_bytes={},
        swap={},
        disk={},
        network={},
        trees={"driver": TreeUse(1.0, 0.0, 9, 1, 1), "web": TreeUse(0.25, 0.25, int(2e6), 1, 1), "gone": None},
        machines={"web": MachineViews(None, outside)},
        status={f"web: {PAIR}": status} if is_pair else {},
    )


def measured(*samples: Sample) -> Iteration:
    figures = iteration((operation("page", 60, 0.02),), seconds=STEADY_S)
    start = Start("start", EVENT_SCHEMA, "1", 1, 1, (PartNames("web", ("page",)),), BEGIN_S, 0.0, 0.0)
    records = IterationRecords(start=start, monitor=samples)
    return Iteration(1, figures, PhaseLengths(0.0, LEAD_S, STEADY_S, 0.0), read_records=lambda: records)


SAMPLES = [sample(1, 900.0), sample(3, 8.0), sample(4, 16.0), sample(5, 24.0), sample(7, 900.0)]
"""Seconds before, in and after the steady state, which is from 2 s to 5 s."""


def test_a_pairs_log_and_lag_are_means_over_the_steady_state() -> None:
    log = compute_log([measured(*SAMPLES)])
    assert log is not None
    assert (log.log_mbit_per_s, log.wire_mbit_per_s) == (pytest.approx(16.0), pytest.approx(8.0))
    assert (log.lag_ms, log.held_ms) == (4.0, 1.5)
    assert (log.held_p99_ms, log.slowed_pct) == (None, None)
    assert log.mbit_per_s_by_kind == {"network": pytest.approx(12.0)}


def test_a_run_without_a_pair_has_no_log() -> None:
    assert compute_log([measured(sample(3, 8.0, is_pair=False), sample(4, 8.0, is_pair=False))]) is None


def test_received_traffic_has_its_rate_its_frames_and_the_disk_reads() -> None:
    traffic = compute_traffic([measured(*SAMPLES)])
    assert traffic is not None
    assert traffic.received_mbit_per_s == pytest.approx(16.0)
    assert traffic.frame_bytes == pytest.approx(500.0)
    assert (traffic.read_mbytes_per_s, traffic.logged_mbytes_per_s) == (pytest.approx(3.0), 0.0)
    logged = compute_traffic([measured(*SAMPLES)], has_logged_reads=True)
    assert logged is not None and logged.logged_mbytes_per_s == pytest.approx(3.0)


def test_processes_are_those_of_the_system_and_not_the_driver() -> None:
    uses = compute_process_uses([measured(*SAMPLES)])
    assert list(uses) == ["web"]
    assert (uses["web"].cores, uses["web"].resident_bytes) == (0.5, 2e6)


def test_operations_have_their_rate_and_their_times() -> None:
    found = compute_operation_times([measured(*SAMPLES)])
    assert found["page"].per_s == pytest.approx(20.0)
    assert (found["page"].mean_s, found["page"].p95_s) == (0.02, 0.02)
