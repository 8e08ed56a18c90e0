"""`peaks`: the largest load that passes, at every point of a sweep: scale-up against scale-out, virtual against native.
Pure.
"""

from loadstone.study.kind import StudyKind
from loadstone.study.kinds.peaks.answer import PeaksOverAnswer
from loadstone.study.kinds.peaks.page import render_blocks
from loadstone.study.kinds.peaks.question import make
from loadstone.study.kinds.peaks.section import PeaksSection

KIND = StudyKind(
    name="peaks",
    question="How does the largest load that passes grow?",
    help="""Find the largest load that passes every rule, at every point of a sweep.

    [bold]loadstone peaks bookstore --over machines=1x1,1x2,2x1 --over platform=process,container[/] searches six peaks
    in one study that resumes after an interruption.
    """,
    section=PeaksSection,
    answer=PeaksOverAnswer,
    make=make,
    blocks=render_blocks,
    instead_of_load="Use --start for the first load of each search.",
    rank=4,
)
