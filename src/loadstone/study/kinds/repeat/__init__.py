"""`repeat`: the same run n times. How far may its metrics be trusted, do they drift, does one stand out? Pure."""

from loadstone.study.baseline.valid_runs import LEAST_VALID, conclude_series
from loadstone.study.kind import StudyKind
from loadstone.study.kinds.repeat.answer import RepeatAnswer
from loadstone.study.kinds.repeat.page import render_blocks
from loadstone.study.kinds.repeat.question import make
from loadstone.study.kinds.repeat.section import RepeatSection

KIND = StudyKind(
    name="repeat",
    question="How far may the figures of one run be trusted?",
    help="""Repeat the same run: mean, spread and interval of every figure, drift, outliers.

    Exit code 0 if at least 4 runs are valid, enough for a baseline, and all of them pass. Exit code 1 if a valid run
    fails, 3 if fewer are valid.

    [bold]loadstone repeat support --sessions 50 --runs 5[/]
    [bold]loadstone repeat support --sessions 50 --until "p99 +-5%"[/] adds runs until that precision is reached.
    """,
    section=RepeatSection,
    answer=RepeatAnswer,
    make=make,
    blocks=render_blocks,
    runs_to_judge=LEAST_VALID,
    conclusion=conclude_series,
    rank=1,
)
