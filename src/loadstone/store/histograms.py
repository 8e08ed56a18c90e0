"""HdrHistograms as the driver writes them, read into the figures a report needs."""

import base64
import binascii
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

from loadstone.model.errors import StoreError
from loadstone.model.figures import NOTHING, Distribution
from loadstone.model.records.events import EncodedHistogram, OperationRecord
from loadstone.store.product_limit import LifeTable, estimate

LOWEST_US, HIGHEST_US, DIGITS = 1, 600_000_000, 3
"""Range and precision of all histograms: 1 us to 10 minutes, three significant digits."""
LARGEST_PAYLOAD = 1 << 20
"""Bytes of an unpacked histogram; one of our range that is full has a quarter of it."""
HEADER = struct.Struct(">iiiiqqd")
"""HdrHistogram's V2 encoding: cookie, length of the counts, offset, digits, lowest, highest, ratio."""

CountArray = npt.NDArray[np.int64]
"""A number for each place of a histogram."""
KEPT_COUNTS = 64
"""Histograms whose counts are kept in memory: a judgement and a report read each several times."""

STORED_PERCENTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 100.0)
CURVE = (*map(float, range(0, 90, 2)), *(90 + half / 2 for half in range(19)), 99.5, 99.9, 99.95, 99.99, 99.999, 100.0)
"""Percentiles of the drawn distribution, dense in the tail."""


EMPTY_HISTOGRAM = EncodedHistogram(0, 0.0, 0.0, 0.0, 0.0, 0, "")


def read_distribution(encoded: EncodedHistogram) -> Distribution:
    """Reads one histogram; its mean is the driver's exact one. Raises StoreError."""
    if not encoded.count:
        return NOTHING
    return _figures(_decoded(encoded.hdr), encoded.mean_s, ())


def encode_times(times_us: Mapping[int, int], total_s: float) -> EncodedHistogram:
    """A histogram of times in microseconds and how many of each, with their exact sum in seconds. Times beyond the
    range count at its end.
    """
    histogram = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    for time_us, number in times_us.items():
        histogram.record_value(min(max(time_us, LOWEST_US), HIGHEST_US), number)
    count = histogram.get_total_count()
    if not count:
        return EMPTY_HISTOGRAM
    return EncodedHistogram(
        count=count,
        mean_s=total_s / count,
        p50_s=histogram.get_value_at_percentile(50.0) / 1e6,
        p99_s=histogram.get_value_at_percentile(99.0) / 1e6,
        max_s=max(times_us) / 1e6,
        clamped=sum(number for time_us, number in times_us.items() if time_us > HIGHEST_US),
        hdr=histogram.encode().decode(),
    )


CROWD_STEPS = 6
"""Steps of the crowd for each factor of ten."""


def count_crowd(encoded: Sequence[EncodedHistogram]) -> list[tuple[float, float, int]]:
    """How many values lay between two times in seconds, in steps of one factor. Raises StoreError."""
    counts = sum((_counts(histogram.hdr) for histogram in encoded if histogram.count), np.zeros_like(_bounds_us()))
    places = np.flatnonzero(counts)
    steps, firsts = np.unique(_crowd_steps()[places], return_index=True)
    numbers = np.add.reduceat(counts[places], firsts).tolist() if len(places) else []
    return [(_edge_s(step), _edge_s(step + 1), count) for step, count in zip(steps.tolist(), numbers, strict=True)]


def _edge_s(step: int) -> float:
    return float(10 ** (step / CROWD_STEPS) / 1e6)


@cache
def _crowd_steps() -> CountArray:
    """The crowd's step of each place of a histogram."""
    steps: CountArray = np.floor(CROWD_STEPS * np.log10(np.maximum(1, _bounds_us()))).astype(np.int64)
    return steps


def merge_histograms(encoded: Sequence[EncodedHistogram]) -> Distribution:
    """Merges histograms without loss: counts are added, never percentiles. Raises StoreError."""
    total = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    weighted_s = 0.0
    for histogram in encoded:
        if histogram.count:
            total.add(_decoded(histogram.hdr))
            weighted_s += histogram.mean_s * histogram.count
    count = total.get_total_count()
    return _figures(total, weighted_s / count, CURVE) if count else NOTHING


