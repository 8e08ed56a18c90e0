"""`failover`: what does a fault cost the users? The same run several times, a fault in each. Pure."""

from loadstone.study.kind import StudyKind
from loadstone.study.kinds.failover.answer import FailoverAnswer
from loadstone.study.kinds.failover.page import render_blocks
from loadstone.study.kinds.failover.question import make
from loadstone.study.kinds.failover.section import FailoverSection

KIND = StudyKind(
    name="failover",
    question="What does a fault cost the users?",
    help="""Inject a fault under load, and measure the outage seen by users, the losses and the recovery time.

    [bold]loadstone failover support --sessions 20 --platform pair --kill primary[/]

    [bold]loadstone failover support --sessions 20 --machine platform=vm,restart=true --kill primary --trials 5[/]
    """,
    section=FailoverSection,
    answer=FailoverAnswer,
    make=make,
    blocks=render_blocks,
    learns_from_invalid=True,
    rank=6,
)
