"""How a comparison is shown: what both sides were, and what was found. Pure."""

from collections.abc import Iterator, Sequence

from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Paragraph
from loadstone.study.kinds.compare.answer import AnyAnswer
from loadstone.study.kinds.compare.loads import page as loads_page
from loadstone.study.kinds.compare.loads.answer import CompareAnswer
from loadstone.study.kinds.compare.peaks import page as peaks_page
from loadstone.study.kinds.compare.peaks.answer import PeaksAnswer
from loadstone.study.kinds.compare.platforms import page as platforms_page
from loadstone.study.kinds.compare.platforms.answer import PlatformsAnswer
from loadstone.study.kinds.compare.platforms.overview import show_platforms
from loadstone.study.parameters import RunSettings
from loadstone.study.settings import write_settings
from loadstone.study.summary import RunSummary


def render_blocks(answer: AnyAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """Yields a description of both sides, then the findings."""
    yield Paragraph(f"A: {_settings(answer.a)}. B: {_settings(answer.b)}.")
    match answer:
        case CompareAnswer():
            yield from loads_page.render_blocks(answer)
        case PeaksAnswer():
            yield from peaks_page.render_blocks(answer)
        case PlatformsAnswer():
            yield from platforms_page.render_blocks(answer)


def show_overview(answers: Sequence[AnyAnswer]) -> Iterator[Block]:
    """Yields what is shown of all workloads together, where platforms were compared."""
    return show_platforms([answer for answer in answers if isinstance(answer, PlatformsAnswer)])


def _settings(settings: RunSettings) -> str:
    return write_settings(settings) or "settings as declared"
