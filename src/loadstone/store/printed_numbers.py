"""Numbers of printed tables, read so that none is misread: no separators, no signs, nothing that is not finite."""

import re

LARGEST_PUBLISHED = 1e12
"""No count, time or length that is published is larger."""
LONGEST_NUMBER = 40
"""Letters of a number that a message shows."""
SEPARATED = re.compile(r"[0-9]+(?:[,' _\u00a0\u2009\u202f][0-9]+)+(?:\.[0-9]+)?")
"""A number with thousands apart, or with a decimal comma."""
PLAIN_NUMBER = re.compile(r"[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]{1,2})?")
"""A number whose exponent is no longer than that of any figure."""


def parse_number(text: str) -> float:
    """Reads a figure of a table. Raises ValueError with problem and remedy for one that no disclosure can have."""
    shown = text[:LONGEST_NUMBER]
    if not text.strip():
        raise ValueError("the cell is empty. Write the printed figure, or remove the row if none was printed")
    if SEPARATED.fullmatch(text.strip()):
        raise ValueError(f"`{shown}` has a comma or another separator. Write digits, and a point for decimals")
    try:
        value = float(text) if text.isascii() and len(text) <= LONGEST_NUMBER else float("inf")
    except ValueError:
        raise ValueError(f"`{shown}` is not a number") from None
    if not 0 <= value <= LARGEST_PUBLISHED:
        raise ValueError(f"`{shown}` is not between 0 and {LARGEST_PUBLISHED:g}")
    if not PLAIN_NUMBER.fullmatch(text.strip()):
        raise ValueError(f"`{shown}` is not a plain number. Write digits, and a point for decimals")
    return value


def parse_count(text: str) -> int:
    """Reads a whole number. Raises ValueError as `parse_number`."""
    value = parse_number(text)
    if value != int(value):
        raise ValueError(f"`{text[:LONGEST_NUMBER]}` is not a whole number, as a count is")
    return int(value)
