"""What chance alone may do to a figure: how far counts stray, how sure a share is. Pure."""

import math
from collections.abc import Mapping
from statistics import NormalDist

import scipy

MIX_LEVEL = 0.001
"""Chance that a rule of our own is broken by a healthy run; several rules together stay below one per cent."""
SURE = -NormalDist().inv_cdf(MIX_LEVEL / 2)
"""Standard errors within which chance is to be expected at that level (normal distribution, both sides)."""
Z_95 = NormalDist().inv_cdf(0.975)
"""Standard errors of 95 % on both sides."""
FORGIVEN = 0.05
"""Part of its share by which an operation's may be off before chance is asked: a system that takes its time over some
operations is asked for them a little less often."""


def compute_count_chance(count: int, drawn: int, share: float, dispersion: float = 1.0) -> float:
    """Chance that of `drawn` operations so few or so many are of a kind whose share is within `FORGIVEN` of `share`.

    The binomial test on both sides, exact for independent draws. `dispersion` is the variance of the count by that of
    such draws: pages that follow themselves come in bunches, and say as much as so many fewer of them.
    """
    bunch = max(1.0, dispersion)
    number, total = count / bunch, drawn / bunch
    most, least = min(1.0, share * (1 + FORGIVEN)), share * (1 - FORGIVEN)
    above = scipy.special.betainc(number, total - number + 1, most) if number > 0 else 1.0
    below = 1 - scipy.special.betainc(number + 1, total - number, least) if number < total else 1.0
    return min(1.0, 2 * float(min(above, below)))


def compute_share_chances(
    counts: Mapping[str, int], shares: Mapping[str, float], dispersion: Mapping[str, float]
) -> dict[str, float]:
    """Returns the chance of each operation's count, corrected for asking about all of them (Bonferroni)."""
    drawn = sum(counts.values())
    played = [name for name, share in shares.items() if share > 0] if drawn else []
    chances = {
        name: compute_count_chance(counts.get(name, 0), drawn, shares[name], dispersion.get(name, 1.0))
        for name in played
    }
    return {name: min(1.0, len(played) * chance) for name, chance in chances.items()}


def compute_most_by_chance(expected: float) -> int:
    """The largest count that chance explains where so many are expected (Poisson, one side)."""
    most = 0
    while scipy.special.pdtrc(most, expected) > MIX_LEVEL:
        most += 1
    return most


def compute_share_interval(good: int, total: int) -> tuple[float, float]:
    """A share's 95 % interval (Wilson 1927).

    Every run has one, and scipy's own, which it equals, takes a second to load.
    """
    share, squared = good / total, Z_95**2 / total
    middle = (share + squared / 2) / (1 + squared)
    half = math.sqrt(share * (1 - share) * squared + squared**2 / 4) / (1 + squared)
    return (middle - half if good else 0.0), (middle + half if good < total else 1.0)
