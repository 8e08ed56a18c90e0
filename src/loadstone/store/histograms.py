"""HdrHistograms as the driver writes them, read into the figures a report needs."""

from typing import Any

from hdrh.histogram import HdrHistogram

from loadstone.model.figures import NOTHING, Distribution

LOWEST_US, HIGHEST_US, DIGITS = 1, 600_000_000, 3
"""Range and precision of all histograms: 1 us to 10 minutes, three significant digits."""

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 100.0)


def distribution(encoded: dict[str, Any]) -> Distribution:
    """Reads one histogram; its mean is the driver's exact one."""
    if not encoded["count"]:
        return NOTHING
    return _figures(HdrHistogram.decode(encoded["hdr"]), float(encoded["mean_ns"]) / 1e9)


def merged(encoded: list[dict[str, Any]]) -> Distribution:
    """Merges histograms without loss: counts are added, never percentiles."""
    total = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    weighted_ns = 0.0
    for one in encoded:
        if one["count"]:
            total.decode_and_add(one["hdr"])
            weighted_ns += one["mean_ns"] * one["count"]
    count = total.get_total_count()
    return _figures(total, weighted_ns / count / 1e9) if count else NOTHING


def _figures(histogram: HdrHistogram, mean_s: float) -> Distribution:
    percentiles = {at: histogram.get_value_at_percentile(at) / 1e6 for at in PERCENTILES}
    return Distribution(histogram.get_total_count(), mean_s, percentiles, _curve(histogram))


def _curve(histogram: HdrHistogram) -> tuple[tuple[float, float], ...]:
    """Points of the cumulative distribution, dense in the tail."""
    shares = [*range(0, 90, 2), *(90 + tenth / 2 for tenth in range(18)), 99, 99.5, 99.9, 99.95, 99.99, 99.999, 100]
    points = [(histogram.get_value_at_percentile(share) / 1e6, share / 100) for share in shares]
    return tuple(dict.fromkeys(points))
