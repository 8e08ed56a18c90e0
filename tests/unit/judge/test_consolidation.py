"""The consolidation score against published tiles, to the last digit."""

import csv
import math
import random
import statistics
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.judge.consolidation import CLASSIC, Maxima, TileFigures, estimate_scatter, format_plain, score_tiles
from loadstone.judge.placement import collect_figures, compare_groups, group_by_parity, select_worse_groups
from loadstone.judge.tiles import StoredTile
from loadstone.model.errors import StudyError, UsageError
from loadstone.run.tiles.spec import compute_maxima, find_tile
from loadstone.run.tiles.table import read_systems
from tests.places import DATA

BOARD = DATA / "consolidation_tiles.csv"
HEADING = "app,web,mail,qos_app,qos_web,qos_mail,qos_idle\n"


def read_tiles(file: Path) -> list[StoredTile]:
    """Returns the tiles of a table of one system."""
    (tiles,) = read_systems(file).values()
    return tiles


def board() -> list[dict[str, str]]:
    with BOARD.open(newline="") as text:
        return list(csv.DictReader(text))


def test_all_published_tiles_are_exact() -> None:
    scored = score_tiles([row.tile for row in read_tiles(BOARD)])
    for tile, row in zip(scored.tiles, board(), strict=True):
        assert (tile.shown, tile.shown_qos) == (Decimal(row["per_tile"]), Decimal(row["qos_tile"])), row["tile"]
    assert (format_plain(scored.score), scored.qos_pct, scored.headline) == (
        "1169",
        Decimal("99.54"),
        "1169 @ 72 machines",
    )
    assert scored.least_qos_pct == Decimal("98.75")


def test_published_quality_of_the_web_is_its_share_of_good_pages() -> None:
    for row in board():
        good, others = int(row["web_good"]), int(row["web_tol"]) + int(row["web_fail"])
        tile = TileFigures.from_figures(
            {"app": 0, "web": 0, "mail": 0}, {"app": 1, "web": good / (good + others), "mail": 1, "idle": 1}
        )
        assert tile.qos_web == Decimal(row["qos_web"]), row["tile"]


def test_rates_are_rounded_before_they_are_divided_and_scores_are_not_before_they_are_summed() -> None:
    exact = TileFigures.from_figures(
        {"app": 33.405, "web": 53.604999, "mail": 88.26}, {"app": 1, "web": 1, "mail": 1, "idle": 0.995}
    )
    assert (exact.app, exact.web, exact.qos_idle) == (Decimal("33.41"), Decimal("53.60"), Decimal("1.00"))
    third = Maxima.from_scores(3, 3, 3)
    tiles = [
        TileFigures.from_figures({"app": 1, "web": 1, "mail": 1.01}, {"app": 1, "web": 1, "mail": 1, "idle": 1})
    ] * 3
    scored = score_tiles(tiles, third)
    assert [tile.shown for tile in scored.tiles] == [Decimal("33.44")] * 3
    assert scored.score == Decimal("100.33")  # three times 33.444 is more than three times what is shown


def test_half_a_cent_goes_up() -> None:
    tile = TileFigures.from_figures({"app": 1, "web": 1, "mail": 1}, {"app": 0.98, "web": 1, "mail": 1, "idle": 1})
    assert score_tiles([tile], Maxima.from_scores(1, 1, 1)).tiles[0].shown_qos == Decimal("1.00")  # 0.995


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_quality_lies_between_its_worst_and_its_best_part(shares: list[float]) -> None:
    tile = TileFigures.from_figures(
        {"app": 0, "web": 0, "mail": 0}, dict(zip(("app", "web", "mail", "idle"), shares, strict=True))
    )
    qos = score_tiles([tile]).tiles[0].qos
    assert min(tile.qualities) <= qos <= max(tile.qualities)


