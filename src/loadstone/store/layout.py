"""The documents of a result's or a study's folder, and whether whoever made it is still at work."""

from pathlib import Path

from loadstone.host import locks
from loadstone.model.records.status import Status

MANIFEST = "manifest.json"
SEAL = "seal.json"
VERDICT = "verdict.json"
"""What was judged when the run was made; sealed with what was measured."""
REJUDGED = "rejudged.json"
"""A later judgement of the same figures."""
STUDY = "study.json"
ANSWER = "answer.json"
RUNS = "runs"
LOGS = "logs"


def find_status(path: Path, written: Status) -> Status:
    """The status of a folder as it stands now, by the one in its manifest."""
    return Status.INTERRUPTED if written is Status.RUNNING and not locks.is_held(path) else written
