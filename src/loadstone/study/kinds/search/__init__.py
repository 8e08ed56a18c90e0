"""`search`: the largest load that passes every rule. Pure."""

from loadstone.study.kind import StudyKind
from loadstone.study.kinds.search.answer import compute_index
from loadstone.study.kinds.search.page import render_blocks
from loadstone.study.kinds.search.question import make
from loadstone.study.kinds.search.section import SearchSection
from loadstone.study.search.answer import SearchAnswer

KIND = StudyKind(
    name="search",
    question="What is the largest load that passes every rule?",
    help="""Find the largest load that passes every rule, and verify it with new runs.

    [bold]loadstone search support --profile quick[/] finds the peak of the reference server;
    [bold]loadstone search static --load rate --station workers=4,service=0.004 --virtual[/] that of a modelled one.
    """,
    section=SearchSection,
    answer=SearchAnswer,
    make=make,
    blocks=render_blocks,
    instead_of_load="Use --start for the first load.",
    index=compute_index,
    rank=2,
)
