"""`compare`: A against B, at one load, over a curve, at their peaks, or on two platforms. Pure."""

from loadstone.study.kind import StudyKind
from loadstone.study.kinds.compare.answer import AnyAnswer, compute_indices
from loadstone.study.kinds.compare.page import render_blocks, show_overview
from loadstone.study.kinds.compare.question import describe_promise, make
from loadstone.study.kinds.compare.section import CompareSection

KIND: StudyKind[CompareSection, AnyAnswer] = StudyKind(
    name="compare",
    question="Is there a difference between A and B, and what does one cost against the other?",
    help="""Compare two settings in alternating runs: whether and by how much they differ, and what is excluded.

    Exit code 1 if B is worse than A.

    [bold]loadstone compare support --sessions 50 --a server.threads=1 --b server.threads=2[/]
    [bold]loadstone compare support --platform process,vm[/]: peaks, response times and curves of two platforms.
    """,
    section=CompareSection,
    answer=AnyAnswer,  # type: ignore[arg-type]
    make=make,
    blocks=render_blocks,
    overview=show_overview,
    indices=compute_indices,
    promise=describe_promise,
    rank=4,
)
