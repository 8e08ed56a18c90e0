"""Figures, names and days that users may write in a `workload.toml`: none is beyond measure."""

import base64
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

LARGEST_NUMBER = 1e12
"""No figure that users write is larger: it is beyond every rate, length and share there is."""
LARGEST_WHOLE = (1 << 63) - 1
"""The driver reckons in 64 bits."""
LONGEST_DURATION_S = 1e9
"""Thirty years; in nanoseconds it still fits 64 bits."""
Positive = Annotated[float, Field(gt=0, le=LARGEST_NUMBER)]
NotNegative = Annotated[float, Field(ge=0, le=LARGEST_NUMBER)]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_DURATION_S)]
WholeNumber = Annotated[int, Field(ge=-LARGEST_WHOLE, le=LARGEST_WHOLE)]
Percent = Annotated[float, Field(gt=0, le=100)]
Probability = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")]


def _day(text: str) -> str:
    date.fromisoformat(text)
    return text


def is_base64(text: str) -> bool:
    """Whether a text is bytes by base64 as RFC 4648 writes them, which the driver asks for."""
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False


def _base64(text: str) -> str:
    if not is_base64(text):
        raise ValueError("is not valid base64")
    return text


Base64 = Annotated[str, AfterValidator(_base64)]
Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$"), AfterValidator(_day)]
"""A day of the calendar."""
