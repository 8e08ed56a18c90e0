"""From what is kept to what people read."""

MBIT = 8 / 1e6
"""Bytes to megabits."""
MIB = 1 / (1 << 20)
"""Bytes to mebibytes."""
