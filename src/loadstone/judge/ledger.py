"""The audit: what drivers were told is kept, against what the database holds. Pure.

Both sides sum the hashes of all ids (FNV-1a, 64 bits): one lost, doubled or strange id changes the sum.
"""

from collections.abc import Iterator

from loadstone.judge.check import check_at_least, check_at_most
from loadstone.model.figures import Audit
from loadstone.model.records.check import Check, CheckId, Weight

SOURCE = "our own, docs/consolidation.md"


def check_ledger(audit: Audit) -> Iterator[Check]:
    """Whether the database holds everything once; those in doubt may be there or not."""
    detail = f"{audit.acknowledged} acknowledged, {audit.in_doubt} in doubt"
    name, fail = audit.what.replace("_", " "), Weight.FAIL
    title = f"{name} stored"
    yield check_at_least(CheckId.AUDIT_HELD, audit.held, audit.acknowledged, "", fail, SOURCE, detail, title)
    beyond, title = audit.held - audit.acknowledged, f"{name} stored beyond those acknowledged"
    yield check_at_most(CheckId.AUDIT_BEYOND, beyond, audit.in_doubt, "", fail, SOURCE, detail, title)
    if not audit.in_doubt:
        differs, title = int(audit.held_sum != audit.acknowledged_sum), f"differing checksums of all {name}"
        yield check_at_most(CheckId.AUDIT_HASHES, differs, 0, "", fail, SOURCE, "sum of the hashes of their ids", title)
    broken = len(audit.broken_rules)
    yield check_at_most(CheckId.DATABASE_RULES, broken, 0, "rules", fail, SOURCE, "; ".join(audit.broken_rules))
