"""Asking the application what it holds, before and after its load: what came between is what the drivers brought."""

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from loadstone.host.http import get
from loadstone.model.target import Target
from loadstone.store.folder import RunFolder
from loadstone.store.read import AUDIT, HASHES

Json = dict[str, Any]

PATH = "/audit"
TIMEOUT_S = 60.0
"""Longest time for an audit."""
NOTHING: Json = {"count": 0, "sum": "0"}


async def look(target: Target) -> Json | None:
    """What the application holds now; None when it does not answer."""
    if target.http is None:
        return None
    with contextlib.suppress(OSError, ValueError):
        found: Json = json.loads(await get(target.http, PATH, TIMEOUT_S))
        return found
    return None


def keep(folders: Mapping[str, RunFolder], before: Json | None, after: Json | None) -> None:
    """Writes what came between two looks into the folders of workloads, by what each is asked for."""
    if before is None or after is None:
        return
    broken = [f"not so: {rule['rule']} ({rule['broken']} times)" for rule in after["rules"] if rule["broken"]]
    for what, folder in folders.items():
        begin, end = before.get(what, NOTHING), after[what]
        total = (int(end["sum"], 16) - int(begin["sum"], 16)) % HASHES
        said = {"what": what, "count": end["count"] - begin["count"], "sum": f"{total:016x}", "broken_rules": broken}
        folder.write(AUDIT, said)
