"""Fields that say who a user is: recorded once, they are the same for all sessions. Pure."""

import re
from collections.abc import Iterator, Sequence

from loadstone.workloads.importers.correlated import Correlation
from loadstone.workloads.importers.steps import Leaf, Step

ACCOUNT = re.compile(
    r"user|login|log$|email|e_mail|mail$|account|member|customer|phone|name$|identifier|^id$|uid", re.IGNORECASE
)
"""Names of fields that stand beside a password."""
LONGEST_SHOWN = 40


def describe_accounts(steps: Sequence[Step], correlation: Correlation) -> Iterator[str]:
    """Fields beside a password that are sent as recorded, for people, with the way to give each session its own."""
    seen: set[tuple[str, Leaf]] = set()
    for step in steps:
        texts = {leaf: correlation.fill_leaf(step.operation, leaf) for leaf in step.leaves}
        secrets = {f"{{{value}}}" for value in correlation.passwords.values()}
        if secrets.isdisjoint(text for text in texts.values() if text):
            continue
        for leaf, text in step.leaves.items():
            is_account = texts[leaf] is None and leaf.kind not in ("path", "header") and ACCOUNT.search(leaf.name)
            if is_account and text and (step.operation, leaf) not in seen:
                seen.add((step.operation, leaf))
                yield _advice(step.operation, leaf, text)


def _advice(operation: str, leaf: Leaf, text: str) -> str:
    shown = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
    column = re.sub(r"[^a-z0-9]+", "_", leaf.name.lower()).strip("_") or "user"
    table = '[values] account = { kind = "table", file = "accounts.csv", own = true, redraw = "session" }'
    return (
        f"{leaf} of {operation} is `{shown}` for all sessions: one account. For several, write them to accounts.csv"
        f" (first line: {column},password), add {table}, and send {{account.{column}}} and {{account.password}}"
    )
