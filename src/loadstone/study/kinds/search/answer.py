"""`search`: figures over the answers of all workloads. Pure."""

from collections.abc import Sequence

from loadstone.judge.score import compute_web_index
from loadstone.study.search.answer import SearchAnswer


def compute_index(answers: Sequence[SearchAnswer]) -> float | None:
    """The web index of the peaks, where they are numbers of sessions."""
    return compute_web_index(
        {answer.workload: round(answer.peak) for answer in answers if answer.peak and answer.load == "sessions"}
    )
