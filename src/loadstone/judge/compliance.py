"""Whether a pass may be called compliant: every rule as published, of a real system, by a driver within its limits.
Pure.
"""

from collections.abc import Sequence

from loadstone.model.figures import DRIVER_CPU_PCT, FOREIGN_CPU_PCT, LAG_SHARE, Criteria
from loadstone.model.profile import Rigor
from loadstone.model.records.verdict import Verdict


def obstacle(criteria: Criteria, verdict: Verdict, not_judged: Sequence[str], is_simulated: bool) -> str:
    """What keeps a verdict from being compliant, in a few words; empty when nothing does."""
    if is_simulated:
        return "it was simulated"
    if criteria.rigor is not Rigor.FULL:
        return f"profile {criteria.profile} is shorter than the rules ask"
    if not criteria.shipped:
        return "the workload is not one of the shipped ones"
    if criteria.lag_share > LAG_SHARE or criteria.driver_cpu_pct > DRIVER_CPU_PCT:
        return "the driver's limits were loosened"
    if criteria.foreign_cpu_pct > FOREIGN_CPU_PCT:
        return "the limit on other load was loosened"
    if not_judged:
        return "not all rules were judged"
    return "" if verdict is Verdict.PASS else "it did not pass"
