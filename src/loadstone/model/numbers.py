"""Numbers as people read them."""

import math
from decimal import Decimal

MBIT_PER_BYTE = 8 / 1e6
"""Megabits of a byte."""
MIB_PER_BYTE = 1 / (1 << 20)
"""Mebibytes of a byte."""


def format_number(value: float | None, digits: int = 0) -> str:
    """A number with thousands apart; empty for none."""
    return "" if value is None else f"{value:,.{digits}f}".replace(",", "\u202f")


def format_seconds(value: float | None) -> str:
    """Seconds with three places; empty for none."""
    return "" if value is None else f"{value:.3f}"


def format_milliseconds(seconds: float) -> str:
    """A time with three digits, and its unit."""
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def format_rounded(value: float | None) -> str:
    """Four significant figures, never in powers of ten; empty for none."""
    if value is None:
        return ""
    return f"{Decimal(f'{value:.4g}'):f}" if abs(value) < 10_000 else f"{value:.0f}"


def format_three_digits(value: float | None) -> str:
    """Three significant figures or all whole ones, never in powers of ten; empty for none."""
    if value is None:
        return ""
    return f"{Decimal(f'{value:.3g}'):f}" if abs(value) < 1_000 else format_number(value)


def format_places(value: float | None, digits: int | None) -> str:
    """With so many places, or where none are given with four significant figures; empty for none."""
    return format_rounded(value) if digits is None else format_number(value, digits)


def format_supported(value: float, half_width: float) -> str:
    """A value with the digits that its interval supports: the last is worth a tenth to all of its half width."""
    if half_width <= 0 or not math.isfinite(half_width):
        return format_rounded(value)
    places = -math.floor(math.log10(half_width))
    return f"{round(value, places):.{max(0, places)}f}"


def format_ends(interval: tuple[float, float]) -> tuple[str, str]:
    """Both ends of an interval, with the digits that matter to one of its width."""
    low, high = interval
    return format_supported(low, (high - low) / 20), format_supported(high, (high - low) / 20)


def format_chance(p: float, places: int = 3) -> str:
    """A p-value with so many places; one that they would show as nothing is printed as a bound."""
    least = 10.0**-places
    return f"p < {least:.{places}f}" if p < least else f"p = {p:.{places}f}"


def format_signed_percent(ratio: float | None) -> str:
    """A ratio as its difference from 1 in percent; empty for none."""
    return "" if ratio is None else f"{100 * (ratio - 1):+.2f}"
