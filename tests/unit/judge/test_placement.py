"""A test of groups says what it could have found."""

import random

import pytest

from loadstone.judge.placement import COMPARED, LEVEL, POWER, findings, reach


def figures(tiles: int, off: float, seed: int) -> dict[str, list[float]]:
    """Seven figures of tiles whose even ones have a score lower by `off`; one per cent of scatter."""
    chance = random.Random(seed)
    made = {figure.name: [chance.gauss(100, 1) for _ in range(tiles)] for figure in COMPARED[1:]}
    score = [chance.gauss(100 - (off if at % 2 else 0), 1) for at in range(tiles)]
    return {COMPARED[0].name: score, **dict(list(made.items())[:6])}


def groups(tiles: int) -> list[str]:
    return ["even" if at % 2 else "odd" for at in range(tiles)]


@pytest.mark.parametrize(("tiles", "least"), [(4, 1.0), (6, 0.7), (8, 0.2), (10, 0.056)])
def test_few_tiles_can_show_nothing_and_that_is_said(tiles: int, least: float) -> None:
    found = reach(groups(tiles), figures(tiles, 50, 1))
    assert found.least_p == pytest.approx(least, rel=0.02)
    assert found.score_pct is None
    assert "cannot show any difference" in found.in_words
    assert all(one.p > LEVEL for one in findings(groups(tiles), figures(tiles, 50, 1)))


def test_a_difference_of_the_size_that_is_said_is_found_in_four_of_five_runs() -> None:
    said = reach(groups(16), figures(16, 0, 1)).score_pct
    assert said is not None and 1.0 < said < 3.5
    sizes = [reach(groups(16), figures(16, 0, seed)).score_pct or 0.0 for seed in range(50)]
    usual = sum(sizes) / len(sizes)
    found = 0
    for seed in range(40):
        tested = findings(groups(16), figures(16, usual, seed))
        found += any(one.is_worse and one.figure.name == "score" for one in tested)
    assert POWER - 0.2 <= found / 40 <= 1.0
