"""What `compare` answers: at loads, at peaks, or of two platforms. Pure."""

from collections.abc import Sequence

from loadstone.study.kind import IndexPair
from loadstone.study.kinds.compare.loads.answer import CompareAnswer
from loadstone.study.kinds.compare.peaks.answer import PeaksAnswer
from loadstone.study.kinds.compare.platforms import answer as platforms_answer
from loadstone.study.kinds.compare.platforms.answer import PlatformsAnswer

AnyAnswer = CompareAnswer | PeaksAnswer | PlatformsAnswer


def compute_indices(answers: Sequence[AnyAnswer]) -> IndexPair | None:
    """The web index of both platforms."""
    return platforms_answer.compute_indices([answer for answer in answers if isinstance(answer, PlatformsAnswer)])
