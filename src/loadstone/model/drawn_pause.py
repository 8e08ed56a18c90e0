"""The distribution of pauses that a workload declares. Pure."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class DrawnPause:
    """The declared distribution of pauses."""

    distribution: str
    """`exponential`, `uniform` (0 to twice the mean) or `fixed`."""
    mean_s: float
    """Mean before the cut-off."""
    cap_s: float | None = None

    def share_below(self, seconds: float) -> float:
        """The share of pauses that are shorter than this."""
        if self.cap_s is not None and seconds > self.cap_s:
            return 1.0
        match self.distribution:
            case "exponential":
                return 1 - math.exp(-max(0.0, seconds) / self.mean_s)
            case "uniform":
                return min(1.0, max(0.0, seconds) / (2 * self.mean_s))
            case _:
                return float(seconds > self.mean_s)
