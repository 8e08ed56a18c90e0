"""A printed table of tiles becomes a result for each system, which says what was printed and what was not."""

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest

from loadstone.judge.systems import score_result
from loadstone.model.errors import StudyError
from loadstone.model.records.check import CheckId, Outcome
from loadstone.model.records.verdict import Verdict
from loadstone.report.build import Format, render
from loadstone.run.judging import judge
from loadstone.run.tiles.published import import_tiles
from loadstone.run.tiles.table import is_tile_table
from loadstone.store.folder import SealState, seal_of
from loadstone.store.read import read_result
from tests.places import DATA

BOARD = DATA / "consolidation_tiles.csv"
"""The twelve tiles of one published disclosure, as printed."""


def write(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    with path.open("w", newline="") as text:
        writer = csv.DictWriter(text, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def board() -> list[dict[str, str]]:
    with BOARD.open(newline="") as text:
        return list(csv.DictReader(text))


def check_of(path: Path, name: CheckId) -> Outcome:
    verdict = read_result(path).verdict
    assert verdict is not None and verdict.consolidation is not None
    return next(check for check in verdict.consolidation.checks if check.id is name).outcome


def test_the_published_board_has_its_printed_score_and_all_its_audits_hold(tmp_path: Path) -> None:
    (path,) = import_tiles(BOARD, tmp_path, "board")
    result = read_result(path)
    assert result.verdict is not None and result.verdict.consolidation is not None
    assert (result.verdict.consolidation.score, result.verdict.consolidation.qos_pct) == (1169.0, 99.54)
    assert result.verdict.whole is Verdict.PASS
    assert [tile.score for tile in result.verdict.consolidation.tiles][:2] == [97.71, 97.13]
    score = score_result("board", result)
    assert (score.verdict, len(score.audits), score.broken_audits) == (None, 12 * 14, ())
    assert score.score_error is not None and score.size == "72 machines"
    assert seal_of(path).state is SealState.INTACT
    assert judge(path).whole is Verdict.PASS, "judged anew, its figures are still those that were printed"


def test_two_boards_in_one_table_become_two_results(tmp_path: Path) -> None:
    rows = board()
    others = [{**row, "board": "second"} for row in rows[:2]]
    paths = import_tiles(write(tmp_path / "boards.csv", rows + others), tmp_path, "boards")
    scores = [score_result(path.name, read_result(path)) for path in paths]
    assert [score.size for score in scores] == ["72 machines", "12 machines"]
    assert [score.score for score in scores] == [1169.0, 194.84]
    assert [read_result(path).manifest.name for path in paths] == ["boards-x3650M3", "boards-second"]


@pytest.mark.parametrize(
    ("column", "text", "rule", "verdict"),
    [
        ("web_good", "384000", CheckId.PRINTED_FIGURES, Verdict.INVALID),
        ("dealer_p90_2", "2.10", CheckId.PRINTED_TIMES, Verdict.FAIL),
        ("mfg_p90", "5.25", CheckId.PRINTED_TIMES, Verdict.FAIL),
        ("web_valerr", "3", CheckId.VALIDATION_ERRORS, Verdict.FAIL),
    ],
)
def test_what_a_table_contradicts_or_misses_breaks_a_rule(
    tmp_path: Path, column: str, text: str, rule: CheckId, verdict: Verdict
) -> None:
    rows = board()
    rows[0][column] = text
    (path,) = import_tiles(write(tmp_path / "changed.csv", rows), tmp_path, "changed")
    result = read_result(path)
    assert result.verdict is not None and result.verdict.whole is verdict
    assert check_of(path, rule) is Outcome.BROKEN


def test_what_was_not_printed_is_not_judged_and_is_not_shown_as_nothing(tmp_path: Path) -> None:
    needed = ("tile", "app", "web", "mail", "qos_app", "qos_web", "qos_mail", "qos_idle", "append_fail")
    rows = [{name: row[name] for name in needed} for row in board()]
    (path,) = import_tiles(write(tmp_path / "short.csv", rows), tmp_path, "short")
    for rule in (CheckId.PRINTED_FIGURES, CheckId.PRINTED_TIMES, CheckId.VALIDATION_ERRORS):
        assert check_of(path, rule) is Outcome.NOT_JUDGED
    text = render(read_result(path), Format.MARKDOWN, seal_of(path))
    mail = next(line for line in text.partition("### Mail")[2].splitlines() if line.startswith("| 1 "))
    assert [cell.strip() for cell in mail.strip("|").split("|")][:6] == [
        "1",
        *["not disclosed"] * 3,
        "0",
        "not disclosed",
    ]


def test_the_report_has_the_tables_that_were_printed_and_their_audits(tmp_path: Path) -> None:
    (path,) = import_tiles(BOARD, tmp_path, "board")
    text = render(read_result(path), Format.HTML, seal_of(path))
    for part in ("1169 @ 72 machines", "Tile by tile, as printed", "validation errors", "required p90, s", "384660"):
        assert part in text
    assert "board: 168 of 168 printed figures follow from others." in text
    assert "Decision:" not in text


def test_a_table_of_tiles_is_known_by_its_columns() -> None:
    assert is_tile_table(BOARD)
    assert not is_tile_table(DATA / "published_iterations.csv")


HOST_USER, WEB_IDLE = "monitors of host: CPU user, %", "monitors of web: CPU idle, %"


def test_monitors_of_tiles_are_shown_and_what_is_missing_is_not_disclosed(tmp_path: Path) -> None:
    rows = [{**row, HOST_USER: "55.5", WEB_IDLE: ""} for row in board()[:2]]
    rows[1][WEB_IDLE] = "0"
    (path,) = import_tiles(write(tmp_path / "monitors.csv", rows), tmp_path, "monitors")
    result = read_result(path)
    assert [len(entry.monitors) for entry in result.manifest.tiles] == [1, 2]
    text = render(result, Format.MARKDOWN, seal_of(path))
    table = text.partition("### Monitors")[2]
    assert "| tile | host: CPU user, % | web: CPU idle, % |" in table
    assert "| 1 | 55.5 | not disclosed |" in table and "| 2 | 55.5 | 0 |" in table
    assert "monitors of host" not in table.partition("| tile |")[2], "only their table has them"


def test_monitors_of_tiles_that_were_not_printed_are_not_disclosed(tmp_path: Path) -> None:
    (path,) = import_tiles(BOARD, tmp_path, "board")
    assert "Figures of monitors: not disclosed." in render(read_result(path), Format.MARKDOWN, seal_of(path))


def test_monitors_of_tiles_that_contradict_each_other_are_noted(tmp_path: Path) -> None:
    names = ("user", "system", "idle", "wait")
    rows = [{**row, **{f"monitors of web: CPU {name}, %": "20" for name in names}} for row in board()[:2]]
    (path,) = import_tiles(write(tmp_path / "monitors.csv", rows), tmp_path, "monitors")
    assert check_of(path, CheckId.PRINTED_MONITORS) is Outcome.BROKEN
    verdict = read_result(path).verdict
    assert verdict is not None and verdict.whole is Verdict.PASS


def replace_line(text: str, number: int, change: tuple[str, str]) -> str:
    lines = text.splitlines()
    assert change[0] in lines[number - 1]
    lines[number - 1] = lines[number - 1].replace(*change, 1)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("line", "change", "message"),
    [
        (2, ("384660", '"384,660"'), ":2: web_good: `384,660` has a comma or another separator. Write digits"),
        (2, ("384660", "384,660"), ":2: there are 48 values, and 47 columns .* Put values with a comma in quotes"),
        (3, (",124", ""), ":3: there are 46 values, and 47 columns in the heading. Add empty cells, or"),
        (2, ("384660", "-384660"), ":2: web_good: `-384660` is not between 0 and"),
        (2, ("384660", "384660.5"), ":2: web_good: `384660.5` is not a whole number"),
        (2, ("384660", "NaN"), ":2: web_good: `NaN` is not between 0 and"),
        (2, ("2/2/2", "2/2/x"), ":2: dealer_req90: `x` is not a number"),
        (2, ("33.47", ""), ":2: app: the cell is empty. Write the printed figure"),
        (2, ("33.47", "inf"), ":2: app: `inf` is not between 0 and"),
        (1, ("web_tol", "web_good"), ":1: web_good: 2 columns have this name. Rename or remove all but one"),
        (1, ("hb_max", '"monitors of web: CPU usr, %"'), ":1: monitors of web: CPU usr, %: `CPU usr` is not a known"),
        (1, ("hb_max", "monitors of wbe: processors"), ":1: .*`wbe` is not a machine of a tile. Known machines: host,"),
        (1, ("hb_max", "monitors"), ":1: monitors: `monitors` does not name a machine"),
        (1, ("hb_max", '"monitors of web: CPU, %"'), ":2: monitors of web: CPU, %: `901` is more than 100 %"),
        (1, ("hb_max", '"monitors of host: interrupts, 1/s"'), ":3: monitors of host: `124` is `901` in another tile"),
    ],
)
def test_cells_and_columns_that_cannot_be_right_are_refused(
    tmp_path: Path, line: int, change: tuple[str, str], message: str
) -> None:
    text = "\n".join(BOARD.read_text().splitlines()[:3])
    (tmp_path / "table.csv").write_text(replace_line(text, line, change))
    with pytest.raises(StudyError, match=message):
        import_tiles(tmp_path / "table.csv", tmp_path, "table")


def test_a_table_as_a_spreadsheet_saves_it_is_the_same_table(tmp_path: Path) -> None:
    text = BOARD.read_text().replace("\n", "\r\n").replace("web_good", '"web_good"', 1)
    (tmp_path / "saved.csv").write_bytes(text.encode("utf-8-sig"))
    assert is_tile_table(tmp_path / "saved.csv")
    (path,) = import_tiles(tmp_path / "saved.csv", tmp_path, "saved")
    (plain,) = import_tiles(BOARD, tmp_path, "plain")
    assert read_result(path).manifest.tiles == read_result(plain).manifest.tiles


def test_columns_that_are_not_known_are_named_with_those_that_they_resemble(tmp_path: Path) -> None:
    text = replace_line(BOARD.read_text(), 1, ("web_valerr", "web_valer")).replace("hb_max", "numa")
    (tmp_path / "table.csv").write_text(text)
    (path,) = import_tiles(tmp_path / "table.csv", tmp_path, "table")
    (notice,) = read_result(path).manifest.notices
    assert notice.endswith("no table shows them: `web_valer` (did you mean `web_valerr`?), `numa`.")
    assert read_result(path).manifest.tiles[0].printed["numa"] == "901"
    (plain,) = import_tiles(BOARD, tmp_path, "plain")
    assert read_result(plain).manifest.notices == ()
