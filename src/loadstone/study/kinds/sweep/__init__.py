"""`sweep`: one or more parameters over given points. Pure."""

from loadstone.study.kind import StudyKind
from loadstone.study.kinds.sweep.answer import SweepAnswer
from loadstone.study.kinds.sweep.page import render_blocks
from loadstone.study.kinds.sweep.question import make
from loadstone.study.kinds.sweep.section import SweepSection

KIND = StudyKind(
    name="sweep",
    question="How do the figures move with what was varied?",
    help="""Vary one or more parameters over given points, in every combination.

    [bold]loadstone sweep support --over sessions=50,100,200,400[/] measures the response time curve;
    [bold]loadstone sweep static --sessions 64 --over server.cores=1,2[/] shows how throughput grows with cores.
    """,
    section=SweepSection,
    answer=SweepAnswer,
    make=make,
    blocks=render_blocks,
    rank=3,
)
