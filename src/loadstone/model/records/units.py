"""Units of stored records: the driver writes whole nanoseconds, and all of Python has seconds."""

from typing import Annotated

from pydantic import AfterValidator, PlainSerializer

NANOSECONDS_PER_S = 1_000_000_000


def to_seconds(nanoseconds: float) -> float:
    """A time in seconds."""
    return nanoseconds / NANOSECONDS_PER_S


def to_nanoseconds(seconds: float) -> int:
    """A time in whole nanoseconds."""
    return round(seconds * NANOSECONDS_PER_S)


RecordedSeconds = Annotated[float, AfterValidator(to_seconds), PlainSerializer(to_nanoseconds)]
"""A time in seconds that a document holds in nanoseconds: converted when it is read, and only there."""
