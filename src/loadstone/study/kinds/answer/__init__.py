"""`answer`: one workload on this host in several set-ups, with and without protection, in one table. Pure."""

from loadstone.study.kind import StudyKind
from loadstone.study.kinds.answer.answer import TableAnswer
from loadstone.study.kinds.answer.page import build_blocks
from loadstone.study.kinds.answer.question import make
from loadstone.study.kinds.answer.section import AnswerSection

KIND = StudyKind(
    name="answer",
    question="What does this host hold, natively, in containers, in virtual machines, and protected?",
    help="""Compare native, container, virtual machine, restart and pair for one workload, in one table.

    [bold]loadstone answer support[/] makes about 50 short runs. Each cell has a figure or a reason; the last sentence
    is for a decision.
    """,
    section=AnswerSection,
    answer=TableAnswer,
    make=make,
    blocks=build_blocks,
    instead_of_load="Use --start for the first load of each search.",
    learns_from_invalid=True,
    keeps_going=True,
    rank=1,
)
