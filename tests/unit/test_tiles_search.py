"""The search for the peak of tiles, against hosts whose capacity is known."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from loadstone.study.kinds.tiles import TilesPeak, TileTrial, words


def play(question: TilesPeak, run: Callable[[int], TileTrial]) -> list[TileTrial]:
    """Answers the question's runs until it wants no more; it must end."""
    tried: list[TileTrial] = []
    while (tenths := question.next(tried)) is not None:
        tried.append(run(tenths))
        assert len(tried) < 60
    return tried


def host(capacity: int) -> Callable[[int], TileTrial]:
    """A host that holds so many tenths of a tile."""
    return lambda tenths: TileTrial(
        tenths, "pass" if tenths <= capacity else "fail", 9.8 * tenths, 100, ("p99 too long",)
    )


@given(st.integers(0, 640))
def test_the_peak_is_found_to_a_tenth_of_a_tile(capacity: int) -> None:
    question = TilesPeak(64)
    tried = play(question, host(capacity))
    peak = question.peak(tried)
    assert (peak.tenths if peak else 0) == capacity
    assert len(tried) <= 17
    assert question.answer(tried)["is_answered"] == (capacity > 0)


def test_a_score_that_stops_rising_ends_the_search() -> None:
    question = TilesPeak(64)
    tried = play(question, lambda tenths: TileTrial(tenths, "pass", min(9.8 * tenths, 300 - tenths / 100), 100))
    peak = question.peak(tried)
    assert peak is not None
    assert peak.tenths == 40  # the last load whose score was above those of all smaller ones that were tried
    assert "stops rising" in question.answer(tried)["headline"][1]


def test_a_run_that_cannot_be_judged_is_tried_once_more_and_then_named() -> None:
    question = TilesPeak(8)
    tried = play(
        question, lambda tenths: TileTrial(tenths, "invalid" if tenths > 20 else "pass", tenths, 100, ("lag",))
    )
    assert [one.tenths for one in tried[:4]] == [10, 20, 40, 40]
    peak = question.peak(tried)
    assert peak is not None
    assert peak.tenths == 20
    assert "no run is fit to be judged: lag" in question.answer(tried)["headline"][1]


def test_a_limit_on_tiles_is_said() -> None:
    question = TilesPeak(3)
    tried = play(question, host(1000))
    assert [one.tenths for one in tried] == [10, 20, 30]
    assert "--most-tiles" in question.answer(tried)["headline"][1]


def test_loads_in_words() -> None:
    assert [words(tenths) for tenths in (3, 10, 25)] == ["0.3 of a tile", "1 tile", "2.5 tiles"]
