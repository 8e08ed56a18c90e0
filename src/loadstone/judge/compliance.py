"""Whether a pass may be called compliant: every rule as published, of a real system, by a driver within its limits.
Pure.
"""

from collections.abc import Iterator, Sequence

from loadstone.model.figures import DRIVER_CPU_PCT, FOREIGN_CPU_PCT, LAG_SHARE, Criteria
from loadstone.model.profile import Rigor
from loadstone.model.records.verdict import Verdict


def describe_obstacles(criteria: Criteria, verdict: Verdict, not_judged: Sequence[str], is_simulated: bool) -> str:
    """Everything that keeps a verdict from being compliant, in a few words; empty when nothing does.

    A verdict that is no pass is named only without another reason, since readers see it.
    """
    reasons = [reason for reason, holds in _reasons(criteria, not_judged, is_simulated) if holds]
    return "; ".join(reasons) or ("" if verdict is Verdict.PASS else "it did not pass")


def _reasons(criteria: Criteria, not_judged: Sequence[str], is_simulated: bool) -> Iterator[tuple[str, bool]]:
    """Each reason with whether it holds."""
    yield "it was simulated", is_simulated
    yield f"profile {criteria.profile} is shorter than the rules ask", criteria.rigor is not Rigor.FULL
    yield "the workload is not one of the shipped ones", not criteria.shipped
    is_driver_loose = criteria.lag_share > LAG_SHARE or criteria.driver_cpu_pct > DRIVER_CPU_PCT
    yield "the driver's limits were loosened", is_driver_loose
    yield "the limit on other load was loosened", criteria.foreign_cpu_pct > FOREIGN_CPU_PCT
    yield "not all rules were judged", bool(not_judged)
