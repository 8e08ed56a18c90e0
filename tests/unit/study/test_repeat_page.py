"""How a series is shown: valid runs under their numbers, and no time below 0."""

import pytest

from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Gallery, Table
from loadstone.page.plot import Plot
from loadstone.study.kinds.repeat.page import render_blocks
from loadstone.study.kinds.repeat.question import Repeat
from tests.made import carry_out, made

VERDICTS = ("pass", "invalid", "pass", "invalid", "fail")
MEANS_S = (0.1, 9.0, 0.2, 9.0, 5.0)


def test_the_plot_of_a_series_keeps_the_numbers_of_its_valid_runs() -> None:
    answer, runs = carry_out(
        Repeat("page", {}, 5),
        lambda request: made(request, VERDICTS[request.seed], response_mean=MEANS_S[request.seed]),
    )
    gallery, table, _ = render_blocks(answer, StudiedWorkload("page", "Page"), runs)
    assert isinstance(gallery, Gallery) and isinstance(table, Table)
    (plot,) = [figure.plot for figure in gallery.figures if figure.title == "Mean response time"]
    assert isinstance(plot, Plot)
    assert [(row["x"], row["y"]) for row in plot.points] == [(1, 0.1), (3, 0.2), (5, 5.0)]
    assert [(band["x"], band["low"]) for band in plot.bands] == [(1, 0.0), (5, 0.0)]
    assert answer.metrics["response_mean"].low == pytest.approx(-5.19, abs=0.01)
    (row,) = [row for row in table.rows if row.cells[0] == "response mean"]
    assert str(row.cells[2]).startswith("0 to ")
