"""How a search of tiles is shown: score by load, and every load that was tried. Pure."""

from collections.abc import Iterator, Sequence

from loadstone.judge.score import DISCLAIMER
from loadstone.model.numbers import format_number
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Cell, Column, ColumnKind, Figure, Gallery, Paragraph, Row, Table, Tone
from loadstone.page.plot import Plot
from loadstone.study.kinds.tiles.answer import TilesAnswer, TileTrial, describe_tenths
from loadstone.study.summary import RunSummary
from loadstone.study.tenths import FULL

NOTE = (
    "A load holds when all its workloads pass and its score is above that of every smaller load that was tried. Full "
    "tiles are doubled until one does not hold and then closed in on; the last tile is closed in on in tenths. "
)


def render_blocks(answer: TilesAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """Score by load, and every load that was tried."""
    points = [{"x": trial.tenths / FULL, "y": trial.score, "verdict": trial.verdict.value} for trial in answer.tried]
    if points:
        plot = Plot("tiles", "score", points=points)
        yield Gallery([Figure("Score by load", "Each point is a run, colored by its verdict.", plot)])
    text = [Column("load", ColumnKind.TEXT), Column("verdict", ColumnKind.TEXT)]
    columns = [Column("run"), *text, Column("score"), Column("quality, %"), Column("reasons", ColumnKind.LONG)]
    yield Table(columns, [_row(place, trial) for place, trial in enumerate(answer.tried, start=1)])
    yield Paragraph(NOTE + DISCLAIMER, Tone.QUIET)


def _row(place: int, trial: TileTrial) -> Row:
    verdict = Cell(trial.verdict, Tone(trial.verdict.value))
    link = Cell(str(place), link=trial.folder)
    metrics = [format_number(trial.score, 2), format_number(trial.qos_pct, 2)]
    return Row([link, describe_tenths(trial.tenths), verdict, *metrics, "; ".join(trial.reasons)])
