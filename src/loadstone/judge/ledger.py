"""The audit: what drivers were told is kept, against what the database holds. Pure.

Both sides sum the hashes of all ids (FNV-1a, 64 bits): one lost, doubled or strange id changes the sum.
"""

from collections.abc import Iterator

from loadstone.judge.check import Check, Weight, at_least, at_most
from loadstone.model.figures import Audit

SOURCE = "our own, docs/consolidation.md"


def checks(audit: Audit) -> Iterator[Check]:
    """Whether the database holds everything once; those in doubt may be there or not."""
    detail = f"{audit.acknowledged} acknowledged, {audit.in_doubt} in doubt"
    name = audit.what.replace("_", " ")
    yield at_least(f"{name} held", audit.held, audit.acknowledged, "", Weight.FAIL, SOURCE, detail)
    beyond = audit.held - audit.acknowledged
    yield at_most(f"{name} held beyond those acknowledged", beyond, audit.in_doubt, "", Weight.FAIL, SOURCE, detail)
    if not audit.in_doubt:
        differs = audit.held_sum != audit.acknowledged_sum
        yield at_most(
            f"sums of all {name} that differ", int(differs), 0, "", Weight.FAIL, SOURCE, "hashes of their ids"
        )
    broken = len(audit.broken_rules)
    yield at_most("database rules broken", broken, 0, "rules", Weight.FAIL, SOURCE, "; ".join(audit.broken_rules))
