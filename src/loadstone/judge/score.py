"""The web index: one number for the three web sites together. It has its own name and is not a SPEC result."""

from collections.abc import Mapping

REFERENCE = {"banking": 120, "shopping": 114, "support": 162}
"""Reference sessions (docs/web-workloads.md, Index)."""

WEB_INDEX_NAME = "Loadstone web index"
DISCLAIMER = "This is not a SPEC result and must not be compared with published SPEC scores."


def compute_web_index(sessions: Mapping[str, int]) -> float | None:
    """100 x the cube root of (B/120 x S/114 x P/162); None unless all three loads are given."""
    if not all(sessions.get(name) for name in REFERENCE):
        return None
    product = 1.0
    for name, reference in REFERENCE.items():
        product *= sessions[name] / reference
    return float(100 * product ** (1 / 3))
