"""Both sides of a comparison: their order in time. Pure."""

import numpy as np

from loadstone.study.summary import ComparedSide


def order_sides(pair: int) -> tuple[ComparedSide, ComparedSide]:
    """Which side comes first, at random, but once each in every two pairs: drift falls on both alike, and nothing that
    happens regularly falls on one alone.
    """
    is_a_first = (np.random.default_rng(pair // 2).random() < 0.5) == (pair % 2 == 0)
    return (ComparedSide.A, ComparedSide.B) if is_a_first else (ComparedSide.B, ComparedSide.A)
