"""`tiles`: how many tiles does a host hold? Full tiles are doubled until a limit breaks or the score stops rising, then
closed in on, then a fraction of one more is. Pure.
"""

from loadstone.study.kind import StudyKind
from loadstone.study.kinds.tiles.answer import TilesAnswer
from loadstone.study.kinds.tiles.page import render_blocks
from loadstone.study.kinds.tiles.question import make
from loadstone.study.kinds.tiles.section import TilesSection

KIND = StudyKind(
    name="tiles",
    question="How many tiles does the host hold?",
    help="",
    section=TilesSection,
    answer=TilesAnswer,
    make=make,
    blocks=render_blocks,
    rank=6,
)
