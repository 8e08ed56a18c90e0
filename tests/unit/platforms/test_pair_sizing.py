"""The bandwidth of a pair's log: the published rule by its published examples, and the model by points it was not
fitted to.
"""

import pytest

from loadstone.platforms.pair.sizing import compute_log_bandwidth


@pytest.mark.parametrize(
    ("disk_mbytes", "received_mbit", "rule_mbit"), [(10, 100, 216), (0, 0, 0), (1, 0, 9.6), (0, 890, 1068)]
)
def test_the_rule_gives_its_published_examples(disk_mbytes: float, received_mbit: float, rule_mbit: float) -> None:
    assert compute_log_bandwidth(disk_mbytes, received_mbit, 1514, 1000).rule_mbit_per_s == pytest.approx(rule_mbit)


@pytest.mark.parametrize(
    ("frames_per_s", "payload_bytes", "log_bytes", "frames", "seconds"),
    [
        (50, 500, 209_757, 300, 8.2),
        (200, 700, 1_022_357, 1200, 8.2),
        (700, 1000, 4_690_883, 4200, 8.2),
        (1500, 500, 5_440_744, 9000, 8.2),
        (1500, 1400, 13_350_544, 8998, 8.2),
    ],
)
def test_the_model_is_within_a_tenth_of_points_that_it_was_not_fitted_to(
    frames_per_s: float, payload_bytes: int, log_bytes: int, frames: int, seconds: float
) -> None:
    frame_bytes = payload_bytes + 42
    predicted = compute_log_bandwidth(0, 8e-6 * frames_per_s * frame_bytes, frame_bytes, 1000)
    sent_s = frames / frames_per_s
    predicted_bytes = 1e6 / 8 * (predicted.network_mbit_per_s * sent_s + predicted.idle_mbit_per_s * seconds)
    assert predicted_bytes == pytest.approx(log_bytes, rel=0.1)
    assert not predicted.is_extrapolated or payload_bytes == 1400


def test_reads_of_a_shared_disk_cost_their_bytes_and_little_more() -> None:
    predicted = compute_log_bandwidth(16.023552, 0, 1514, 1000)
    assert predicted.disk_mbit_per_s / 8 == pytest.approx(16.322359, rel=0.02)


def test_an_idle_machine_sends_hardly_any_log_and_the_link_is_compared_with_the_larger_figure() -> None:
    idle = compute_log_bandwidth(0, 0, 1514, 1000)
    assert idle.model_mbit_per_s < 0.02
    assert compute_log_bandwidth(0, 890, 1514, 1000).link_share == pytest.approx(1.068)
    assert compute_log_bandwidth(0, 890, 1514, 1000).is_extrapolated