def estimate_lasting(operations: Sequence[OperationRecord]) -> Distribution:
    """How long operations last, estimated from all that were under way in the steady state. Raises StoreError."""
    estimated = estimate(LifeTable.join(map(_life_table, operations)))
    if estimated is None:
        return NOTHING
    answered = sum(operation.answered.count for operation in operations)
    percentiles = {
        percent: time_us / 1e6
        for percent in STORED_PERCENTILES
        if (time_us := estimated.get_value_at(percent)) is not None
    }
    percentiles[100.0] = max(operation.answered.max_s for operation in operations)
    points = (
        (time_us / 1e6, percent / 100) for percent in CURVE if (time_us := estimated.get_value_at(percent)) is not None
    )
    return Distribution(
        count=answered,
        mean_s=_mean_s(operations, estimated.mean_us),
        percentiles_s=percentiles,
        curve=tuple(dict.fromkeys(points)),
        lost=sum(operation.lost.count for operation in operations),
    )


def _life_table(operation: OperationRecord) -> LifeTable:
    """What lasted beyond the histogram's range is known to have lasted that long. Raises StoreError for counts that
    contradict each other.
    """
    answered, beyond = read_counts_us(operation.answered.hdr), operation.answered.clamped
    lost = read_counts_us(operation.lost.hdr)
    for name, held, recorded in (("answered", answered, operation.answered), ("lost", lost, operation.lost)):
        counted = sum(number for _, number in held)
        if counted != recorded.count:
            raise StoreError(f"An operation has {recorded.count} times `{name}`, but its histogram holds {counted}.")
    if beyond and (not answered or not 0 < beyond <= answered[-1][1]):
        largest = answered[-1][1] if answered else 0
        raise StoreError(f"An operation has {beyond} times beyond its histogram, whose largest holds {largest}.")
    if beyond:
        last, number = answered[-1]
        answered[-1] = (last, number - beyond)
        lost.append((last, beyond))
    return LifeTable(read_counts_us(operation.entered.hdr), [pair for pair in answered if pair[1]], lost)


def _mean_s(operations: Sequence[OperationRecord], estimated_us: float | None) -> float | None:
    """The exact mean of the answers, and what the estimate adds to theirs: histograms round each time up."""
    if estimated_us is None:
        return None
    answered = [operation.answered for operation in operations]
    count = sum(times.count for times in answered)
    exact_s = sum(times.mean_s * times.count for times in answered) / count
    rounded_us = sum(time_us * number for times in answered for time_us, number in read_counts_us(times.hdr)) / count
    return exact_s + (estimated_us - rounded_us) / 1e6


def read_counts_us(hdr: str) -> list[tuple[int, int]]:
    """The counts of one encoded histogram: microseconds and how many of them. Raises StoreError."""
    return list(_counts_us(hdr)) if hdr else []


@lru_cache(KEPT_COUNTS)
def _counts_us(hdr: str) -> tuple[tuple[int, int], ...]:
    return tuple(_counted(hdr))


def _counted(hdr: str) -> Iterator[tuple[int, int]]:
    """Only what was counted is looked at: the library's own iterator goes through tens of thousands of empty places."""
    counts = _counts(hdr)
    places = np.flatnonzero(counts)
    return zip(_bounds_us()[places].tolist(), counts[places].tolist(), strict=True)


def _counts(hdr: str) -> CountArray:
    """The counts of all places of one encoded histogram, as many as `_bounds_us` has. Raises StoreError."""
    return np.ctypeslib.as_array(_decoded(hdr).counts).astype(np.int64)


@cache
def _bounds_us() -> CountArray:
    """The largest time that each place of a histogram counts, in microseconds: from the second half of a bucket on the
    places of each are twice as wide as those of the one before.
    """
    histogram = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    places = np.arange(histogram.counts_len, dtype=np.int64)
    half = histogram.sub_bucket_half_count
    buckets = np.maximum(places // half - 1, 0)
    bounds: CountArray = ((places - buckets * half + 1) << buckets) - 1
    return bounds


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
        raise StoreError(f"A stored histogram is not valid: {error}.") from None
    except Exception as error:  # the library has exceptions of its own for headers and lengths
        raise StoreError(f"A stored histogram cannot be read: {type(error).__name__} {error}.") from None


def _figures(histogram: HdrHistogram, mean_s: float, curve: tuple[float, ...]) -> Distribution:
    """All percentiles in one pass over the counts."""
    wanted = sorted({*STORED_PERCENTILES, *curve})
    values = histogram.get_percentile_to_value_dict(wanted)
    percentiles = {percent: values[percent] / 1e6 for percent in STORED_PERCENTILES}
    points = tuple(dict.fromkeys((values[percent] / 1e6, percent / 100) for percent in sorted(curve)))
    return Distribution(histogram.get_total_count(), mean_s, percentiles, points)
