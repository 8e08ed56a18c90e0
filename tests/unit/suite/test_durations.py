"""What the suite counts as a test's own time."""

from pathlib import Path

import pytest

from tests.suite.durations import own_s, stalled_s


@pytest.mark.parametrize(
    ("took_s", "cpu_s", "expected_s"),
    [(11.0, 11.0, 11.0), (11.0, 0.2, 10.8), (10.9, 7.5, 7.5), (12.0, 105.0, 12.0), (0.0, 0.0, 0.0)],
)
def test_a_test_is_as_long_as_it_computes_or_waits(took_s: float, cpu_s: float, expected_s: float) -> None:
    assert own_s(took_s, cpu_s) == pytest.approx(expected_s)


def test_waits_for_processors_disks_and_memory_are_not_a_tests_own_time(tmp_path: Path) -> None:
    assert stalled_s(tmp_path) == 0
    for resource, total_us in {"cpu": 1_500_000, "io": 2_000_000, "memory": 250_000, "irq": 9_000_000}.items():
        (tmp_path / resource).write_text(
            f"some avg10=0.00 avg60=1.00 avg300=2.00 total={total_us}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
        )
    assert stalled_s(tmp_path) == 3.75