def test_the_classic_tile_has_the_fitted_maxima_and_the_laptop_those_of_its_loads() -> None:
    assert compute_maxima(find_tile("classic")) == CLASSIC
    laptop = compute_maxima(find_tile("laptop"))
    # 100 sessions with 93.24 % of the pages after 10 s, 100 users with 96 % of the commands after 5.795 s.
    assert (laptop.app, laptop.web, laptop.mail) == (Decimal("17.45"), Decimal("10.72"), Decimal("17.98"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column app"),
        (HEADING, "no tile"),
        ("app,web\n1,2\n", "no column mail, qos_app"),
        (HEADING + "1,2,x,1,1,1,1\n", r":2: mail: `x` is not a number"),
        (HEADING + "1,2,3,1,1.2,1,1\n", r":2: qos_web: `1.2` is not a share"),
        (HEADING + "1,2,3,1,1,1,1\n1,2,nan,1,1,1\n", r":3: mail: `nan`"),
        (HEADING + "-1,2,3,1,1,1,1\n", r"app: `-1`"),
    ],
)
def test_a_bad_table_is_refused_with_place_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "tiles.csv"
    file.write_text(text)
    with pytest.raises((UsageError, StudyError), match=said):
        read_tiles(file)


def test_columns_may_stand_in_any_order_with_others_between_them(tmp_path: Path) -> None:
    file = tmp_path / "tiles.csv"
    file.write_text("﻿qos_idle, pct_load ,mail,web,app,host,qos_mail,qos_web,qos_app\n1,50,44.1,26.8,16.7,a,1,1,1\n")
    (row,) = read_tiles(file)
    assert (row.number, row.pct_load, float(row.tile.app), row.groups["host"]) == (1, 50.0, 16.7, "a")


def test_even_tiles_of_the_published_board_did_worse() -> None:
    rows = read_tiles(BOARD)
    tiles = [row.tile for row in rows]
    found = compare_groups(group_by_parity([row.number for row in rows]), collect_figures(tiles, score_tiles(tiles)))
    worse = select_worse_groups(found)
    assert list(worse) == ["even"]
    assert {one.figure.name for one in worse["even"]} >= {"score", "web", "qos_web"}
    score = next(one for one in found if one.figure.name == "score" and one.group == "even")
    # The groups do not overlap: 2 of 924 ways to deal six of twelve tiles are as extreme; six figures vary.
    assert score.p == pytest.approx(6 * 2 / 924)


def test_groups_that_are_alike_are_not_named() -> None:
    rows = read_tiles(BOARD)
    tiles = [row.tile for row in rows]
    halves = ["a", "a", "b", "b"] * 3
    assert select_worse_groups(compare_groups(halves, collect_figures(tiles, score_tiles(tiles)))) == {}


def test_one_group_alone_cannot_be_tested() -> None:
    with pytest.raises(UsageError, match="nothing to compare"):
        compare_groups(["odd", "odd"], {"score": [1.0, 2.0]})


def test_scatter_is_that_of_counted_operations() -> None:
    """By simulation: three independent Poisson counts over a window."""
    chance = random.Random(1)
    seconds, most = 20.0, Maxima.from_scores(17, 11, 18)
    scores = []
    for _ in range(4000):
        rates = {
            name: chance.gauss(rate * seconds, math.sqrt(rate * seconds)) / seconds
            for name, rate in (("app", 17), ("web", 11), ("mail", 18))
        }
        scores.append(100 / 3 * (rates["app"] / 17 + rates["web"] / 11 + rates["mail"] / 18))
    tile = TileFigures.from_figures({"app": 17, "web": 11, "mail": 18}, {"app": 1, "web": 1, "mail": 1, "idle": 1})
    assert estimate_scatter([tile], most, seconds) == pytest.approx(statistics.stdev(scores), rel=0.05)
    assert estimate_scatter([tile] * 4, most, seconds) == pytest.approx(2 * estimate_scatter([tile], most, seconds))
