"""`predict`: from a few measured loads to throughput, response time and peak beyond them; then checked. Pure."""

from loadstone.study.kind import StudyKind
from loadstone.study.kinds.predict.answer import PredictAnswer
from loadstone.study.kinds.predict.page import render_blocks
from loadstone.study.kinds.predict.question import make
from loadstone.study.kinds.predict.section import PredictSection

KIND = StudyKind(
    name="predict",
    question="What do a few loads say of others?",
    help="""Predict throughput, response time and peak at other loads from a few measured loads, with intervals.

    [bold]loadstone predict support --at 20,40,60 --check 120[/]

    [bold]loadstone predict support --at 20,40,60 --check 120 --until "mean +-10%"[/]
    """,
    section=PredictSection,
    answer=PredictAnswer,
    make=make,
    blocks=render_blocks,
    instead_of_load="Use --at for the measured loads.",
    rank=5,
)
