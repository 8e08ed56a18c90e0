"""Figures of this system where a sandbox hides them: masked files of /proc and /sys are missing, empty, or hold another
text.
"""

from collections.abc import Callable
from typing import TypeVar

import psutil

T = TypeVar("T")

NOT_SHOWN = (OSError, ValueError, LookupError, RuntimeError, psutil.Error)
"""What the reading of a masked file raises, by psutil or by us."""


def read_shown(read: Callable[[], T]) -> T | None:
    """Returns what `read` returns; None where this system does not show it."""
    try:
        return read()
    except NOT_SHOWN:
        return None
