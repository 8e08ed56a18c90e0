"""`repeat`: the same run n times. How far may its metrics be trusted, do they drift, does one stand out? Pure."""

from loadstone.study.kind import StudyKind
from loadstone.study.kinds.repeat.answer import RepeatAnswer
from loadstone.study.kinds.repeat.page import blocks
from loadstone.study.kinds.repeat.question import make
from loadstone.study.kinds.repeat.section import RepeatSection

KIND = StudyKind(
    name="repeat",
    question="How far may the figures of one run be trusted?",
    help="""Repeat the same run: mean, spread and interval of every figure, drift, outliers.

    [bold]loadstone repeat support --sessions 50 --runs 5[/]
    [bold]loadstone repeat support --sessions 50 --until "p99 +-5%"[/] adds runs until that precision is reached.
    """,
    section=RepeatSection,
    answer=RepeatAnswer,
    make=make,
    blocks=blocks,
    is_judged_by_runs=True,
    rank=1,
)
