"""What a rate is: a behaviour, and how to try it once."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Rate:
    """A behaviour that is tried many times."""

    name: str
    """Identifies it on the command line and in `target/rates`."""
    title: str
    """What must hold, in one sentence."""
    trials: int
    """Trials of a whole measurement."""
    attempt: Callable[[int, Path], object]
    """Tries it once: takes the number of the trial, which is its seed, and an empty folder; raises where it does not
    hold.
    """
