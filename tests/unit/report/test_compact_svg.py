"""A picture takes fewer bytes and looks the same."""

from loadstone.page.plot import CrowdPlot
from loadstone.report.charts import SHADES, draw
from loadstone.report.compact_svg import compact


def cell(x: str, color: str) -> str:
    return f'<path d="M{x},2h4v4h-4Z" fill="{color}"/>'


def test_coordinates_are_rounded_and_other_numbers_are_not() -> None:
    line = '<path d="M3.14159,-2.0001L1e-7,10.500" stroke-width="1.23456"/><text>0.12345</text>'
    shorter = '<path d="M3.1,-2L1e-7,10.5" stroke-width="1.23456"/><text>0.12345</text>'
    assert compact(line) == shorter
    assert compact(line.replace("1e-7", "1.5e-7")) == shorter.replace("1e-7", "0")


def test_filled_shapes_next_to_each_other_are_one_path_for_each_color() -> None:
    cells = cell("1", "red") + cell("2", "blue") + cell("3", "red")
    red = '<path d="M1,2h4v4h-4ZM3,2h4v4h-4Z" fill="red" shape-rendering="crispEdges"/>'
    blue = cell("2", "blue").replace("/>", ' shape-rendering="crispEdges"/>')
    assert compact(f"<g>{cells}</g>") == f"<g>{red}{blue}</g>"
    assert compact(f"{cell('1', 'red')}<g>{cell('2', 'red')}</g>") == f"{cell('1', 'red')}<g>{cell('2', 'red')}</g>"


def test_a_crowd_is_a_path_for_each_shade() -> None:
    rows = [
        {"from": column, "to": column + 1, "low": 10.0**row, "high": 10.0 ** (row + 0.2), "value": 1 + column * row}
        for column in range(120)
        for row in range(5)
    ]
    picture = draw(CrowdPlot(rows, []))
    assert picture.count("Z") >= 600, "every cell is drawn"
    assert 2 <= picture.count("<path") - draw(CrowdPlot(rows[:1], [])).count("<path") + 1 <= SHADES + 1
    assert len(picture) < 40_000
