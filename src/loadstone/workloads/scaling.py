"""How much data a workload wants for so many sessions."""

import math
from collections.abc import Mapping

from loadstone.model.workload import Rows, Workload


def compute_rows(workload: Workload, sessions: int) -> dict[str, int]:
    """Returns rows by kind, for a number of sessions: the fixed numbers of [scale], then those of [data]."""
    counts = {name: int(count) for name, count in workload.scale.items()}
    for name, law in workload.data.items():
        counts[name] = _rows(law, sessions, counts)
    return counts


def _rows(law: Rows, sessions: int, counts: Mapping[str, int]) -> int:
    if law.per_session is not None:
        return max(1, round(law.per_session * max(sessions, law.least_sessions)))
    count = counts[law.of or ""]
    if law.times is not None:
        return max(1, round(law.times * count))
    decayed = math.exp(-count / (law.scale or 1))
    return max(1, round((law.most or 0) * (1 - decayed) / (1 + decayed)))
