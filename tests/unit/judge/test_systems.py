"""Scores of several systems: tables of several boards, audits of what they print, and ratios."""

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from loadstone.judge.consolidation import CLASSIC
from loadstone.judge.systems import SystemScore, rank_systems, score_printed
from loadstone.model.errors import StudyError
from loadstone.model.records.verdict import Verdict
from loadstone.run.tiles.table import read_systems
from tests.places import DATA

BOARD = DATA / "consolidation_tiles.csv"
HEADING = "app,web,mail,qos_app,qos_web,qos_mail,qos_idle"


def changed(tmp_path: Path, tile: str, **cells: str) -> Path:
    """Returns a copy of the published board with some cells of a tile replaced."""
    with BOARD.open(newline="") as text:
        rows = list(csv.DictReader(text))
    next(row for row in rows if row["tile"] == tile).update(cells)
    path = tmp_path / "changed.csv"
    with path.open("w", newline="") as text:
        writer = csv.DictWriter(text, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def score_table(path: Path) -> list[SystemScore]:
    return [score_printed(name, tiles, CLASSIC) for name, tiles in read_systems(path).items()]


def test_every_audited_figure_of_the_published_board_follows_from_the_others() -> None:
    (system,) = score_table(BOARD)
    assert (system.name, system.score, system.qos_pct) == ("x3650M3", 1169.0, 99.54)
    assert (len(system.audits), system.broken_audits) == (12 * 14, ())


@pytest.mark.parametrize(
    ("column", "printed", "computed"),
    [
        ("dealer_rps", "20.22", None),
        ("web_good", "385660", None),
        ("append_total", "102734", "102733"),
        ("fetch_pct", "99.00", "100"),
        ("qos_mail", "0.99", "1"),
        ("hb_total", "600", "719"),
        ("per_tile", "97.72", None),
        ("qos_tile", "0.97", "1"),
    ],
)
def test_a_printed_figure_that_contradicts_the_others_is_named(
    tmp_path: Path, column: str, printed: str, computed: str | None
) -> None:
    (system,) = score_table(changed(tmp_path, "1", **{column: printed}))
    broken = system.broken_audits
    assert broken
    assert {audit.tile for audit in broken} == {1}
    assert any(column in {audit.relation.column, *audit.relation.others} for audit in broken)
    if computed is not None:
        assert Decimal(computed) in {audit.computed for audit in broken}


def test_figures_that_a_row_does_not_print_are_not_audited(tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text(f"{HEADING},per_tile,qos_tile,mfg_rps\n33.47,53.61,88.26,1,1,1,1,97.71,1,n/a\n")
    (system,) = score_table(path)
    assert [audit.relation.column for audit in system.audits] == ["per_tile", "qos_tile"]


@pytest.mark.parametrize("column", ["system", "board"])
def test_the_systems_of_a_table_are_never_summed(tmp_path: Path, column: str) -> None:
    path = tmp_path / "two.csv"
    path.write_text(f"{column},tile,{HEADING}\nA,1,33.47,53.61,88.26,1,1,1,1\nB,1,33.45,52.81,88.08,.97,.99,1,1\n")
    assert [(system.name, system.score, system.size) for system in score_table(path)] == [
        ("A", 97.71, "6 machines"),
        ("B", 97.13, "6 machines"),
    ]


@pytest.mark.parametrize(
    ("heading", "row", "problem"),
    [
        ("tile,", "1,", "tile 1 occurs twice in `two`"),
        ("board,tile,", "A,1,", "tile 1 occurs twice in `A`"),
        ("system,", ",", "system: is empty"),
    ],
)
def test_a_table_that_may_mix_systems_is_refused(tmp_path: Path, heading: str, row: str, problem: str) -> None:
    path = tmp_path / "two.csv"
    path.write_text(f"{heading}{HEADING}\n" + f"{row}33.47,53.61,88.26,1,1,1,1\n" * 2)
    with pytest.raises(StudyError, match=problem):
        read_systems(path)


def make_system(name: str, score: float, kind: str = "index", **facts: object) -> SystemScore:
    return SystemScore(name, kind, score, "6 machines", **facts)  # type: ignore[arg-type]


def test_a_ratio_sets_each_system_beside_the_first_of_its_kind() -> None:
    systems = [make_system("a", 1940.4), make_system("t", 97.7, "tiles"), make_system("b", 2321.2)]
    rows = list(rank_systems(systems))
    assert [row.system.name for row in rows] == ["a", "b", "t"]
    assert [row.ratio for row in rows] == [None, pytest.approx(1.19625, abs=1e-5), None]


def test_a_ratio_has_the_scatter_of_both_scores() -> None:
    rows = list(rank_systems([make_system("a", 100, score_error=3), make_system("b", 200, score_error=8)]))
    assert (rows[1].ratio, rows[1].ratio_error) == (2.0, pytest.approx(2 * 0.05))


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.INVALID])
def test_a_run_that_did_not_pass_has_no_ratio(verdict: Verdict) -> None:
    systems = [make_system("a", 100), make_system("b", 200, verdict=verdict), make_system("c", 50)]
    assert [row.ratio for row in rank_systems(systems)] == [None, None, 0.5]
