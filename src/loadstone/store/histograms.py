"""HdrHistograms as the driver writes them, read into the figures a report needs."""

import base64
import binascii
import struct
import zlib
from collections.abc import Sequence

from hdrh.histogram import HdrHistogram

from loadstone.model.errors import StoreError
from loadstone.model.figures import NOTHING, Distribution
from loadstone.model.records.events import EncodedHistogram

LOWEST_US, HIGHEST_US, DIGITS = 1, 600_000_000, 3
"""Range and precision of all histograms: 1 us to 10 minutes, three significant digits."""
LARGEST_PAYLOAD = 1 << 20
"""Bytes of an unpacked histogram; one of our range that is full has a quarter of it."""
HEADER = struct.Struct(">iiiiqqd")
"""HdrHistogram's V2 encoding: cookie, length of the counts, offset, digits, lowest, highest, ratio."""

PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 100.0)
CURVE = (*map(float, range(0, 90, 2)), *(90 + half / 2 for half in range(19)), 99.5, 99.9, 99.95, 99.99, 99.999, 100.0)
"""Percentiles of the drawn distribution, dense in the tail."""


def distribution(encoded: EncodedHistogram) -> Distribution:
    """Reads one histogram; its mean is the driver's exact one. Raises StoreError."""
    if not encoded.count:
        return NOTHING
    return _figures(_decoded(encoded.hdr), encoded.mean_ns / 1e9, ())


def merged(encoded: Sequence[EncodedHistogram]) -> Distribution:
    """Merges histograms without loss: counts are added, never percentiles. Raises StoreError."""
    total = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    weighted_ns = 0.0
    for histogram in encoded:
        if histogram.count:
            total.add(_decoded(histogram.hdr))
            weighted_ns += histogram.mean_ns * histogram.count
    count = total.get_total_count()
    return _figures(total, weighted_ns / count / 1e9, CURVE) if count else NOTHING


def counts_us(hdr: str) -> list[tuple[int, int]]:
    """The counts of one encoded histogram: microseconds and how many of them. Raises StoreError."""
    steps = _decoded(hdr).get_recorded_iterator()
    return [(step.value_iterated_to, step.count_added_in_this_iter_step) for step in steps]


def _decoded(hdr: str) -> HdrHistogram:
    """A histogram of our range; another's header may claim one that takes gigabytes."""
    try:
        packed = base64.b64decode(hdr, validate=True)
        unpacked = zlib.decompressobj().decompress(packed[8:], LARGEST_PAYLOAD)
        _, _, _, digits, lowest, highest, _ = HEADER.unpack_from(unpacked)
        if (digits, lowest, highest) != (DIGITS, LOWEST_US, HIGHEST_US):
            raise ValueError(f"its range is {lowest} to {highest} with {digits} digits")
        histogram: HdrHistogram = HdrHistogram.decode(hdr)
        return histogram
    except (ValueError, IndexError, struct.error, zlib.error, binascii.Error, TypeError) as error:
        raise StoreError(f"A stored histogram is none of ours: {error}.") from None
    except Exception as error:  # the library has exceptions of its own for headers and lengths
        raise StoreError(f"A stored histogram cannot be read: {type(error).__name__} {error}.") from None


def _figures(histogram: HdrHistogram, mean_s: float, curve: tuple[float, ...]) -> Distribution:
    """All percentiles in one pass over the counts."""
    wanted = sorted({*PERCENTILES, *curve})
    values = histogram.get_percentile_to_value_dict(wanted)
    percentiles = {at: values[at] / 1e6 for at in PERCENTILES}
    points = tuple(dict.fromkeys((values[at] / 1e6, at / 100) for at in sorted(curve)))
    return Distribution(histogram.get_total_count(), mean_s, percentiles, points)
