"""HdrHistograms as the driver writes them, read into the figures a report needs."""

from typing import Any

from hdrh.histogram import HdrHistogram

from loadstone.model.figures import NOTHING, Distribution

LOWEST_US, HIGHEST_US, DIGITS = 1, 600_000_000, 3
"""Range and precision of all histograms: 1 us to 10 minutes, three significant digits."""

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 100.0)
CURVE = (*map(float, range(0, 90, 2)), *(90 + half / 2 for half in range(19)), 99.5, 99.9, 99.95, 99.99, 99.999, 100.0)
"""Percentiles of the drawn distribution, dense in the tail."""


def distribution(encoded: dict[str, Any]) -> Distribution:
    """Reads one histogram; its mean is the driver's exact one."""
    if not encoded["count"]:
        return NOTHING
    return _figures(HdrHistogram.decode(encoded["hdr"]), float(encoded["mean_ns"]) / 1e9, ())


def merged(encoded: list[dict[str, Any]]) -> Distribution:
    """Merges histograms without loss: counts are added, never percentiles."""
    total = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    weighted_ns = 0.0
    for one in encoded:
        if one["count"]:
            total.decode_and_add(one["hdr"])
            weighted_ns += one["mean_ns"] * one["count"]
    count = total.get_total_count()
    return _figures(total, weighted_ns / count / 1e9, CURVE) if count else NOTHING


def counts_us(hdr: str) -> list[tuple[int, int]]:
    """The counts of one encoded histogram: microseconds and how many of them."""
    histogram = HdrHistogram.decode(hdr)
    return [(step.value_iterated_to, step.count_added_in_this_iter_step) for step in histogram.get_recorded_iterator()]


def _figures(histogram: HdrHistogram, mean_s: float, curve: tuple[float, ...]) -> Distribution:
    """All percentiles in one pass over the counts."""
    wanted = sorted({*PERCENTILES, *curve})
    values = histogram.get_percentile_to_value_dict(wanted)
    percentiles = {at: values[at] / 1e6 for at in PERCENTILES}
    points = tuple(dict.fromkeys((values[at] / 1e6, at / 100) for at in sorted(curve)))
    return Distribution(histogram.get_total_count(), mean_s, percentiles, points)
