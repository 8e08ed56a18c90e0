"""The page of the rules: each with its figure, limit, weight and source; limits are those of the modules that judge."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from docs_reference.markdown import code, paragraph, table
from loadstone.judge import driver, ledger, mix, outlook, printed_tiles, rules, steadiness, tiles
from loadstone.judge.chance import MIX_LEVEL, SURE
from loadstone.judge.check import DECLARED, PAIRS_SOURCE, PUBLISHED_SOURCE, WEB_WORKLOADS_SOURCE
from loadstone.judge.printed_monitors import MONITORS_SOURCE
from loadstone.judge.remedies import REMEDIES, get_title
from loadstone.model.figures import DRIVER_CPU_PCT, FOREIGN_CPU_PCT, FOREIGN_SAID_PCT, LAG_SHARE, MOST_DRIFT_PCT
from loadstone.model.records.check import Bound, CheckId, Weight

FOREIGN = "host CPU that neither the driver nor the system under test used, steal included"
OURS, TILES, PRINTED = WEB_WORKLOADS_SOURCE, tiles.CONSOLIDATION_SOURCE, printed_tiles.PRINTED_TABLE_SOURCE
LIMITS = "the source of the workload's limits"
"""Source of rules whose limits a workload declares: its page, or the workload itself."""
UNITS = ("%", "% off", "% of a core", "points", "s", "ms", "times")
"""Units that the words of a figure do not name."""
LEAST, MOST = Bound.AT_LEAST, Bound.AT_MOST
FAIL, INVALID, NOTE = Weight.FAIL, Weight.INVALID, Weight.NOTE


@dataclass(frozen=True)
class Rule:
    """What a rule compares."""

    figure: str
    unit: str
    """As in a verdict."""
    bound: Bound
    limit: str
    weight: Weight
    source: str


_LAG = f"{100 * LAG_SHARE:g} % of the shortest limit"
_STALL = f"{_LAG}, but {1000 * driver.LEAST_STALL_S:g} ms at least"
_WIDENED = "outside the profile `full` widened to what chance may do"
RULES: Mapping[CheckId, Rule] = {
    CheckId.STEADY_STATE: Rule("share of the declared window", "%", LEAST, "99.9", INVALID, OURS),
    CheckId.GOOD_SHARE: Rule("share of good operations", "%", LEAST, "`limits.good_share_pct`", FAIL, LIMITS),
    CheckId.TOLERABLE_SHARE: Rule(
        "share of good and tolerable operations", "%", LEAST, "`limits.tolerable_share_pct`", FAIL, LIMITS
    ),
    CheckId.GOOD_SHARE_EACH: Rule(
        "share of good operations of the worst kind", "%", LEAST, "`limits.each_share_pct`", FAIL, LIMITS
    ),
    CheckId.ENOUGH: Rule(
        "operations",
        "operations",
        LEAST,
        f"so many that one failure is within the limit, {outlook.MOST_FOR_A_PASS} at most",
        INVALID,
        OURS,
    ),
    CheckId.LOST_SESSIONS: Rule(
        "sessions that wait too long at the end",
        "sessions",
        MOST,
        f"{rules.LOST_SESSIONS_PCT:g} % of the sessions, and what chance adds",
        FAIL,
        OURS,
    ),
    CheckId.AUDIT_MADE: Rule("audits of the server", "", LEAST, "1", INVALID, ledger.SOURCE),
    CheckId.AUDIT_HELD: Rule("entries that the server holds", "", LEAST, "entries acknowledged", FAIL, ledger.SOURCE),
    CheckId.AUDIT_BEYOND: Rule(
        "entries held beyond those acknowledged", "", MOST, "entries in doubt", FAIL, ledger.SOURCE
    ),
    CheckId.AUDIT_HASHES: Rule("difference of the sums of hashes", "", MOST, "0", FAIL, ledger.SOURCE),
    CheckId.DATABASE_RULES: Rule("database rules broken", "rules", MOST, "0", FAIL, ledger.SOURCE),
    CheckId.VALIDATION_ERRORS: Rule("operations with a wrong answer", "errors", MOST, "0", FAIL, PUBLISHED_SOURCE),
    CheckId.UNANSWERED: Rule(
        "operations without a complete answer", "%", MOST, f"{mix.ERROR_SHARE_PCT:g}", FAIL, PUBLISHED_SOURCE
    ),
    CheckId.DRIVER_ERRORS: Rule("errors of the driver", "errors", MOST, "0", INVALID, OURS),
    CheckId.ERRORS: Rule("operations in error", "%", MOST, "`limits.errors_pct`", FAIL, DECLARED),
    CheckId.PERCENTILE: Rule("a percentile of response times", "s", MOST, "`percentiles_s`", FAIL, DECLARED),
    CheckId.MEAN: Rule("mean response time of an operation", "s", MOST, "`mean_s`", FAIL, DECLARED),
    CheckId.THROUGHPUT: Rule(
        "operations per second", "operations/s", LEAST, "`limits.throughput_per_s`", FAIL, DECLARED
    ),
    CheckId.ARRIVALS_DUE: Rule("arrivals by expected arrivals", "%", LEAST, "what chance leaves", INVALID, OURS),
    CheckId.ARRIVALS_BEGUN: Rule("arrivals that started", "%", LEAST, f"{mix.ARRIVED_PCT:g}", INVALID, OURS),
    CheckId.MIX_DEVIATION: Rule(
        "largest deviation of one operation",
        "%",
        MOST,
        f"{mix.PAGE_DEVIATION_PCT:g}, {_WIDENED}",
        INVALID,
        PUBLISHED_SOURCE,
    ),
    CheckId.NET_DEVIATION: Rule(
        "deviation of all operations", "%", MOST, f"{mix.NET_DEVIATION_PCT:g}, {_WIDENED}", INVALID, PUBLISHED_SOURCE
    ),
    CheckId.SHARES: Rule("smallest p-value of the shares", "", LEAST, f"{MIX_LEVEL:g}", INVALID, OURS),
    CheckId.UNSAMPLED: Rule("kinds of operations without a sample", "kinds", MOST, "0", INVALID, OURS),
    CheckId.PAUSE_DEVIATION: Rule(
        "think time beyond the sampled one", "%", MOST, f"{mix.PAUSE_DEVIATION_PCT:g}", INVALID, OURS
    ),
    CheckId.MEAN_THINK_TIME: Rule(
        "mean think time against the declared one",
        "% off",
        MOST,
        f"{mix.MEAN_PAUSE_PCT:g}, or what chance may do",
        INVALID,
        OURS,
    ),
    CheckId.THINK_TIMES: Rule(
        "distance to the declared distribution",
        "points",
        MOST,
        f"the distance by chance, at a level of {MIX_LEVEL:g}",
        INVALID,
        OURS,
    ),
    CheckId.CYCLE_TIME: Rule(
        "worst mean cycle time against the sampled one",
        "% off",
        MOST,
        f"{mix.CYCLE_DEVIATION_PCT:g}; too early starts make the run invalid",
        FAIL,
        mix.CYCLES,
    ),
    CheckId.MIX_POINTS: Rule(
        "largest difference of a share", "points", MOST, f"`limits.mix_points`, {_WIDENED}", INVALID, mix.CYCLES
    ),
    CheckId.SESSION_CYCLE: Rule(
        "mean cycle of a session", "s", MOST, f"`limits.most_cycle_s`, {_WIDENED}", FAIL, mix.CYCLES
    ),
    CheckId.COUNT: Rule(
        "mean count for each operation", "", LEAST, "`rules.NAME.at_least`, or at most `at_most`", INVALID, LIMITS
    ),
    CheckId.WEIGHTED_PERCENTILE: Rule(
        "percentile weighted by the mix", "s", MOST, "the limits, weighted in the same way", NOTE, LIMITS
    ),
    CheckId.LEAD: Rule("ramp-up and warm-up", "s", LEAST, "the longest operation", INVALID, PUBLISHED_SOURCE),
    CheckId.DRIVER_LAG: Rule("driver lag p99", "ms", MOST, _LAG, INVALID, OURS),
    CheckId.DRIVER_LAG_TAIL: Rule("driver lag p99.9", "ms", MOST, _STALL, INVALID, OURS),
    CheckId.DRIVER_LAG_MAX: Rule("largest driver lag", "ms", MOST, _STALL, INVALID, OURS),
    CheckId.DRIVER_GAP: Rule("longest time the driver did not run", "ms", MOST, _STALL, INVALID, OURS),
    CheckId.DRIVER_CLOCKS: Rule("largest offset between the drivers' clocks", "ms", MOST, _LAG, INVALID, OURS),
    CheckId.DRIVER_CPU: Rule(
        "CPU use of the busiest driver thread", "% of a core", MOST, f"{DRIVER_CPU_PCT:g}", INVALID, OURS
    ),
    CheckId.GUEST_CLOCK: Rule(
        "drift of the guest's clock within the window", "%", MOST, f"{MOST_DRIFT_PCT:g}", INVALID, PAIRS_SOURCE
    ),
    CheckId.FOREIGN_CPU: Rule(
        FOREIGN, "%", MOST, f"{FOREIGN_CPU_PCT:g}", INVALID, OURS
    ),
    CheckId.FOREIGN_CPU_SAID: Rule(
        FOREIGN, "%", MOST, f"{FOREIGN_SAID_PCT:g}", NOTE, OURS
    ),
    CheckId.TCP_MEMORY: Rule("time under TCP memory pressure", "s", MOST, "0", INVALID, OURS),
    CheckId.UNPLACED: Rule("users not placed part-way", "users", MOST, "0; with errors a note", INVALID, OURS),
    CheckId.STEADY: Rule(
        "largest change within the window", "times", MOST, f"{steadiness.LIMIT_FACTOR:g}", INVALID, OURS
    ),
    CheckId.STEADY_SAID: Rule(
        "largest change within the window", "times", MOST, f"{steadiness.SAID_FACTOR:g}", NOTE, OURS
    ),
    CheckId.CONDITIONAL_ASKED: Rule(
        "conditional requests, of those declared",
        "%",
        LEAST,
        f"100 less {SURE:.2f} standard errors",
        NOTE,
        LIMITS,
    ),
    CheckId.CONDITIONAL_HONOURED: Rule(
        "conditional requests answered with 304", "%", LEAST, "99", NOTE, PUBLISHED_SOURCE
    ),
    CheckId.RESENT: Rule(
        "requests dropped and sent again",
        "requests",
        MOST,
        f"{mix.ERROR_SHARE_PCT:g} % or `limits.errors_pct`, and what chance adds",
        FAIL,
        OURS,
    ),
    CheckId.TRAILING: Rule(
        "answers with bytes behind their end", "answers", MOST, "0, or `limits.errors_pct`", FAIL, OURS
    ),
    CheckId.SYSTEM_CPU: Rule(
        "CPU of the system, in a search", "%", MOST, "`--below-cpu`", FAIL, "declared for a search"
    ),
    CheckId.FURTHER_SOURCES: Rule(
        "connections from further source addresses", "connections", MOST, "0", NOTE, OURS
    ),
    CheckId.ACCEPTED_LATE: Rule("connections accepted late", "connections", MOST, "0", NOTE, OURS),
    CheckId.PARTS_DIED: Rule("parts that died or were ended", "", MOST, "0", INVALID, TILES),
    CheckId.POWER_SAMPLES: Rule(
        "samples of a power meter", "", LEAST, f"{100 * tiles.SAMPLED:g} % of the seconds", INVALID, TILES
    ),
    CheckId.WINDOWS_APART: Rule(
        "offset between the measured windows", "s", MOST, f"{tiles.WINDOW_S:g}", INVALID, TILES
    ),
    CheckId.HOST_BUSY: Rule("use of the host's cores", "%", MOST, f"{tiles.BUSY_PCT:g}", NOTE, TILES),
    CheckId.QUALITY_UNSAMPLED: Rule("roles without a sample", "", MOST, "0", INVALID, TILES),
    CheckId.NOT_AT_FULL_LOAD: Rule(
        "workloads not at full load", "workloads", MOST, "0", INVALID, TILES
    ),
    CheckId.PRINTED_FIGURES: Rule(
        "printed figures of a table of tiles that contradict others", "", MOST, "0", INVALID, PRINTED
    ),
    CheckId.PRINTED_TIMES: Rule("printed times above the required ones", "", MOST, "0", FAIL, PRINTED),
    CheckId.PRINTED_MONITORS: Rule(
        "printed figures of monitors that contradict others", "", MOST, "0", NOTE, MONITORS_SOURCE
    ),
}  # fmt: skip


def rules_page() -> Iterator[str]:
    """Blocks of rules.md."""
    yield "# Rules of a verdict"
    yield paragraph(
        "Each rule compares a figure with a limit. A broken rule of weight `fail` states that the system did not meet "
        "its quality of service. A broken rule of weight `invalid` says that the run cannot be judged. A note has no "
        "effect on the verdict. [Troubleshooting](../troubleshooting.md) has cause and remedy of each rule; "
        "`loadstone explain RULE` prints them. `make reference` writes this page from the code that judges."
    )
    yield table(
        ("rule", "title", "figure", "limit", "weight", "source"),
        (
            (
                f"[{code(name)}](../troubleshooting.md#{name})",
                get_title(name),
                f"{rule.figure}{f', {rule.unit}' if rule.unit in UNITS else ''}",
                f"{rule.bound} {rule.limit}",
                rule.weight,
                rule.source,
            )
            for name, rule in ((name, RULES[name]) for name in REMEDIES)
        ),
    )
