"""Histograms of tools' times are those of the driver: counts are kept, and the mean is exact."""

import pytest

from loadstone.store.histograms import HIGHEST_US, encode_times, read_counts_us, read_distribution


def test_counts_and_the_exact_mean_survive_the_encoding() -> None:
    histogram = encode_times({7: 1000, 250: 10}, total_s=0.009)
    assert histogram.count == 1010
    assert read_counts_us(histogram.hdr) == [(7, 1000), (250, 10)]
    found = read_distribution(histogram)
    assert (found.count, found.mean_s) == (1010, pytest.approx(0.009 / 1010))
    assert (found.get_value_at(50.0), found.get_value_at(100.0)) == (7e-6, 250e-6)


def test_times_beyond_the_range_count_at_its_end_and_are_said_to() -> None:
    histogram = encode_times({HIGHEST_US + 1: 2, 5: 1}, total_s=1300.0)
    assert (histogram.count, histogram.clamped) == (3, 2)
    assert histogram.max_s == pytest.approx((HIGHEST_US + 1) / 1e6)


def test_no_times_are_no_histogram() -> None:
    assert read_distribution(encode_times({}, 0.0)).mean_s is None
