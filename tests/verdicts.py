"""What a test may ask of a verdict: the rules that a run broke, without those that a busy machine or a short window
breaks.
"""

from pathlib import Path

from loadstone.model.records.check import DRIVER_CHECKS, CheckId
from loadstone.store.read import read_verdict

WINDOW = ("--profile", "brief", "--warm-up", "0.5", "--steady", "3")
"""Options of a run whose pages and counts are the subject, not its figures: 0.5, 0.5, 3 and 0.5 seconds."""
BUSY_HOST = frozenset(
    {
        *(DRIVER_CHECKS - {CheckId.DRIVER_ERRORS}),
        *(CheckId.GOOD_SHARE, CheckId.TOLERABLE_SHARE, CheckId.GOOD_SHARE_EACH, CheckId.PERCENTILE),
        CheckId.MEAN,
        *(CheckId.WEIGHTED_PERCENTILE, CheckId.THROUGHPUT, CheckId.ACCEPTED_LATE, CheckId.LEAD),
        *(CheckId.PAUSE_DEVIATION, CheckId.CYCLE_TIME, CheckId.SESSION_CYCLE, CheckId.NET_DEVIATION),
        *(CheckId.FOREIGN_CPU, CheckId.FOREIGN_CPU_SAID, CheckId.HOST_BUSY, CheckId.WINDOWS_APART),
        *(CheckId.STEADY, CheckId.STEADY_SAID, CheckId.LOST_SESSIONS, CheckId.POWER_SAMPLES),
        CheckId.NOT_AT_FULL_LOAD,
    }
)
"""Rules about time: another process that takes the processor breaks them, whatever the system under test does."""
SHORT_WINDOW = frozenset(
    {
        *(CheckId.ENOUGH, CheckId.UNSAMPLED, CheckId.QUALITY_UNSAMPLED, CheckId.SHARES, CheckId.MIX_DEVIATION),
        *(CheckId.MIX_POINTS, CheckId.MEAN_THINK_TIME, CheckId.THINK_TIMES, CheckId.COUNT),
    }
)
"""Rules about enough samples: a window of seconds may be too short for them, whatever the system under test does."""


def broken_rules(result: Path, ignored: frozenset[CheckId] = BUSY_HOST | SHORT_WINDOW) -> list[str]:
    """Returns the rules that a run broke with an effect on its verdict, as `workload: rule: figure`, but those ignored.

    Raises AssertionError where the result has no verdict.
    """
    verdict = read_verdict(result)
    assert verdict is not None, f"{result} has no verdict"
    checks = [(one.workload, check) for one in verdict.workloads for each in one.iterations for check in each.checks]
    if verdict.consolidation is not None:
        checks += [("tiles", check) for check in verdict.consolidation.checks]
    return [f"{name}: {check}" for name, check in checks if check.is_broken and check.id not in ignored]
