"""Figures, names and days that users may write in a `workload.toml`: none is beyond measure."""

from datetime import date
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

LARGEST = 1e12
"""No figure that users write is larger: it is beyond every rate, length and share there is."""
LARGEST_WHOLE = (1 << 63) - 1
"""The driver reckons in 64 bits."""
LONGEST_S = 1e9
"""Thirty years; in nanoseconds it still fits 64 bits."""
Positive = Annotated[float, Field(gt=0, le=LARGEST)]
NotNegative = Annotated[float, Field(ge=0, le=LARGEST)]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_S)]
Whole = Annotated[int, Field(ge=-LARGEST_WHOLE, le=LARGEST_WHOLE)]
Percent = Annotated[float, Field(gt=0, le=100)]
Probability = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")]


def _day(text: str) -> str:
    date.fromisoformat(text)
    return text


Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_day)]
"""A day of the calendar."""
